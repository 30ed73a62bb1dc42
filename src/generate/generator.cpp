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
  bind_precision(options, "generate.precision", c.precision, "of weights, activations and cache");
  bind(options, c.sampling);
}

void check(const GenerateConfig& c) {
  require(c.max_tokens > 0 && c.batch > 0,
          "generate.max_tokens={} and generate.batch={} must be at least 1", c.max_tokens, c.batch);
  check(c.sampling);
}

namespace {

// Its answers are the logits of the last position [B,V] f32, where the model is.
class NextLogits : public Objective {
 public:
  explicit NextLogits(const Predictor& predictor) : predictor_(predictor) {}
  Losses losses(const Var&, const LossPass&) const override { fail("decoding has no losses"); }
  std::vector<Tensor> answers(const Var& output, const Pass& pass) const override {
    const Tensor own = predictor_.logits(predictor_.rows(output, pass).value()).to(DType::f32);
    return {ops::whole_columns(own, *pass.tp)};
  }

 private:
  const Predictor& predictor_;
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
      local_(local),
      mesh_(mesh),
      logits_(local.predictor() ? std::make_unique<NextLogits>(*local.predictor()) : nullptr),
      pipeline_(mesh, decoding_model(local, logits_.get()), ScheduleKind::gpipe),
      config_(config),
      end_of_text_(end_of_text),
      vocabulary_(vocabulary ? std::min(vocabulary, model.vocab_size) : model.vocab_size) {
  check(config);
  require(model.architecture->continues_text(model),
          "this model is no language model that continues text, but {}; `skein generate` needs a "
          "GPT with model.head=vocabulary",
          model.architecture->otherwise(model));
  check_banned(config.sampling, model.vocab_size, vocabulary_);
  local.parameters().keep_packed();
}

void Generator::check_prompts(const std::vector<Tokens>& prompts) const {
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

// Each as whether it ended, its length and its ids.
std::string packed(const std::vector<Continuation>& all) {
  Tokens flat;
  for (const Continuation& one : all) {
    flat.push_back(one.ended);
    flat.push_back(narrow<int32_t>(one.tokens.size()));
    flat.insert(flat.end(), one.tokens.begin(), one.tokens.end());
  }
  return {reinterpret_cast<const char*>(flat.data()), flat.size() * sizeof(int32_t)};
}

// Into the elements of `all` that the numbers name.
void unpack(const std::string& text, const std::vector<size_t>& numbers,
            std::vector<Continuation>& all) {
  Tokens flat(text.size() / sizeof(int32_t));
  if (!flat.empty()) std::memcpy(flat.data(), text.data(), text.size());
  auto at = flat.begin();
  for (size_t number : numbers) {
    all[number].ended = *at++;
    const int32_t count = *at++;
    all[number].tokens.assign(at, at + count);
    at += count;
  }
}

}  // namespace

std::vector<Continuation> Generator::run(const std::vector<Tokens>& prompts,
                                         std::span<const uint64_t> draws, const Progress& progress,
                                         Meeting* meeting) {
  check_prompts(prompts);
  SKEIN_CHECK(draws.empty() || draws.size() == prompts.size());
  std::vector<Tokens> begun = prompts;
  for (Tokens& prompt : begun)
    if (prompt.empty()) prompt.push_back(end_of_text_);
  const auto dealt = deal_prompts(begun, mesh_.dp().size());
  std::vector<Sequence> own;
  for (size_t number : dealt[mesh_.dp().rank()]) {
    const int64_t room = model_.context - std::ssize(begun[number]);
    own.push_back({&begun[number],
                   draws.empty() ? number : draws[number],
                   std::min(config_.max_tokens, room),
                   {}});
  }
  work_ = {};
  Decoding(*this, own).run(progress, meeting);
  std::vector<Continuation> made, all(prompts.size());
  for (Sequence& sequence : own) made.push_back(std::move(sequence.made));
  const auto texts = mesh_.dp().all_gather(packed(made));
  for (size_t rank = 0; rank < texts.size(); ++rank) unpack(texts[rank], dealt[rank], all);
  return all;
}

}  // namespace skein::generate
