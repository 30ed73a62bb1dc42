#include "skein/rlhf/rewards/reward_model_source.h"

#include <algorithm>
#include <numeric>

#include "skein/core/error.h"
#include "skein/core/log.h"

namespace skein::rlhf::rewards {
namespace {

// Why the model cannot be fed the policy's tokens; "" where it can.
std::string why_texts(const RewardModel& model, const PolicyText& policy) {
  const text::StoredTemplate& chat_template = model.head().chat_template;
  if (chat_template.empty()) return "it is an encoder";
  if (!same_tokenizer(policy.tokenizer, model.tokenizer()))
    return "its tokenizer is not the policy's";
  if (policy.chat_template.empty()) return "the policy's prompts are of no chat template";
  return same_template(policy.chat_template, chat_template)
             ? ""
             : "its chat template is not the policy's";
}

RewardModel beside_policy(const std::string& path, ParallelConfig parallel, DType dtype,
                          int64_t batch, Mesh& mesh) {
  const train::TrainedModel trained = open_reward_model(path, mesh.world());
  const auto& layers = parallel.layers;
  if (std::accumulate(layers.begin(), layers.end(), int64_t{0}) != trained.model.n_layers)
    parallel.layers = {};
  return with_origin("the reward model " + path,
                     [&] { return RewardModel(trained, parallel, dtype, batch, mesh); });
}

}  // namespace

RewardModelSource::RewardModelSource(const std::string& path, const PolicyText& policy,
                                     const ParallelConfig& parallel, DType dtype, int64_t batch,
                                     Mesh& mesh)
    : model_(beside_policy(path, parallel, dtype, batch, mesh)),
      max_tokens_(policy.max_tokens),
      context_(policy.context) {
  const std::string reason = why_texts(model_, policy);
  tokens_ = reason.empty();
  log::info(
      "{} is fed {}", model_.origin(),
      tokens_ ? "the tokens as they were sampled: its tokenizer and chat template are the policy's"
              : "texts, the turns of each prompt and the answer: " + reason);
}

std::vector<data::FormedSample> RewardModelSource::sampled(const Answer& answer) const {
  const size_t answered = answer.tokens.size() + (answer.ended ? 0 : 1),
               all = answer.prompt.tokens.size() + answered;
  const size_t most = model_.head().length;
  if (all > most && answered >= most) return {};
  std::vector<int32_t> tokens = answer.prompt.tokens;
  tokens.insert(tokens.end(), answer.tokens.begin(), answer.tokens.end());
  return {model_.form().sequence(std::move(tokens))};
}

data::FormedSample RewardModelSource::formed(const Answer& answer) const {
  std::vector<data::FormedSample> one =
      tokens_ && !answer.cut
          ? sampled(answer)
          : model_.form().sequences(answer.prompt.messages, std::span(&answer.text, 1));
  require(!one.empty(),
          "the answer to prompt {} is longer than the {} tokens that {} can judge; sample shorter "
          "answers",
          answer.prompt.number, model_.head().length, model_.origin());
  return std::move(one.front());
}

// An answer that is cut has the end token beside its own.
void RewardModelSource::check_room(const Prompt& prompt) const {
  const int64_t asked = std::ssize(prompt.tokens), most = model_.head().length,
                answered = std::min(max_tokens_, context_ - asked) + 1;
  require(answered < most || asked + answered <= most,
          "{} can judge {} tokens, of which one at least is of the prompt, but an answer to prompt "
          "{} may have {} with its end; give generate.max_tokens={} at most, not {}",
          model_.origin(), most, prompt.number, answered, most - 2, max_tokens_);
}

void RewardModelSource::check_prompt(const Prompt& prompt) const {
  if (tokens_) return max_tokens_ > 0 ? check_room(prompt) : void();
  try {
    const std::string answer = "?";
    model_.form().sequences(prompt.messages, std::span(&answer, 1));
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{} cannot judge answers to prompt {}: {}",
                                          model_.origin(), prompt.number, error.what()));
  }
}

std::vector<double> RewardModelSource::scores(std::span<const Answer> answers) {
  std::vector<data::FormedSample> sequences;
  for (const Answer& answer : answers) sequences.push_back(formed(answer));
  return model_.scores(std::move(sequences));
}

}  // namespace skein::rlhf::rewards
