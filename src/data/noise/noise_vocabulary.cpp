#include "skein/data/noise/noise_vocabulary.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "skein/core/error.h"

namespace skein::data {
namespace {

std::string sentinel_name(const NoiseConfig& config, int64_t number) {
  std::string name = config.sentinels;
  return name.replace(name.find('*'), 1, std::to_string(number));
}

// Special tokens only: text never becomes one of these.
std::vector<int32_t> find_sentinels(const text::Tokenizer& tokenizer, const NoiseConfig& config) {
  std::unordered_map<std::string, int32_t> special;
  for (const auto& [name, id] : tokenizer.special_tokens()) special.emplace(name, id);
  std::vector<int32_t> ids;
  for (auto found = special.find(sentinel_name(config, 0)); found != special.end();
       found = special.find(sentinel_name(config, std::ssize(ids))))
    ids.push_back(found->second);
  return ids;
}

std::string missing_names(std::initializer_list<std::pair<int32_t, const char*>> tokens) {
  std::string missing;
  for (const auto& [id, name] : tokens)
    if (id < 0) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", name);
  return missing;
}

}  // namespace

NoiseVocabulary::NoiseVocabulary(const text::Tokenizer& tokenizer, const NoiseConfig& config,
                                 const std::string& origin)
    : TokenKinds(tokenizer, origin) {
  const text::TokenRoles roles = tokenizer.roles();
  const bool text = config.kind == NoiseKind::text;
  pad_ = roles.pad;
  unknown_ = roles.unk;
  eos_ = roles.sep >= 0 ? roles.sep : roles.eos;
  if (text) bos_ = roles.cls, mask_ = roles.mask;
  const std::string missing =
      text ? missing_names({{bos_, "<s>"}, {eos_, "</s>"}, {mask_, "<mask>"}, {pad_, "<pad>"}})
           : missing_names({{eos_, "</s>"}, {pad_, "<pad>"}});
  require(missing.empty(),
          "noise.kind={} needs special tokens that the tokenizer of {} does not have: {}. "
          "`skein-data train-tokenizer --tokenizer.special` makes one that has them",
          text ? "text" : "spans", origin, missing);
  if (!text) sentinels_ = find_sentinels(tokenizer, config);
  start_ = !config.start.empty() ? tokenizer.id_of(config.start) : text ? eos_ : pad_;
  require(start_ >= 0, "noise.start is \"{}\", which is no token of the tokenizer of {}",
          config.start, origin);
}

bool NoiseVocabulary::reserved(int32_t id) const {
  return special(id) && (id == eos_ || id == pad_ || std::ranges::count(sentinels_, id) > 0);
}

void require_sentinels(const NoiseVocabulary& vocabulary, const NoiseConfig& config, int64_t count,
                       int64_t length, const std::string& origin) {
  const int64_t found = std::ssize(vocabulary.sentinels());
  require(found >= count,
          "a source of {} tokens with noise.rate={} and noise.span={} has {} spans, but the "
          "tokenizer of {} has {} of the special tokens {} that stand for them: there is no {}. "
          "Give a shorter noise.length, longer spans, the right noise.sentinels, or train a "
          "tokenizer that has them (`skein-data train-tokenizer --tokenizer.special`)",
          length, config.rate, config.span, count, origin, found, config.sentinels,
          sentinel_name(config, found));
}

}  // namespace skein::data
