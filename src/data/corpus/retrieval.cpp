#include "skein/data/corpus/retrieval.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "skein/core/error.h"
#include "skein/core/philox.h"
#include "skein/core/strings.h"
#include "skein/data/corpus/corpus.h"

#include "data/files/spool.h"

namespace skein::data {

void bind(Options& options, RetrievalConfig& c) {
  options.add("retrieval.texts", c.texts, "to write", "texts");
  options.add("retrieval.distance", c.distance, "between the pair and the word that asks", "words");
  options.add("retrieval.beyond", c.beyond, "up to so many on the pair's other side", "words");
  options.add("retrieval.pairs", c.pairs, "of a key and its value, of which one is asked for",
              "pairs");
  options.add("retrieval.keys", c.keys, "kinds of keys", "words");
  options.add("retrieval.values", c.values, "kinds of values, the labels", "words");
  options.add("retrieval.noise", c.noise, "kinds of words that mean nothing", "words");
  options.add_choice("retrieval.ask", c.ask,
                     {{"last", AskingEnd::last}, {"first", AskingEnd::first}},
                     "which word asks: decoders are read at the last, encoders at the first");
  options.add("retrieval.seed", c.seed, "of the texts");
  options.add("output.path", c.output, "the TSV to write, with columns text and label");
  options.add("output.vocabulary", c.vocabulary,
              "a vocab.txt to write, of all words; none if empty");
  options.add("output.replace", c.replace, "replace files that are there already");
}

namespace {

constexpr int64_t kMostDistance = 1 << 22;

void check_range(const char* option, int64_t value, int64_t least, int64_t most) {
  require(value >= least && value <= most, "retrieval.{}={}; it is {} to {}", option, value, least,
          most);
}

void check(const RetrievalConfig& c) {
  check_range("texts", c.texts, 1, int64_t{1} << 40);
  check_range("distance", c.distance, 0, kMostDistance);
  check_range("beyond", c.beyond, 0, kMostDistance);
  for (const auto& [option, kinds] :
       {std::pair{"keys", c.keys}, {"values", c.values}, {"noise", c.noise}})
    check_range(option, kinds, 1, 1 << 16);
  check_range("pairs", c.pairs, 1, c.keys);
  require(2 * (c.pairs - 1) <= std::min(c.distance, c.beyond),
          "retrieval.pairs={}: all but one may stand on one side of that, 2 words each, which are "
          "more than retrieval.distance={} or retrieval.beyond={}",
          c.pairs, c.distance, c.beyond);
}

// Numbers of one text, one after the other.
class TextDraws {
 public:
  TextDraws(uint64_t key, int64_t text) : key_(key), text_(static_cast<uint64_t>(text)) {}
  int64_t below(int64_t end) {
    const PhiloxBlock bits = philox(key_, text_, next_++);
    return static_cast<int64_t>(uniform_double(bits[0], bits[1]) * static_cast<double>(end));
  }
  // `count` of [0, end), in a drawn order.
  std::vector<int64_t> some(int64_t count, int64_t end) {
    std::vector<int64_t> all(static_cast<size_t>(end));
    std::iota(all.begin(), all.end(), int64_t{0});
    for (int64_t i = 0; i < count; ++i) std::swap(all[i], all[i + below(end - i)]);
    all.resize(static_cast<size_t>(count));
    return all;
  }

 private:
  uint64_t key_, text_, next_ = 0;
};

struct AskingText {
  std::vector<std::string> words;
  std::string label;
};

std::string word(const char* kind, int64_t number) { return fmt::format("{}{}", kind, number); }

std::vector<std::string> noise_of(const RetrievalConfig& c, int64_t count, TextDraws& draws) {
  std::vector<std::string> made;
  for (int64_t i = 0; i < count; ++i) made.push_back(word("n", draws.below(c.noise)));
  return made;
}

// A key and a drawn value in place of two words, for each key.
void hide_pairs(const RetrievalConfig& c, std::span<const int64_t> keys, TextDraws& draws,
                std::vector<std::string>& words) {
  const std::vector<int64_t> places = draws.some(std::ssize(keys), std::ssize(words) / 2);
  for (size_t i = 0; i < keys.size(); ++i) {
    words[2 * places[i]] = word("k", keys[i]);
    words[2 * places[i] + 1] = word("v", draws.below(c.values));
  }
}

// Which of the pairs is asked for, nobody sees by its place among them.
AskingText asking_text(const RetrievalConfig& c, TextDraws draws) {
  const std::vector<int64_t> keys = draws.some(c.pairs, c.keys);
  const std::span<const int64_t> others = std::span(keys).subspan(1);
  const int64_t beyond = draws.below(c.pairs), least = 2 * beyond;
  AskingText made{noise_of(c, least + draws.below(c.beyond - least + 1), draws),
                  word("v", draws.below(c.values))};
  std::vector<std::string> between = noise_of(c, c.distance, draws);
  hide_pairs(c, others.first(beyond), draws, made.words);
  hide_pairs(c, others.subspan(beyond), draws, between);
  const std::vector<std::string> pair{word("k", keys[0]), made.label}, asked{word("q", keys[0])};
  if (c.ask == AskingEnd::last) {
    for (const auto& part : {pair, between, asked})
      made.words.insert(made.words.end(), part.begin(), part.end());
    return made;
  }
  std::vector<std::string> words = asked;
  for (const auto& part : {between, pair, made.words})
    words.insert(words.end(), part.begin(), part.end());
  return {words, made.label};
}

void save(const std::string& path, const RetrievalConfig& c,
          const std::function<void(Spool&)>& write) {
  Spool file(unique_stem(file_target(path, existing(c.replace))));
  write(file);
  file.publish(file_target(path, existing(c.replace)), existing(c.replace));
}

void append(Spool& file, const std::string& text) { file.append(std::as_bytes(std::span(text))); }

void write_texts(const RetrievalConfig& c, Spool& file) {
  const uint64_t key = derive_key(c.seed, "texts that ask");
  append(file, "text\tlabel\n");
  for (int64_t text = 0; text < c.texts; ++text) {
    const AskingText made = asking_text(c, TextDraws(key, text));
    append(file, fmt::format("{}\t{}\n", fmt::join(made.words, " "), made.label));
  }
}

void write_vocabulary(const RetrievalConfig& c, Spool& file) {
  append(file, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
  for (const auto& [kind, count] :
       {std::pair{"k", c.keys}, {"q", c.keys}, {"v", c.values}, {"n", c.noise}})
    for (int64_t i = 0; i < count; ++i) append(file, word(kind, i) + "\n");
}

}  // namespace

void write_retrieval(const RetrievalConfig& c) {
  check(c);
  check_output("output.path", c.output, {}, existing(c.replace));
  if (!c.vocabulary.empty())
    check_output("output.vocabulary", c.vocabulary, {c.output}, existing(c.replace));
  save(c.output, c, [&](Spool& file) { write_texts(c, file); });
  if (!c.vocabulary.empty()) save(c.vocabulary, c, [&](Spool& file) { write_vocabulary(c, file); });
}

}  // namespace skein::data
