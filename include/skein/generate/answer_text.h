// The text of an answer while it grows: where it stops, and what of it can be shown.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/generate/continuation.h"

namespace skein::generate {

// What tokens of an answer say.
using TextOf = std::function<std::string(const Tokens&)>;

// Binds generate.stop.
void bind_stops(Options& options, std::string& stop);
// Its texts as they are written there, none of "". A usage error where one begins or ends with
// white space, which another reader would drop.
std::vector<std::string> stops_in(const std::string& written);

// Texts that end an answer, which is then cut before the first of them.
class StopTexts {
 public:
  // As generate.stop has them: \n, \t, \\ and \xHH stand for a line's end, a tab, a backslash and
  // a byte. Usage errors for other escapes, and where one is empty.
  explicit StopTexts(const std::vector<std::string>& written);

  bool any() const { return !texts_.empty(); }
  // `text` up to the first of them; nullopt: it holds none.
  std::optional<std::string> cut(const std::string& text) const;
  // Whether one of them ends with one of the last tokens of the answer: asked after each token, it
  // looks at no more than that needs.
  bool ends(const Tokens& answer, const TextOf& text_of) const;
  // Bytes at the end of `text` with which one of them may begin.
  size_t beginning_of_one(const std::string& text) const;

 private:
  std::vector<std::string> texts_;
  size_t longest_ = 0;  // bytes
};

// The first tokens of an answer, as many as it takes to say `text`, its beginning, without the
// white space at its end.
Tokens tokens_saying(const std::string& text, Tokens answer, const TextOf& text_of);

// Shows an answer piece by piece, no part of a character nor of a stop text.
class AnswerStream {
 public:
  // stops outlives it.
  explicit AnswerStream(const StopTexts& stops) : stops_(&stops) {}

  // What can be shown beside what was, of the text so far.
  std::string next(const std::string& text);
  // What is left of the whole text, which holds no stop text.
  std::string rest(const std::string& text) const { return text.substr(shown_); }

 private:
  const StopTexts* stops_;
  size_t shown_ = 0;  // bytes
};

}  // namespace skein::generate
