// Batched decoding with a KV cache, through the pipeline, at any layout.
#pragma once

#include <functional>
#include <vector>

#include "skein/generate/sampling.h"
#include "skein/parallel/local_model.h"
#include "skein/parallel/precision.h"

namespace skein {

struct GenerateConfig {
  int64_t max_tokens = 128;
  int64_t batch = 16;        // prompts decoded together
  bool stop_at_end = true;   // at the end-of-text token
  Precision precision;       // of weights, activations and cache
  SamplingConfig sampling;
};

// Binds the fields under section "generate", and those of sampling.
void bind(Options& options, GenerateConfig& config);
// Usage errors with the value and its range.
void check(const GenerateConfig& config);

using Tokens = std::vector<int32_t>;

class Generator {
 public:
  // local holds its weights and outlives the generator, as does the mesh. end_of_text: -1 when there is none.
  // vocabulary: only ids below it are made, for a model that has more ids than its tokenizer; 0: all.
  Generator(const ModelConfig& model, LocalModel& local, Mesh& mesh, const GenerateConfig& config, int32_t end_of_text,
            int64_t vocabulary = 0);

  // Collective over the mesh's world; prompts are equal on all ranks. Returns the new tokens of each prompt on every rank,
  // without end_of_text. A sequence ends at end_of_text, after max_tokens, or when it fills the model's context. An empty prompt
  // begins from end_of_text. The result does not depend on the batch, nor on data- and pipeline-parallel sizes.
  // Usage errors, with the prompt's number: a prompt without a token where there is no end_of_text; one that fills the context;
  // an id outside of the model's vocabulary.
  // progress is called on rank 0 with the number of finished prompts, once all data-parallel ranks are through a batch.
  std::vector<Tokens> run(const std::vector<Tokens>& prompts, const std::function<void(size_t finished)>& progress = {});

 private:
  struct Decoding;

  void check_prompts(const std::vector<Tokens>& prompts) const;
  // New tokens of prompts [first, first + count).
  std::vector<Tokens> decode(const std::vector<Tokens>& prompts, size_t first, size_t count);
  Decoding begin(const std::vector<Tokens>& prompts, size_t first, size_t count) const;
  // Runs the batch through all pieces; logits of the last position [B,V] on the last stage, undefined elsewhere.
  Tensor forward(Decoding& decoding, const Batch& batch);
  Tensor whole_rows(const Tensor& logits) const;
  Tensor choose(const Decoding& decoding, const Tensor& logits) const;

  ModelConfig model_;
  LocalModel& local_;
  Mesh& mesh_;
  GenerateConfig config_;
  int32_t end_of_text_;
  int64_t vocabulary_;
};

}  // namespace skein
