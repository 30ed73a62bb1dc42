// Flat memory for parameters and gradients: one bucket a block. Buckets sum gradients over the
// global batch in one canonical order, divide them over data-parallel ranks for the optimizer, and
// gather values back.
//
// Canonical order: the samples of a step are cut into `reduction_groups` equal groups. A group's
// gradient is a left fold over its samples; groups are added in the binary tree of comm/group.h.
//   contiguous: A rank adds its groups in such a tree of its own, then ranks exchange. Where it has
//   a power of two of them, that is a subtree of the one of all groups, and the sum has the same
//   bits as one rank's.
//   strided: In each turn every rank takes the next group, and they exchange: with a power of two
//   of ranks a turn's sum is a subtree. Each adds its own slice of those.
//
// Every parameter starts at a multiple of kChunk in its bucket and a bucket is a multiple of kChunk
// * dp long, so the squares of one chunk are always summed by one rank.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "skein/comm/mesh.h"
#include "skein/nn/parameter.h"

namespace skein {

class Buckets {
 public:
  static constexpr int64_t kChunk = 1024;

  struct Member {
    Parameter* parameter;
    int64_t begin;  // in the bucket
    int64_t valid;  // elements that are not padding
  };

  struct Bucket {
    std::string name;
    int chunk = 0;
    std::vector<Member> members;
    int64_t size = 0;
    Tensor values;        // [size], undefined when `alias`
    Tensor gradients;     // [size], accumulator type; undefined when `frozen`
    bool frozen = false;  // its parameters do not learn
    bool shared = false;  // other stages hold the same tensor
    // of a tensor of which an earlier use is on this rank, and has the values: gradients only
    bool alias = false;
    int home = -1;  // alias: the bucket of the first use here
    // Sums of whole subtrees, one a level of the tree; strided: of the own slice.
    std::vector<Tensor> pending;
    int groups_done = 0;  // of this step
  };

  // How a step's gradients are added.
  struct Sums {
    int most = 1;          // of this rank in a step
    bool strided = false;  // as in BatchPlan
    bool ordered = true;   // false: between devices, in the order of their library
  };

  // Gives all parameters their memory (undefined values, zero gradients).
  Buckets(Parameters& parameters, Mesh& mesh, const Sums& sums);

  // Gradients are zero, and so many groups will end.
  void begin_step(int sums);
  // Tells that the gradients of the chunk's buckets from number `from` on now hold the fold over
  // this rank's group number `group` of the step, or the subtree of all groups of a micro-batch.
  // Adds those into the tree of which that has not been told yet; strided: collective, in one order
  // on all ranks.
  void end_group(int group, int chunk, int from);
  // To be called when the last groups are over. Collective: sums each bucket's own slice over
  // data-parallel ranks and tensor-parallel replicas, and adds the uses of each tensor that has
  // several, in their order, on whatever stages they are. Afterwards the own slice of each bucket's
  // gradients is final; with everywhere = true all of it is, on every rank.
  void finish(bool everywhere);
  // Gives each rank's own slices of the values to every data-parallel rank; those of frozen buckets
  // only if frozen_too, for when they were written as well.
  void gather_values(bool frozen_too = false);
  // Gives each rank's own slice of `whole`, which is as long as the bucket, to every data-parallel
  // rank; nothing of an alias.
  void gather(const Bucket& bucket, const Tensor& whole) const;
  // To be called when values were written: forgets the copies of them that are kept in another
  // order.
  void values_changed();

  // Range of a bucket that this rank owns: an equal share of it.
  int64_t own_begin(const Bucket& bucket) const {
    return bucket.size / mesh_.dp().size() * mesh_.dp().rank();
  }
  int64_t own_size(const Bucket& bucket) const { return bucket.size / mesh_.dp().size(); }
  // That range of `whole`, which is as long as the bucket.
  Tensor own_part(const Bucket& bucket, const Tensor& whole) const {
    return whole.flat(own_begin(bucket), own_size(bucket));
  }

  // [1] f64 where the gradients are: the sum of squares of every final gradient of the whole model,
  // each logical element once, in name order. Collective; the same bits on every rank and, without
  // tensor parallelism, under every layout. Valid until the next call.
  Tensor gradient_square_sum() const;
  // The same sum of other numbers: own_slice returns, for a bucket that is neither frozen nor an
  // alias, the numbers that stand for the own slice of its gradients.
  Tensor square_sum(const std::function<Tensor(size_t bucket)>& own_slice) const;

  std::vector<Bucket>& all() { return buckets_; }
  const std::vector<Bucket>& all() const { return buckets_; }

 private:
  // A tensor with several uses, some of them here.
  struct Use {
    int number;  // of the order in which they are added, from 1
    int stage;
    int bucket;  // -1: on another stage
  };
  struct Tie {
    std::vector<Use> uses;   // of all stages, in order
    std::vector<int> peers;  // other stages that have some
    int home = -1;           // the bucket of the first use here
  };
  struct NormPlan {
    Tensor chunks;           // f64 [dp,N]: squares of each chunk of the own slices of all buckets
    Tensor ranges, sums;     // by parameter here: where its chunks are, and their sum
    Tensor all_sums, order;  // of all stages, and their order by name
    Tensor total;
  };
  void build(Parameters& parameters);
  void allocate(Bucket& bucket, Parameters& parameters);
  void find_ties(const Parameters& parameters);
  Tie tie_of(const std::string& tensor, std::vector<Use> uses);
  void add_group(Bucket& bucket);
  void reduce(const Bucket& bucket);
  void sum_slices(const Bucket& bucket, const Tensor& own) const;
  void sum_over_shards(const Bucket& bucket);
  void sum_uses(const Tie& tie);
  void plan_norm(Device device);

  Mesh& mesh_;
  const Sums how_;
  int sums_;               // of this step
  std::vector<Tie> ties_;  // by the tensors' names, so alike on all stages
  std::vector<Bucket> buckets_;
  NormPlan norm_;
};

}  // namespace skein
