#include "vocabulary.h"

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/numbers.h"

namespace skein::text {
namespace {

constexpr int64_t kLargestId = (int64_t{1} << 24) - 1;
constexpr int64_t kGapsFree = 1 << 16;  // unused ids that need no explanation

}  // namespace

void Vocabulary::add(std::string token, int64_t id) {
  require(token.size() <= kLongestToken, "the token of id {} has {} bytes; {} is the most", id,
          token.size(), kLongestToken);
  require(id >= 0 && id <= kLargestId, "the token {} has id {}; ids lie between 0 and {}", token,
          id, kLargestId);
  // A single large id must not make the table larger than what lists the ids.
  const auto entries = std::ssize(ids_);
  require(id <= kGapsFree + 4 * entries,
          "the token {} has id {}, but only {} tokens are listed below it", token, id, entries);
  if (id >= size()) extents_.resize(id + 1);
  Extent& extent = extents_[id];
  require(!extent.known, "the tokens {} and {} both have id {}", this->token(narrow<int32_t>(id)),
          token, id);
  const auto [found, fresh] = ids_.emplace(token, narrow<int32_t>(id));
  require(fresh, "the token {} has the ids {} and {}", token, found->second, id);
  extent = {text_.size(), narrow<uint32_t>(token.size()), true};
  text_.append(token);
}

std::string json_string(std::string_view text) { return nlohmann::json(text).dump(); }

std::string vocabulary_json(const Vocabulary& vocabulary) {
  std::string json = "{";
  for (int32_t id = 0; id < vocabulary.size(); ++id)
    if (vocabulary.has(id)) json += fmt::format("{}:{},", json_string(vocabulary.token(id)), id);
  if (json.back() == ',') json.pop_back();
  return json + "}";
}

}  // namespace skein::text
