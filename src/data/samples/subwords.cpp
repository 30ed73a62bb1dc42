#include "skein/data/samples/subwords.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/strings.h"

namespace skein::data {
namespace {

std::vector<int32_t> ids_of(const text::Tokenizer& tokenizer, const std::string& word) {
  std::vector<int32_t> ids = tokenizer.encode_within(" " + word);
  if (!ids.empty()) return ids;
  const int32_t unknown = tokenizer.roles().unk;
  require(unknown >= 0,
          "the word \"{}\" has no token, and the tokenizer has none for unknown words",
          excerpt(word));
  return {unknown};
}

}  // namespace

Subwords encode_words(const text::Tokenizer& tokenizer, std::span<const std::string> words,
                      int64_t most) {
  SKEIN_CHECK(most >= 1);
  Subwords subwords;
  for (const std::string& word : words) {
    const int64_t room = most - subwords.begin.back();
    if (room == 0) break;
    const std::vector<int32_t> ids = ids_of(tokenizer, word);
    const int64_t taken = std::min(room, std::ssize(ids));
    subwords.ids.insert(subwords.ids.end(), ids.begin(), ids.begin() + taken);
    subwords.begin.push_back(subwords.begin.back() + taken);
  }
  return subwords;
}

}  // namespace skein::data
