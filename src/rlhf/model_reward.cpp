#include "skein/rlhf/model_reward.h"

#include "skein/core/error.h"
#include "skein/core/log.h"

namespace skein {

ModelReward::ModelReward(const std::string& path, const PolicyText& policy, const ParallelConfig& parallel, DType dtype, int64_t batch, Mesh& mesh)
    : model_(path, parallel, dtype, batch, mesh),
      tokens_(model_.head().chat_template == policy.chat_template && same_tokenizer(policy.tokenizer, model_.tokenizer().to_json())) {
  if (!tokens_) log::info("{} is fed texts: the turns of each prompt and the answer, since its tokenizer or chat template is not the policy's", model_.origin());
}

FormedSample ModelReward::formed(const Answer& answer) const {
  if (tokens_) {
    std::vector<int32_t> tokens = answer.prompt_tokens;
    tokens.insert(tokens.end(), answer.tokens.begin(), answer.tokens.end());
    return model_.form().sequence(std::move(tokens));
  }
  std::vector<FormedSample> one = model_.form().sequences(answer.messages, std::span(&answer.text, 1));
  require(!one.empty(), "the answer to prompt {} is longer than the {} tokens that {} can judge; sample shorter answers", answer.prompt, model_.head().length,
          model_.origin());
  return std::move(one.front());
}

void ModelReward::check_prompt(int64_t prompt, std::span<const Message> messages, const std::string&) const {
  if (tokens_) return;
  try {
    const std::string answer = "?";
    model_.form().sequences(messages, std::span(&answer, 1));
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{} cannot judge answers to prompt {}: {}", model_.origin(), prompt, error.what()));
  }
}

std::vector<double> ModelReward::scores(std::span<const Answer> answers) {
  std::vector<FormedSample> sequences;
  for (const Answer& answer : answers) sequences.push_back(formed(answer));
  return model_.scores(std::move(sequences));
}

}  // namespace skein
