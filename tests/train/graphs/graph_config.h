// Small runs on graphs.
#pragma once

#include <memory>
#include <string>

#include "skein/models/gnn/gnn.h"
#include "skein/train/graphs/graph_task.h"

#include "train/graphs/graph_stores.h"
#include "train/task_run.h"

namespace skein::train {

struct GraphConfig {
  PretrainConfig run;
  GraphTaskConfig graphs;
};

inline GraphConfig small_graph_run(const std::string& store) {
  GraphConfig c;
  c.run.model.architecture = &gnn_architecture();
  c.run.model.d_model = 16;
  c.run.model.n_layers = 2;
  c.run.model.n_heads = 2;
  c.run.model.init_std = 0.1;
  c.run.train.steps = 6;
  c.run.train.global_batch = 16;
  c.run.lr.lr = 5e-3;
  c.run.lr.warmup = 2;
  c.run.validation.every = 0;
  c.run.run.log_every = 1000;
  c.run.run.tensorboard = false;
  c.run.data.train = {store};
  return c;
}

}  // namespace skein::train
