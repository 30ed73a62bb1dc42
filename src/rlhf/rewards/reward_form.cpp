#include "skein/rlhf/rewards/reward_form.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/numbers.h"
#include "skein/core/strict_json.h"
#include "skein/core/strings.h"
#include "skein/models/architecture.h"
#include "skein/rlhf/rewards/answer_form.h"
#include "skein/train/chats/chat_data.h"

namespace skein::rlhf::rewards {
namespace {

using Json = nlohmann::json;

constexpr const char* kTask = "reward";

std::string joined(std::span<const text::Message> prompt) {
  std::string text;
  for (const text::Message& turn : prompt) {
    if (!text.empty()) text += '\n';
    text += turn.content;
  }
  return text;
}

}  // namespace

train::TaskNotes to_notes(const RewardHead& head, uint32_t checksum) {
  Json json{{"task", kTask},
            {"length", head.length},
            {"mean", head.mean},
            {"deviation", head.deviation},
            {"margin", head.loss.margin},
            {"centring", head.loss.centring},
            {"checksum", checksum}};
  if (!head.reading.empty()) json["reading"] = head.reading;
  if (!head.chat_template.empty()) json["template"] = Json::parse(head.chat_template.text());
  return train::TaskNotes(json.dump());
}

std::unique_ptr<RewardHead> reward_head(const train::TaskNotes& notes, const std::string& origin) {
  if (notes.text_of("task") != kTask) return nullptr;
  const nlohmann::ordered_json& json = *notes;
  auto head = std::make_unique<RewardHead>();
  try {
    head->length = whole<int64_t>(json.at("length"), "length", "the notes of " + origin);
    head->mean = json.at("mean").get<double>();
    head->deviation = json.at("deviation").get<double>();
    head->loss = {json.at("margin").get<double>(), json.at("centring").get<double>()};
    head->chat_template = chat_template_in(notes);
    if (json.contains("reading"))
      head->reading = json.at("reading").get<std::map<std::string, std::string>>();
  } catch (const Json::exception& error) {
    fail_usage("the notes of {} are damaged: {}", origin, json_fault(error.what()));
  }
  require(head->length > 0 && head->deviation > 0,
          "the notes of {} are damaged: length {} and deviation {} must be above 0", origin,
          head->length, head->deviation);
  return head;
}

uint32_t reward_checksum(const train::TaskNotes& notes) {
  const nlohmann::ordered_json* json = notes.object();
  return json && json->contains("checksum") && json->at("checksum").is_number_unsigned()
             ? json->at("checksum").get<uint32_t>()
             : 0;
}

RewardForm::RewardForm(const text::Tokenizer& tokenizer, const ModelConfig& model,
                       const RewardHead& head)
    : tokenizer_(tokenizer),
      length_(head.length),
      types_(model.architecture->sees_ahead() && model.token_types >= 2) {
  if (model.architecture->sees_ahead())
    pairs_ = std::make_unique<data::LabelForm>(
        tokenizer, data::LabelFormConfig{.encoder = true, .length = head.length});
  else
    template_ = std::make_unique<text::ChatTemplate>(head.chat_template, tokenizer);
}

std::unique_ptr<data::PreferenceSamples> RewardForm::source(
    std::vector<data::PreferenceSample> samples, int64_t multiple, uint64_t seed,
    bool shuffle) const {
  const data::PreferenceBatchShape shape =
      shape_of(samples, multiple, std::max(0, tokenizer_.roles().pad), types_);
  return std::make_unique<data::PreferenceSamples>(std::move(samples), shape, seed, shuffle);
}

std::vector<data::FormedSample> RewardForm::sequences(std::span<const text::Message> prompt,
                                                      std::span<const std::string> answers) const {
  std::vector<data::FormedSample> all;
  if (pairs_) {
    for (const std::string& answer : answers) all.push_back(pairs_->pair(joined(prompt), answer));
    return all;
  }
  for (AnswerSequence& one : answer_sequences(*template_, prompt, answers, length_)) {
    const int32_t last = narrow<int32_t>(one.size() - 1);
    all.push_back({std::move(one.tokens), {}, {last}, one.cut});
  }
  return all;
}

data::FormedSample RewardForm::sequence(std::vector<int32_t> tokens) const {
  if (template_ && (tokens.empty() || tokens.back() != template_->end()))
    tokens.push_back(template_->end());
  SKEIN_CHECK(!tokens.empty());
  data::FormedSample sample{std::move(tokens), {}, {0}};
  const int64_t over = std::max<int64_t>(0, std::ssize(sample.tokens) - length_);
  sample.tokens.erase(sample.tokens.begin(), sample.tokens.begin() + over);
  sample.cut = over > 0;
  if (types_) sample.types.assign(sample.tokens.size(), 0);
  if (template_) sample.places = {narrow<int32_t>(sample.tokens.size()) - 1};
  return sample;
}

}  // namespace skein::rlhf::rewards
