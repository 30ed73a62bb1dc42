#include "skein/data/corpus/copy_shift.h"

#include <algorithm>
#include <functional>
#include <map>

#include "skein/core/error.h"
#include "skein/core/philox.h"
#include "skein/core/strings.h"

#include "data/files/spool.h"

namespace skein::data {

void bind(Options& options, CopyShiftConfig& c) {
  options.add("copy.words", c.words, "of a source, and of its target", "words");
  options.add("copy.pairs", c.pairs, "pairs to make; 0: as many as the text gives", "pairs");
  options.add_choice("copy.order", c.order,
                     {{"text", WordOrder::text}, {"drawn", WordOrder::drawn}},
                     "of the words: as in the text, or each drawn as often as the text has it");
  options.add("copy.seed", c.seed, "of drawn words");
  options.add("output.path", c.output, "the TSV to write, with columns text and label");
  options.add("output.replace", c.replace, "replace a file that is there already");
}

namespace {

constexpr int64_t kMostCopied = 1 << 20;

void check(const CopyShiftConfig& c) {
  require(c.words >= 2 && c.words <= kMostCopied, "copy.words={}; it is 2 to {}", c.words,
          kMostCopied);
  require(c.pairs >= 0, "copy.pairs={} must be at least 0", c.pairs);
  require(c.pairs > 0 || c.order == WordOrder::text,
          "copy.order=drawn makes as many pairs as it is asked for; give copy.pairs");
}

class PairFile {
 public:
  PairFile(const std::string& target) : spool_(unique_stem(target, ".pairs")) {
    write("text\tlabel\n");
  }
  // The words and the one behind them.
  void add(const std::vector<std::string>& words) {
    std::string line;
    const auto side = [&](size_t first) {
      for (size_t i = first; i + 1 < words.size() + first; ++i)
        line += (i > first ? " " : "") + words[i];
    };
    side(0);
    line += '\t';
    side(1);
    write(line + '\n');
  }
  void publish(const std::string& target, ExistingFile existing) {
    spool_.publish(target, existing);
  }

 private:
  void write(const std::string& text) { spool_.append(std::as_bytes(std::span(text))); }

  Spool spool_;
};

// Calls use(word, begins), `begins` where a document does, until it returns false.
void each_word(const std::vector<std::string>& inputs, const CorpusOptions& options,
               const std::function<bool(std::string_view word, bool begins)>& use) {
  CorpusReader reader(inputs, options);
  for (CorpusPiece piece; reader.next(piece);) {
    bool begins = !piece.continues;
    const std::string_view text = piece.text;
    for (size_t at = text.find_first_not_of(kBlanks); at < text.size();) {
      const size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
      if (!use(text.substr(at, end - at), begins)) return;
      begins = false;
      at = text.find_first_not_of(kBlanks, end);
    }
  }
}

CopyShiftCounts write_in_order(const std::vector<std::string>& inputs, const CopyShiftConfig& c,
                               PairFile& file) {
  CopyShiftCounts counts;
  std::vector<std::string> words;
  each_word(inputs, c.corpus, [&](std::string_view word, bool begins) {
    ++counts.words;
    if (begins) words.clear();
    words.emplace_back(word);
    if (std::ssize(words) <= c.words) return true;
    file.add(words);
    words.clear();
    return ++counts.pairs != c.pairs;
  });
  return counts;
}

// Words and how many of all stand at or before each of them, those of equal count by their bytes.
struct Frequencies {
  std::vector<std::string> words;
  std::vector<int64_t> up_to;

  explicit Frequencies(const std::map<std::string, int64_t, std::less<>>& counts) {
    for (const auto& [word, count] : counts) {
      words.push_back(word);
      up_to.push_back(count + (up_to.empty() ? 0 : up_to.back()));
    }
  }
  // The word that a number in [0, 1) falls upon.
  const std::string& at(double part) const {
    const auto place = static_cast<int64_t>(part * static_cast<double>(up_to.back()));
    const auto found = std::ranges::upper_bound(up_to, place);
    return words[static_cast<size_t>(found - up_to.begin())];
  }
};

CopyShiftCounts write_drawn(const std::vector<std::string>& inputs, const CopyShiftConfig& c,
                            PairFile& file) {
  CopyShiftCounts made;
  std::map<std::string, int64_t, std::less<>> counts;
  each_word(inputs, c.corpus, [&](std::string_view word, bool) {
    ++made.words;
    const auto found = counts.find(word);
    if (found == counts.end())
      counts.emplace(word, 1);
    else
      ++found->second;
    return true;
  });
  if (counts.empty()) return made;
  const Frequencies frequencies(counts);
  const uint64_t key = derive_key(c.seed, "words to copy");
  std::vector<std::string> words(static_cast<size_t>(c.words) + 1);
  for (; made.pairs < c.pairs; ++made.pairs) {
    for (size_t i = 0; i < words.size(); ++i) {
      const PhiloxBlock bits = philox(key, static_cast<uint64_t>(made.pairs), i);
      words[i] = frequencies.at(uniform_double(bits[0], bits[1]));
    }
    file.add(words);
  }
  return made;
}

}  // namespace

CopyShiftCounts write_copy_shift(const std::vector<std::string>& inputs, const CopyShiftConfig& c) {
  check(c);
  check_output("output.path", c.output, expand_inputs(inputs), existing(c.replace));
  const std::string target = file_target(c.output, existing(c.replace));
  PairFile file(target);
  const CopyShiftCounts made =
      c.order == WordOrder::text ? write_in_order(inputs, c, file) : write_drawn(inputs, c, file);
  require(made.pairs >= std::max<int64_t>(1, c.pairs),
          "the text has {} words, which make {} pairs of {} words and the one behind them, not "
          "copy.pairs={}; give more text, or fewer",
          made.words, made.pairs, c.words, std::max<int64_t>(1, c.pairs));
  file.publish(target, existing(c.replace));
  return made;
}

}  // namespace skein::data
