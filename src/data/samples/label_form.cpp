#include "skein/data/samples/label_form.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/text/split/utf8.h"

namespace skein::data {
namespace {

// True when it was too long. The longer text gives first, the second where both are equal.
bool cut_pair(std::vector<int32_t>& first, std::vector<int32_t>& second, int64_t room) {
  const size_t most = room;
  if (first.size() + second.size() <= most) return false;
  const size_t half = most / 2, rest = most - half;
  if (second.size() <= half)
    first.resize(most - second.size());
  else if (first.size() <= rest)
    second.resize(most - first.size());
  else
    first.resize(rest), second.resize(half);
  return true;
}

}  // namespace

LabelForm::LabelForm(const text::Tokenizer& tokenizer, const LabelFormConfig& config)
    : tokenizer_(tokenizer),
      config_(config),
      roles_(tokenizer.roles()),
      separator_(tokenizer.encode(config.separator)) {
  require(!config.encoder || (roles_.cls >= 0 && roles_.sep >= 0),
          "the model is an encoder, but its tokenizer has no tokens that begin and end a sample, "
          "such as [CLS] and [SEP]");
  require(text::valid_utf8(config.separator), "task.separator is not valid UTF-8");
  if (config.encoder) lead_ = lead();
  require(
      room(true) >= 2,
      "task.length={} leaves no room for two texts beside the special tokens; give a larger one",
      config.length);
}

int32_t LabelForm::pad() const { return std::max(0, roles_.pad); }

int64_t LabelForm::lead() const {
  constexpr int32_t marker = -1;
  const std::vector<int32_t> ids = encoder_sample({marker}, nullptr).tokens;
  const auto found = std::find(ids.begin(), ids.end(), marker);
  require(found != ids.end(),
          "the tokenizer's template (post_processor) leaves out the text of a sample");
  return found - ids.begin();
}

bool LabelForm::closes_pairs() const {
  const std::vector<int32_t> first, second{-1};
  return (config_.encoder ? encoder_sample(first, &second).tokens : decoder_tokens(first, &second))
             .back() != second.back();
}

int64_t LabelForm::room(bool pair) const {
  const std::vector<int32_t> none;
  const std::vector<int32_t>* second = pair ? &none : nullptr;
  return config_.length - std::ssize(config_.encoder ? encoder_sample(none, second).tokens
                                                     : decoder_tokens(none, second));
}

FormedSample LabelForm::encoder_sample(const std::vector<int32_t>& first,
                                       const std::vector<int32_t>* second) const {
  text::TemplatedIds framed = tokenizer_.with_template(first, second);
  if (framed.ids.empty() || framed.ids.front() != roles_.cls) {
    framed = {{roles_.cls}, {}};
    framed.ids.insert(framed.ids.end(), first.begin(), first.end());
    framed.ids.push_back(roles_.sep);
    framed.types.assign(framed.ids.size(), 0);
    if (second) framed.ids.insert(framed.ids.end(), second->begin(), second->end());
    if (second) framed.ids.push_back(roles_.sep);
    framed.types.resize(framed.ids.size(), 1);
  }
  return {std::move(framed.ids), std::move(framed.types), {0}};
}

std::vector<int32_t> LabelForm::decoder_tokens(const std::vector<int32_t>& first,
                                               const std::vector<int32_t>* second) const {
  if (config_.framed) return tokenizer_.with_template(first, second).ids;
  std::vector<int32_t> tokens = first;
  if (second) {
    tokens.insert(tokens.end(), separator_.begin(), separator_.end());
    tokens.insert(tokens.end(), second->begin(), second->end());
  }
  if (closing()) tokens.push_back(roles_.eos);
  return tokens;
}

FormedSample LabelForm::decoder_sample(const std::vector<int32_t>& first,
                                       const std::vector<int32_t>* second) const {
  FormedSample sample{decoder_tokens(first, second), {}, {}};
  if (sample.tokens.empty()) sample.tokens.push_back(pad());
  sample.types.assign(sample.tokens.size(), 0);
  sample.places = {narrow<int32_t>(sample.tokens.size()) - 1};
  return sample;
}

FormedSample LabelForm::made(std::vector<int32_t> first, const std::vector<int32_t>* second) const {
  std::vector<int32_t> other = second ? *second : std::vector<int32_t>();
  const bool cut = cut_pair(first, other, room(second != nullptr));
  const std::vector<int32_t>* kept = second ? &other : nullptr;
  FormedSample sample = config_.encoder ? encoder_sample(first, kept) : decoder_sample(first, kept);
  sample.cut = cut;
  return sample;
}

FormedSample LabelForm::text(const std::string& text) const {
  return made(tokenizer_.encode(text), nullptr);
}

FormedSample LabelForm::pair(const std::string& first, const std::string& second) const {
  const std::vector<int32_t> other = tokenizer_.encode(second);
  return made(tokenizer_.encode(first), &other);
}

FormedSample LabelForm::words_sample(const Subwords& subwords) const {
  FormedSample sample;
  if (config_.encoder)
    sample = encoder_sample(subwords.ids, nullptr);
  else
    sample = {subwords.ids, std::vector<int32_t>(subwords.ids.size(), 0), {}};
  sample.places.clear();
  for (size_t word = 0; word + 1 < subwords.begin.size(); ++word)
    sample.places.push_back(narrow<int32_t>(config_.encoder ? lead_ + subwords.begin[word]
                                                            : subwords.begin[word + 1] - 1));
  return sample;
}

std::vector<FormedWords> LabelForm::words(std::span<const std::string> words) const {
  std::vector<FormedWords> windows;
  const int64_t most = config_.encoder ? room(false) : config_.length;
  for (size_t at = 0; at < words.size();) {
    Subwords subwords = encode_words(tokenizer_, words.subspan(at), most);
    const size_t last = subwords.begin.size() - 2;
    const bool full = subwords.begin.back() == most;
    const bool cut =
        full && encode_words(tokenizer_, words.subspan(at + last, 1), most + 1).begin.back() >
                    most - subwords.begin[last];
    // A word that would lose its end begins the next window, unless it is alone.
    if (cut && last > 0) {
      subwords.begin.pop_back();
      subwords.ids.resize(subwords.begin.back());
    }
    windows.push_back({words_sample(subwords), narrow<int64_t>(at)});
    windows.back().sample.cut = cut && last == 0;
    at += subwords.begin.size() - 1;
  }
  return windows;
}

}  // namespace skein::data
