// Models of graphs learn classes or numbers of nodes, or of whole graphs, or which nodes are
// linked, from stores of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/data/graphs/graph_samples.h"
#include "skein/train/config.h"
#include "skein/train/task.h"
#include "skein/train/tasks/finetune.h"
#include "skein/train/tasks/label_head.h"
#include "skein/train/trained_model.h"

namespace skein::train {

// Whose labels are learnt. automatic: those that the first store has; of graphs where it has both.
// links: whether two nodes are linked, of stores whose links are divided
// (data/graphs/link_pairs.h).
enum class GraphTarget { automatic, nodes, graphs, links };

struct GraphTaskConfig {
  std::vector<std::string> inputs{};  // columns of stores; empty: all that the model reads
  int64_t random = 0;                 // numbers a node, drawn anew in each epoch
  int64_t fold = 0;                   // of a split in folds, the test
  GraphTarget target = GraphTarget::automatic;
  std::vector<int64_t> neighbours{};  // of a node, hop by hop, that are drawn; empty: all
};
// Binds section "graph".
void bind(Options& options, GraphTaskConfig& config);
// Usage errors for these options, for a model that reads no graphs.
void refuse_graph_options(const Options& options, const Architecture& architecture);

// Usage errors for neighbours (graph.neighbours) that cannot be drawn, or not for what is learnt or
// read. pairs: links are learnt.
void check_neighbours(const std::vector<int64_t>& neighbours, const data::GraphForm& form,
                      bool pairs);

// Opens stores of graphs: "path" or "weight:path" each. A usage error for other files.
data::GraphBlend open_graphs(const std::vector<std::string>& entries);

// Makes the task for the model that run.model describes. Reads data.train, of which it learns the
// training part, and is judged by the validation part of data.validation, or where that is empty by
// that of data.train. Fills in what the data say of the model: what nodes and links are made of,
// and its labels. Usage errors for stores that do not fit, or have no labels.
std::unique_ptr<Task> graph_task(PretrainConfig& run, const GraphTaskConfig& config);
// The same for a pretrained model, `source`, with the head that these labels need. It reads what
// that model reads of graphs, graph.inputs and graph.random included, of which stores must have the
// same. Fills in what adapting_defaults leaves open. Usage errors besides for a model whose last
// layer makes the labels itself, without a head.
std::unique_ptr<Task> finetuned_graph_task(FinetuneConfig& config, const GraphTaskConfig& graphs,
                                           const TrainedModel& source);

}  // namespace skein::train
