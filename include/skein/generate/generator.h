// Batched decoding with a KV cache, through the pipeline, at any layout: of models that continue
// their prompts, and of those that map prompts, as sources, to answers.
//
// Rows whose sequence is finished make room: once a quarter of the batch is, the next prompts take
// their rows, and when none is left the batch shrinks.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "skein/comm/meeting.h"
#include "skein/generate/beam_search.h"
#include "skein/generate/continuation.h"
#include "skein/generate/sampling.h"
#include "skein/parallel/local_model.h"
#include "skein/parallel/precision.h"

namespace skein::generate {

struct GenerateConfig {
  int64_t max_tokens = 128;
  int64_t batch = 16;       // sequences decoded together
  bool stop_at_end = true;  // at the end-of-text token
  Precision precision;      // of weights, activations and cache
  SamplingConfig sampling;
  BeamConfig beam;  // with beams nothing is drawn: of `sampling` only banned ids count
  // Of a model that maps sources to targets: what its decoder is fed before an answer.
  Tokens start = {};
  // Continuations have them: of the softmax of the logits, without temperature, top_k and top_p,
  // among the ids that are not banned, in nats. Not with beams.
  bool log_probabilities = false;
  // Called on every rank of the sequence with each answer so far, whenever it has a token more;
  // where it is false the answer ends there. Must decide alike on all ranks. Not with beams.
  std::function<bool(const Tokens& answer)> goes_on = {};
};

// Binds the fields under section "generate", and those of sampling; those of beams have a bind of
// their own.
void bind(Options& options, GenerateConfig& config);
// Usage errors with the value and its range.
void check(const GenerateConfig& config);

// What a run fed to the model on this rank's data-parallel index.
struct DecodingWork {
  int64_t prompts = 0;      // equal neighbours count once
  int64_t steps = 0;        // after the prompts, of a token for each row
  int64_t rows = 0;         // sum over the steps; a prompt has one, or beam.size
  int64_t live = 0;         // of these, rows whose sequence was not finished
  int64_t cache_bytes = 0;  // of keys and values here, at most
};

// Columns of a cache beyond those that are seen, so that its rows seldom move.
int64_t cache_slack(int64_t seen);

class Generator {
 public:
  using Progress = std::function<void(size_t finished, size_t of)>;

  // local holds its weights and outlives the generator, as does the mesh. end_of_text: -1 when
  // there is none. vocabulary: only ids below it are made, for a model that has more ids than its
  // tokenizer; 0: all. Usage errors: a model that neither continues text nor maps sources; a start
  // that the latter has not, or the former has; banned tokens outside of its vocabulary, or all of
  // it; beams that these ids leave no room for.
  Generator(const ModelConfig& model, LocalModel& local, Mesh& mesh, const GenerateConfig& config,
            int32_t end_of_text, int64_t vocabulary = 0);

  // Collective over the mesh's world; prompts are equal on all ranks, and so is the result: what
  // continues each prompt. A sequence ends at end_of_text, after max_tokens, or when it fills the
  // model's context. An empty prompt begins from end_of_text. Of equal prompts that follow each
  // other one is fed to the model.
  // Where the model maps sources, prompts are these, with the tokens that stand around them, and
  // answers continue config.start. None of a prompt's n-grams counts for beam.no_repeat_ngram.
  // A token is a function of the seed, its prompt and the tokens before it, the prompt's draw and
  // its position. It does not depend on the batch, nor on data- and pipeline-parallel sizes.
  // draws: a number for each prompt, alike on all ranks; its index where there are none.
  // progress: called on rank 0 now and then, and at the end, with what its data-parallel index has
  // finished of its share.
  // meeting: where it may be interrupted, between two tokens; null: nowhere.
  // Usage errors, with the prompt's number: a prompt without a token where there is no end_of_text;
  // one that fills the context; an id outside of the model's vocabulary. Of sources: one without a
  // token, longer than the source's context, or with an id outside of the source's vocabulary.
  std::vector<Continuation> run(const std::vector<Tokens>& prompts,
                                std::span<const uint64_t> draws = {}, const Progress& progress = {},
                                Meeting* meeting = nullptr);

  // The same by beam search, where config.beam has beams: for each prompt the best hypotheses, the
  // best first. They do not depend on the batch, nor on data- and pipeline-parallel sizes.
  std::vector<std::vector<Continuation>> search(const std::vector<Tokens>& prompts,
                                                const Progress& progress = {},
                                                Meeting* meeting = nullptr);

  // Of the last run.
  const DecodingWork& work() const { return work_; }

 private:
  struct Sequence;
  class Decoding;

  void check_start() const;
  void check_prompts(const std::vector<Tokens>& prompts) const;
  void check_sources(const std::vector<Tokens>& prompts) const;
  Sequence begun(const Tokens& prompt, uint64_t draw) const;
  std::vector<std::vector<Continuation>> decode(const std::vector<Tokens>& prompts,
                                                std::span<const uint64_t> draws,
                                                const Progress& progress, Meeting* meeting);

  ModelConfig model_;
  bool maps_source_;
  LocalModel& local_;
  Mesh& mesh_;
  std::unique_ptr<Objective> logits_;
  Pipeline pipeline_;
  GenerateConfig config_;
  int32_t end_of_text_;
  int64_t vocabulary_;
  DecodingWork work_;
};

}  // namespace skein::generate
