// Parameters: every learned tensor of the model pieces on this rank, with its global name, its
// global shape, the slice held here, and how it starts. Init, checkpoint, norm and optimizer all
// work from this.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "skein/comm/group.h"
#include "skein/nn/cost.h"
#include "skein/ops/var.h"

namespace skein {

// Which dim tensor-parallel ranks divide. `vocab` divides dim 0 in equal parts of ceil(V/t) rows,
// on GPUs a multiple of 64 of them; rows past V on the last ranks are padding that is never stored,
// counted or learned.
enum class Split { none, columns, rows, vocab };

// What a tensor is part of: said where it is declared, so that nobody has to read its name.
struct Part {
  enum Kind {
    other,
    embedding,
    block,
    final_norm,
    head,        // over the vocabulary
    label_head,  // classes, tags, a number
    value_head,  // a number beside the vocabulary's scores
    pooler
  };
  Kind kind = other;
  int block_number = -1;   // in the whole model; -1: of none
  bool of_source = false;  // what it works on are tokens of the batch's source
  double rows = 1;         // it works on so many rows for each of these tokens
};

struct Start {
  enum Kind { zeros, ones, normal, given } kind = zeros;
  // of normal: element i is N(0, deviation) by philox(seed, name, global index)
  double deviation = 0;
  // of given: makes what the elements of a tensor that is not split begin with, in row-major order
  std::function<std::vector<double>()> values = {};
};

// A tensor as a layer declares it.
struct ParameterSpec {
  std::string name;  // "block.3.attention.q.weight"
  Shape shape;       // of the whole tensor
  Split split = Split::none;
  Start start = {};
  // Under sequence parallelism each tensor-parallel rank sees part of the positions only, so the
  // gradient needs a sum over them.
  bool sum_over_shards = false;
  // A tensor may have several uses, on any stages: each is a parameter of its own, alone in its
  // bucket. All but the first name the first in tied_to and are numbered in the order in which
  // their gradients are added. They share values where they are on one stage, and stay equal to the
  // bit elsewhere.
  std::string tied_to = {};  // "" for the first use, and where there is one only
  double rate = 1;           // its learning rate as a multiple of the run's, at every step
  int use = 2;               // of a tied one; the first is 1 in Parameter, whatever this says
  RowKind meets = RowKind::none;
  // It is kept and never learnt. All of its bucket are so.
  bool constant = false;
};

// value and gradient are [local]; packed as Parameters::keep_packed says.
struct Parameter : ParameterSpec, WeightMemory {
  Shape local;        // of the part here, padding included
  int64_t first = 0;  // where the part begins in the split dim
  int64_t valid = 0;  // rows or columns of it in the split dim that are not padding
  int shard = 0;      // number of that part; 0 of a whole tensor
  // Among the copies that tensor-parallel ranks and uses hold alike, the one that norms count and
  // checkpoints keep.
  bool counts = true;
  bool decays = false;  // weight decay applies (matrices and embeddings, not 1-D tensors)
  Part part = {};       // of a further use: what the first is part of
  int bucket = 0;       // its number in Parameters::buckets()
  int chunk = 0;        // model chunk on this rank (interleaved schedules)

  Weight weight() const { return *this; }
  bool tied() const { return !tied_to.empty(); }
  // The name of the tensor, which is that of its first use: of its start values and in checkpoints.
  const std::string& tensor() const { return tied() ? tied_to : name; }
  // Elements that are not padding; they are the first ones of the part in row-major order for every
  // split that can have padding (vocab).
  int64_t valid_size() const;
  // The part's box in the whole tensor, without padding.
  std::vector<int64_t> box_start() const;
  std::vector<int64_t> box_extent() const;
};

// Parameters whose gradients are summed over ranks together.
struct BucketSpec {
  std::string name;
  int chunk = 0;
};

class Parameters {
 public:
  Parameters(DType dtype, int shard, int shards, Device device = {})
      : dtype_(dtype), shard_(shard), shards_(shards), device_(device) {}
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;

  // Says where the next parameters and costs belong, and returns the number of that bucket. A piece
  // of the model enters its buckets in the order in which its forward pass uses them first.
  int enter(const std::string& bucket, int chunk, Part part = {});
  const std::vector<BucketSpec>& buckets() const { return buckets_; }
  // The reference stays valid. A usage error when the split dim cannot be divided.
  Parameter& add(const ParameterSpec& spec);
  // Records what a layer does and keeps beside its products; the number of the block is filled in,
  // and whose tokens are meant.
  void add_cost(ScoreCost cost);
  void add_cost(KeptCost cost);

  // Freezes the parameters for which `frozen` is true, beside the constant ones. To be called
  // before they are given memory.
  void freeze(const std::function<bool(const Parameter&)>& frozen);
  // Gives every parameter memory of its own (buckets do it in a training run), then start values.
  // Without gradients none learns.
  void allocate(bool gradients);
  void initialize(uint64_t seed);

  // From now on products may keep copies of the values in their own order, and whoever changes a
  // value says so.
  void keep_packed();
  void values_changed();
  int64_t packed_bytes() const;

  Parameter* find(const std::string& name);
  std::deque<Parameter>& all() { return all_; }
  const std::deque<Parameter>& all() const { return all_; }
  const Costs& costs() const { return costs_; }
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }
  int shard() const { return shard_; }
  int shards() const { return shards_; }

 private:
  int64_t split_granule(Split split) const;
  RowKind met(RowKind rows) const;

  DType dtype_;
  int shard_, shards_;
  Device device_;
  std::vector<BucketSpec> buckets_;
  std::map<std::string, int> bucket_numbers_;
  int bucket_ = -1;  // that was entered last
  Part part_;
  std::deque<Parameter> all_;
  Costs costs_;
};

// Fills value with the start values of the part it holds.
void initialize(const Parameter& parameter, uint64_t seed);

}  // namespace skein
