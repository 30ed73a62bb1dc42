#include "skein/generate/generator.h"

#include <algorithm>
#include <cstring>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/generate/deal.h"
#include "skein/models/architecture.h"
#include "skein/ops/collective.h"

#include "decoding.h"

namespace skein::generate {

void bind(Options& options, GenerateConfig& c) {
  options.add("generate.max_tokens", c.max_tokens, "most new tokens of a prompt", "tokens");
  options.add("generate.batch", c.batch, "prompts decoded together", "prompts");
  options.add("generate.stop_at_end", c.stop_at_end, "stop at the end-of-text token");
  options.add("generate.logprobs", c.log_probabilities,
              "write the log-probability of each token among the ids that are not banned, of the "
              "logits without temperature, top_k and top_p, in nats; needs generate.format=jsonl");
  bind_precision(options, "generate.precision", c.precision, "of weights, activations and cache");
  bind(options, c.sampling);
}

void check(const GenerateConfig& c) {
  require(c.max_tokens > 0 && c.batch > 0,
          "generate.max_tokens={} and generate.batch={} must be at least 1", c.max_tokens, c.batch);
  check(c.sampling);
  check(c.beam);
  require(
      c.beam.size == 0 || !c.log_probabilities,
      "generate.logprobs is for tokens that are drawn, and beam.size={} searches answers, which "
      "have a score; leave one of them out",
      c.beam.size);
}

namespace {

// Its answers are the logits of the last position f32, where the model is: [B,V], or [B,V/t] where
// each rank of a split vocabulary wants its own.
class NextLogits : public Objective {
 public:
  NextLogits(const Predictor& predictor, bool whole) : predictor_(predictor), whole_(whole) {}
  Losses losses(const Var&, const LossPass&) const override { fail("decoding has no losses"); }
  std::vector<Tensor> answers(const Var& output, const Pass& pass) const override {
    const Tensor own = predictor_.logits(predictor_.rows(output, pass).value()).to(DType::f32);
    return {whole_ ? ops::whole_columns(own, *pass.tp) : own};
  }

 private:
  const Predictor& predictor_;
  bool whole_;
};

PipelineModel decoding_model(const LocalModel& local, const Objective* logits) {
  PipelineModel model = local.pipeline_model();
  model.objective = logits;
  return model;
}

}  // namespace

Generator::Generator(const ModelConfig& model, LocalModel& local, Mesh& mesh,
                     const GenerateConfig& config, int32_t end_of_text, int64_t vocabulary)
    : model_(model),
      maps_source_(model.architecture->maps_source(model)),
      local_(local),
      mesh_(mesh),
      logits_(local.predictor()
                  ? std::make_unique<NextLogits>(*local.predictor(), config.beam.size == 0)
                  : nullptr),
      pipeline_(mesh, decoding_model(local, logits_.get()), ScheduleKind::gpipe),
      config_(config),
      end_of_text_(end_of_text),
      vocabulary_(vocabulary ? std::min(vocabulary, model.vocab_size) : model.vocab_size) {
  check(config);
  require(maps_source_ || model.architecture->continues_text(model),
          "this model neither continues text nor maps a source to a target, but is {}; `skein "
          "generate` needs a GPT with model.head=vocabulary, or an encoder-decoder",
          model.architecture->otherwise(model));
  check_start();
  check_banned(config.sampling, model.vocab_size, vocabulary_);
  check(config.beam, AnswerBounds{config.max_tokens, config.stop_at_end ? end_of_text : -1,
                                  vocabulary_, config.sampling.banned});
  local.parameters().keep_packed();
}

void Generator::check_start() const {
  const auto length = std::ssize(config_.start);
  require(maps_source_ || length == 0,
          "generate.start is for models that map sources to targets, and this one continues its "
          "prompts; leave it out");
  require(!maps_source_ || length > 0,
          "the decoder of a model that maps sources to targets is fed a token before its answer; "
          "name it in generate.start");
  require(length < model_.context,
          "generate.start has {} tokens, which leave no room in the model's context of {}", length,
          model_.context);
  for (int32_t id : config_.start)
    require(id >= 0 && id < model_.vocab_size,
            "generate.start holds token {}, outside of the vocabulary of {}", id,
            model_.vocab_size);
}

void Generator::check_sources(const std::vector<Tokens>& prompts) const {
  const int64_t context = model_.architecture->source_context(model_),
                ids = model_.architecture->source_ids(model_);
  for (size_t i = 0; i < prompts.size(); ++i) {
    const auto length = std::ssize(prompts[i]);
    require(length > 0, "prompt {} is empty, and this model needs a source to read", i + 1);
    require(length <= context,
            "prompt {} has {} tokens, more than the {} places of the model's source; shorten it",
            i + 1, length, context);
    for (int32_t id : prompts[i])
      require(id >= 0 && id < ids,
              "prompt {} holds token {}, outside of the source's vocabulary of {}", i + 1, id, ids);
  }
}

void Generator::check_prompts(const std::vector<Tokens>& prompts) const {
  if (maps_source_) return check_sources(prompts);
  for (size_t i = 0; i < prompts.size(); ++i) {
    const auto length = std::ssize(prompts[i]);
    require(length > 0 || end_of_text_ >= 0,
            "prompt {} is empty, and the tokenizer has no end-of-text token to begin from", i + 1);
    require(
        length < model_.context,
        "prompt {} has {} tokens, which leaves no room in the model's context of {}; shorten it",
        i + 1, length, model_.context);
    for (int32_t id : prompts[i])
      require(id >= 0 && id < model_.vocab_size,
              "prompt {} holds token {}, outside of the vocabulary of {}", i + 1, id,
              model_.vocab_size);
  }
}

namespace {

using Continuations = std::vector<Continuation>;

// Bytes that a value is copied to and from.
template <class T>
void append(std::string& text, const T* values, size_t count) {
  text.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}
template <class T>
void take(const char*& at, T* values, size_t count) {
  if (count > 0) std::memcpy(values, at, count * sizeof(T));
  at += count * sizeof(T);
}

struct Head {
  int32_t ended, stopped, tokens, log_probabilities;
  double score;
};

// Of each prompt how many there are, and of each of these its head, ids and log-probabilities.
std::string packed(const std::vector<Continuations>& all) {
  std::string text;
  for (const Continuations& those : all) {
    const auto count = narrow<int32_t>(those.size());
    append(text, &count, 1);
    for (const Continuation& one : those) {
      const Head head{one.ended, one.stopped, narrow<int32_t>(one.tokens.size()),
                      narrow<int32_t>(one.log_probabilities.size()), one.score};
      append(text, &head, 1);
      append(text, one.tokens.data(), one.tokens.size());
      append(text, one.log_probabilities.data(), one.log_probabilities.size());
    }
  }
  return text;
}

// Into the elements of `all` that the numbers name.
void unpack(const std::string& text, const std::vector<size_t>& numbers,
            std::vector<Continuations>& all) {
  const char* at = text.data();
  for (size_t number : numbers) {
    int32_t count = 0;
    take(at, &count, 1);
    all[number].resize(count);
    for (Continuation& one : all[number]) {
      Head head{};
      take(at, &head, 1);
      one = {Tokens(head.tokens), head.ended != 0, head.score, head.stopped != 0,
             std::vector<float>(head.log_probabilities)};
      take(at, one.tokens.data(), one.tokens.size());
      take(at, one.log_probabilities.data(), one.log_probabilities.size());
    }
  }
}

}  // namespace

std::vector<Continuation> Generator::run(const std::vector<Tokens>& prompts,
                                         std::span<const uint64_t> draws, const Progress& progress,
                                         Meeting* meeting) {
  SKEIN_CHECK_EQ(config_.beam.size, 0);
  std::vector<Continuation> made;
  for (Continuations& those : decode(prompts, draws, progress, meeting))
    made.push_back(std::move(those.front()));
  return made;
}

std::vector<Continuations> Generator::search(const std::vector<Tokens>& prompts,
                                             const Progress& progress, Meeting* meeting) {
  SKEIN_CHECK(config_.beam.size > 0);
  return decode(prompts, {}, progress, meeting);
}

Generator::Sequence Generator::begun(const Tokens& prompt, uint64_t draw) const {
  const Beginning from = maps_source_ ? Beginning{&config_.start, &prompt} : Beginning{&prompt};
  const int64_t most = std::min(config_.max_tokens, model_.context - std::ssize(*from.fed));
  Sequence made{from, draw, most, {}, {}};
  if (config_.beam.size > 0)
    made.beams.emplace(config_.beam, *from.fed, most, config_.stop_at_end ? end_of_text_ : -1);
  return made;
}

std::vector<Continuations> Generator::decode(const std::vector<Tokens>& prompts,
                                             std::span<const uint64_t> draws,
                                             const Progress& progress, Meeting* meeting) {
  check_prompts(prompts);
  SKEIN_CHECK(draws.empty() || draws.size() == prompts.size());
  std::vector<Tokens> fed = prompts;
  for (Tokens& prompt : fed)
    if (prompt.empty()) prompt.push_back(end_of_text_);
  const auto dealt = deal_prompts(fed, mesh_.dp().size());
  std::vector<Sequence> own;
  for (size_t number : dealt[mesh_.dp().rank()])
    own.push_back(begun(fed[number], draws.empty() ? number : draws[number]));
  work_ = {};
  Decoding(*this, own).run(progress, meeting);
  std::vector<Continuations> made, all(prompts.size());
  for (Sequence& sequence : own) made.push_back(sequence.result());
  const auto texts = mesh_.dp().all_gather(packed(made));
  for (size_t rank = 0; rank < texts.size(); ++rank) unpack(texts[rank], dealt[rank], all);
  return all;
}

}  // namespace skein::generate
