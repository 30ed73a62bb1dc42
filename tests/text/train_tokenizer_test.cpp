#include "skein/text/train_tokenizer.h"

#include <map>
#include <random>
#include <set>

#include "golden_files.h"

namespace skein::text {
namespace {

using Json = nlohmann::json;
using Symbols = std::vector<int32_t>;

std::unique_ptr<Tokenizer> learnt(const TrainerSettings& settings, const std::string& text) {
  TokenizerTrainer trainer(settings);
  trainer.count(text);
  return trainer.train();
}

TEST(TrainTokenizer, BpeWithSpecialTokensIsTheReferences) {
  const Json golden = Json::parse(test::golden_text("trained.json.xz"));
  TrainerSettings settings{.vocab_size = 1500, .min_frequency = 2, .special = golden["special"]};
  const auto tokenizer = learnt(settings, golden["text"]);
  const Json model = Json::parse(tokenizer->to_json())["model"];
  EXPECT_EQ(model["vocab"], golden["vocab"]);
  EXPECT_EQ(model["merges"], golden["merges"]);
  EXPECT_EQ(tokenizer->roles().mask, 4);
  EXPECT_EQ(tokenizer->with_template({7}).ids, (Symbols{0, 7, 2}));
}

// The reference gives the characters inside of words their ids by chance, and so breaks ties by
// chance: the pieces are the same except for those that are as frequent as the rarest.
TEST(TrainTokenizer, WordPieceIsTheReferencesButForTies) {
  const Json golden = Json::parse(test::golden_text("trained.json.xz"));
  const auto tokenizer = learnt(
      {.kind = LearntKind::wordpiece, .vocab_size = 500, .limit_alphabet = 30}, golden["text"]);
  EXPECT_EQ(tokenizer->vocab_size(), 500);
  int64_t same = 0;
  for (const Json& token : golden["wordpiece"])
    same += tokenizer->id_of(token.get<std::string>()) >= 0 ? 1 : 0;
  EXPECT_GE(same, 495);
}

// The rule as it is told, on words of letters: count all pairs anew for each merge.
std::vector<std::string> learnt_slowly(const std::map<std::string, int64_t>& counts, size_t size,
                                       int64_t frequency) {
  std::set<std::string> first, inner;
  std::map<std::vector<std::string>, int64_t> words;
  for (const auto& [word, count] : counts) {
    std::vector<std::string> pieces;
    for (const char letter : word) {
      first.insert(std::string(1, letter));
      pieces.push_back((pieces.empty() ? "" : "##") + std::string(1, letter));
      if (pieces.size() > 1) inner.insert(pieces.back());
    }
    words[pieces] += count;
  }
  std::vector<std::string> tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  tokens.insert(tokens.end(), first.begin(), first.end());
  tokens.insert(tokens.end(), inner.begin(), inner.end());
  const auto id = [&](const std::string& token) {
    return std::find(tokens.begin(), tokens.end(), token) - tokens.begin();
  };
  while (tokens.size() < size) {
    std::map<std::pair<int64_t, int64_t>, int64_t> pairs;
    for (const auto& [pieces, count] : words)
      for (size_t i = 0; i + 1 < pieces.size(); ++i)
        pairs[{id(pieces[i]), id(pieces[i + 1])}] += count;
    auto best = pairs.end();
    for (auto at = pairs.begin(); at != pairs.end(); ++at)
      if (best == pairs.end() || at->second > best->second) best = at;
    if (best == pairs.end() || best->second < frequency) break;
    const std::string left = tokens[static_cast<size_t>(best->first.first)],
                      right = tokens[static_cast<size_t>(best->first.second)],
                      made = left + right.substr(2);
    tokens.push_back(made);
    std::map<std::vector<std::string>, int64_t> next;
    for (const auto& [pieces, count] : words) {
      std::vector<std::string> kept;
      for (size_t i = 0; i < pieces.size(); ++i) {
        const bool match = i + 1 < pieces.size() && pieces[i] == left && pieces[i + 1] == right;
        kept.push_back(match ? made : pieces[i]);
        i += match ? 1 : 0;
      }
      next[kept] += count;
    }
    words = next;
  }
  return tokens;
}

TEST(TrainTokenizer, WordPieceAgreesWithCountingAnew) {
  std::mt19937 random(23);
  for (int round = 0; round < 20; ++round) {
    std::map<std::string, int64_t> counts;
    std::string text;
    for (int i = 0; i < 60; ++i) {
      std::string word(1 + random() % 7, 'a');
      for (char& letter : word)
        letter = static_cast<char>('a' + random() % (2 + static_cast<unsigned>(round) % 5));
      ++counts[word];
      text += word + " ";
    }
    const auto expected = learnt_slowly(counts, 60, 2);
    const auto tokenizer = learnt({.kind = LearntKind::wordpiece, .vocab_size = 60}, text);
    ASSERT_EQ(tokenizer->vocab_size(), static_cast<int64_t>(expected.size()));
    for (size_t id = 0; id < expected.size(); ++id)
      ASSERT_EQ(tokenizer->id_of(expected[id]), static_cast<int32_t>(id));
  }
}

TEST(TrainTokenizer, RareCharactersAreLeftOut) {
  const auto tokenizer = learnt(
      {.kind = LearntKind::wordpiece, .vocab_size = 40, .min_frequency = 2, .limit_alphabet = 2},
      "aab aab xab");
  EXPECT_EQ(tokenizer->id_of("x"), -1);
  EXPECT_EQ(tokenizer->encode("aab").size(), 1u);
  EXPECT_EQ(tokenizer->encode("xab"), Symbols{tokenizer->roles().unk});
}

TEST(TrainTokenizer, MergedTrainersCountTheSame) {
  const TrainerSettings settings{
      .kind = LearntKind::wordpiece, .vocab_size = 60, .min_frequency = 1};
  TokenizerTrainer first(settings), second(settings);
  first.count("the cat and ");
  second.count("the mat and");
  first.merge(std::move(second));
  EXPECT_EQ(first.words(), 6);
  EXPECT_EQ(first.train()->to_json(), learnt(settings, "the cat and the mat and")->to_json());
}

TEST(TrainTokenizer, MistakesAreNamed) {
  const auto refused = [](TrainerSettings settings, std::initializer_list<std::string> words) {
    test::expect_refused(words, [&] { learnt(settings, "some text"); });
  };
  refused({.vocab_size = 200}, {"200", "257"});
  refused({.vocab_size = 257, .special = {"a", "b"}}, {"257", "258"});
  refused({.special = {"<s>", "<s>"}}, {"<s>", "twice"});
  refused({.special = {""}}, {"empty"});
  refused({.special = {"\xff"}}, {"UTF-8"});
  refused({.min_frequency = 0}, {"least frequency of 0"});
  refused({.kind = LearntKind::wordpiece, .special = {"[CLS]"}}, {"[UNK]"});
  refused({.kind = LearntKind::wordpiece, .vocab_size = 8}, {"8", "characters take 16"});
  refused({.kind = LearntKind::wordpiece, .limit_alphabet = 0}, {"alphabet of 0"});
}

}  // namespace
}  // namespace skein::text
