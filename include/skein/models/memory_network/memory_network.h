// Memory networks that are trained end to end (Sukhbaatar, Szlam, Weston and Fergus, "End-to-end
// memory networks", 2015): a question looks at sentences several times, hop after hop, and is
// answered by a word. Batches are those of data/stories/story_samples.h.
//
//   u^1 = sum_j l_j o B x_j                          of the words x_j of the question
//   m_i = sum_j l_j o A^k x_ij + T_A^k(i)            of sentence i, which is of age i
//   c_i = sum_j l_j o C^k x_ij + T_C^k(i)
//   u^{k+1} = u^k + sum_i p_i c_i,   p = softmax(u^k m_i)
//   answer: softmax(W u^{K+1}) over the vocabulary
//
// where l_kj = (1 - j/J) - (k/d)(1 - 2j/J) for word j of J and number k of d, both from 1 on, or 1
// without model.word_order. Tables are tied as their authors call adjacent: B = A^1, A^{k+1} = C^k,
// T_A^{k+1} = T_C^k, and W = C^K where model.tie_embeddings says so.
//
// Tensors, by global name (C = d_model, N = memories, k from 0):
//   embedding.words.weight [V,C]                            B and A^1
//   block.0.input.times.weight [N,C]                        T_A^1
//   block.k.output.words.weight [V,C], .times.weight [N,C]  C^k, T_C^k
//   head.weight [V,C]                                       W, where it is not tied
#pragma once

#include <optional>
#include <vector>

#include "skein/models/architecture.h"
#include "skein/models/model.h"
#include "skein/nn/story_links.h"

namespace skein {

// linear: weights are the products themselves, which learn faster to begin with.
enum class HopWeights { softmax, linear };

struct MemoryOptions {
  int64_t memories = 50;
  bool word_order = true;
  HopWeights weights = HopWeights::softmax;

  bool operator==(const MemoryOptions&) const = default;
};

inline MemoryOptions& memory_options(ModelConfig& config) {
  return config.own.get<MemoryOptions>();
}
inline const MemoryOptions& memory_options(const ModelConfig& config) {
  return config.own.get<MemoryOptions>();
}

class MemoryNetwork : public Model, public Scorer {
 public:
  // parameters outlives the model and receives its tensors.
  MemoryNetwork(const ModelConfig& config, const ModelPiece& piece, Parameters& parameters);
  // Between pieces goes u [B,1,C].
  Flow forward(const Flow& flow, const Pass& pass) const override;
  std::vector<FlowPart> flow_parts(const Pass& pass) const override;
  const Scorer* scorer() const override { return head_ ? this : nullptr; }
  std::unique_ptr<Objective> objective() const override;
  // [B,1,V].
  Var label_scores(const Var& u, const Pass& pass) const override;

 private:
  // The tables of words and of ages that sentences are read by.
  struct Reading {
    Weight words, times;
  };
  struct Hop {
    int block;
    Reading input, output;
  };

  Hop added_hop(int block, int chunk, Parameters& parameters);
  Var sentences(const Reading& tables, const StoryLinks& story, const data::Batch& batch) const;
  Var after(const Hop& hop, const Var& u, const StoryLinks& story, const Pass& pass) const;

  ModelConfig config_;
  DType dtype_;
  std::optional<Weight> question_;
  std::vector<Hop> hops_;
  std::optional<Weight> head_;
};

const Architecture& memory_architecture();

}  // namespace skein
