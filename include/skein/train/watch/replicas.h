// State that several ranks hold alike, compared: where it differs, a memory, a processor or this
// program has failed without a word, and the ranks train different models from then on.
#pragma once

#include <string>
#include <vector>

#include "skein/comm/mesh.h"
#include "skein/tensor/tensor.h"

namespace skein::train {

struct Replicated {
  std::string name;  // "param/block.3.attention.q.weight"
  Tensor held;
  bool over_data = false;    // data-parallel ranks hold the same
  bool over_shards = false;  // tensor-parallel ranks do
  bool over_stages = false;  // the pipeline stages that list this name do
};

// Collective; the ranks of a stage list the same names in one order. Error(failure) on every rank
// where any bit differs: it names the ranks, their hosts and the first tensor, of two ranks both.
void check_replicas(const std::vector<Replicated>& all, const Mesh& mesh);

}  // namespace skein::train
