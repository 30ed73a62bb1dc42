#include "skein/text/tokenizer.h"

#include <algorithm>
#include <cctype>

#include "skein/core/error.h"

#include "added_tokens.h"
#include "text/models/spelling.h"

namespace skein::text {

bool Tokenizer::begins_word(int32_t id) const {
  const std::string_view bytes = bytes_of(id);
  return bytes.empty() || std::isspace(bytes.front() & 0xFF) != 0;
}

std::vector<int32_t> Tokenizer::encode_specials(std::string_view text) const {
  AddedTokenFinder finder;
  for (const auto& [name, id] : special_tokens())
    finder.add({.id = id, .content = name, .special = true}, name);
  std::vector<int32_t> ids;
  finder.divide(text, true, [&](std::string_view part, int32_t id) {
    if (id >= 0) return ids.push_back(id);
    const auto ordinary = encode(part);
    ids.insert(ids.end(), ordinary.begin(), ordinary.end());
  });
  return ids;
}

TemplatedIds Tokenizer::with_template(const std::vector<int32_t>& first,
                                      const std::vector<int32_t>* second) const {
  TemplatedIds made{first, std::vector<int32_t>(first.size(), 0)};
  if (second == nullptr) return made;
  made.ids.insert(made.ids.end(), second->begin(), second->end());
  made.types.resize(made.ids.size(), 1);
  return made;
}

std::vector<std::pair<std::string, int32_t>> Tokenizer::special_tokens() const {
  if (end_of_text() < 0) return {};
  return {{"<|endoftext|>", end_of_text()}};
}

int32_t Tokenizer::id_of(std::string_view token) const {
  for (const auto& [name, id] : special_tokens())
    if (name == token) return id;
  std::string bytes;
  if (token.empty() || !unspelt(token, bytes)) return -1;
  for (int32_t id = 0; id < vocab_size(); ++id)
    if (bytes_of(id) == bytes) return id;
  return -1;
}

std::string Tokenizer::decode(const std::vector<int32_t>& ids, bool skip_special) const {
  std::string text;
  std::vector<std::pair<std::string, int32_t>> specials;
  if (!skip_special) specials = special_tokens();
  for (const int32_t id : ids) {
    text.append(bytes_of(id));
    for (const auto& [name, special] : specials)
      if (id == special) text.append(name);
  }
  return text;
}

TextFrame text_frame(const Tokenizer& tokenizer) {
  constexpr int32_t marker = -1;
  const std::vector<int32_t> ids = tokenizer.with_template({marker}).ids;
  const auto text = std::ranges::find(ids, marker);
  require(text != ids.end(), "the tokenizer's template (post_processor) leaves out the text");
  return {{ids.begin(), text}, {text + 1, ids.end()}};
}

}  // namespace skein::text
