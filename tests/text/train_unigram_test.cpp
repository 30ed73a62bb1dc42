// Unigram and whole words, learnt.
#include <map>
#include <random>

#include "skein/text/export.h"
#include "skein/text/learn/substrings.h"
#include "skein/text/train_tokenizer.h"

#include "golden_files.h"

namespace skein::text {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<int32_t>;

std::string shakespeare() {
  return Json::parse(test::golden_text("trained.json.xz"))["text"].get<std::string>();
}

std::unique_ptr<Tokenizer> learnt_pieces(const TrainerSettings& settings, const std::string& text,
                                         int threads = 1) {
  TokenizerTrainer trainer(settings);
  trainer.count(text);
  return trainer.train(threads);
}

constexpr const char* kSpaceMark = "\u2581";
const TrainerSettings kUnigram{.kind = LearntKind::unigram, .vocab_size = 600};

// By counting: all strings of one kind, those left out that one longer string has whenever it
// occurs.
std::map<std::string, int64_t> substrings_slowly(const std::vector<CountedWord>& words) {
  std::map<std::string, int64_t> counts;
  for (const CountedWord& word : words)
    for (size_t from = 0; from < word.text.size(); ++from)
      for (size_t size = 1; from + size <= word.text.size(); ++size)
        counts[word.text.substr(from, size)] += word.count;
  std::map<std::string, int64_t> kept;
  for (const auto& [text, count] : counts) {
    bool longer = false;
    for (char letter = 'a'; letter <= 'c'; ++letter) {
      const auto found = counts.find(text + letter);
      longer = longer || (found != counts.end() && found->second == count);
    }
    if (text.size() >= 2 && count >= 2 && !longer) kept[text] = count;
  }
  return kept;
}

TEST(TrainUnigram, SubstringsAgreeWithCounting) {
  std::mt19937 random(5);
  for (int round = 0; round < 30; ++round) {
    std::vector<CountedWord> words;
    for (int i = 0; i < 20; ++i) {
      CountedWord word{"", 1 + static_cast<int64_t>(random() % 3)};
      for (size_t size = 1 + random() % 9; word.text.size() < size;)
        word.text.push_back(static_cast<char>('a' + random() % 3));
      words.push_back(word);
    }
    std::map<std::string, int64_t> found;
    for (const Substring& node : frequent_substrings(words, kSpaceMark, 16, 10000))
      EXPECT_TRUE(found.emplace(node.text, node.count).second) << node.text;
    EXPECT_EQ(found, substrings_slowly(words));
  }
}

TEST(TrainUnigram, SubstringsKeepToOneKindOfCharacters) {
  const std::vector<CountedWord> words{{"\u2581abc12,5", 4}, {"\u2581abc", 2}};
  std::map<std::string, int64_t> found;
  for (const Substring& node : frequent_substrings(words, kSpaceMark, 16, 100))
    found.emplace(node.text, node.count);
  EXPECT_EQ(found,
            (std::map<std::string, int64_t>{{"\u2581abc", 6}, {"abc", 6}, {"bc", 6}, {"12", 4}}));
  EXPECT_EQ(frequent_substrings(words, kSpaceMark, 2, 100).front().text, "ab");
}

TEST(TrainUnigram, AllTextComesBack) {
  const auto tokenizer = learnt_pieces(kUnigram, shakespeare());
  EXPECT_EQ(tokenizer->vocab_size(), 600);
  for (const std::string text : {"First Citizen:\nBefore we  proceed", " a ", "\n\n",
                                 "naïve 日本\t😀", "x", "", "\u2581 \u2581\n"})
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)),
              // the mark itself is a space
              text.find("\u2581") == text.npos ? text : "   \n")
        << text;
  const auto again = tokenizer_from_json(tokenizer->to_json());
  EXPECT_EQ(again->to_json(), tokenizer->to_json());
}

TEST(TrainUnigram, PiecesAreWords) {
  const auto tokenizer = learnt_pieces(kUnigram, shakespeare());
  for (const char* word : {"\u2581the", "\u2581and", "\u2581you", "\n"})
    EXPECT_GE(tokenizer->id_of(word), 0) << word;
  // BPE of the same size needs more tokens where Kudo's pieces are as good as they should be.
  const std::string text = shakespeare();
  const auto bpe = learnt_pieces({.vocab_size = 600}, text);
  EXPECT_LT(tokenizer->encode(text).size(), bpe->encode(text).size() * 11 / 10);
}

TEST(TrainUnigram, EqualAtAnyNumberOfThreads) {
  const std::string text = shakespeare();
  const std::string one = learnt_pieces(kUnigram, text, 1)->to_json();
  EXPECT_EQ(learnt_pieces(kUnigram, text, 3)->to_json(), one);
  EXPECT_EQ(learnt_pieces(kUnigram, text, 40)->to_json(), one);
  TokenizerTrainer first(kUnigram), second(kUnigram);
  const size_t cut = text.find(" \n", text.size() / 2) + 1;
  first.count(text.substr(cut));
  second.count(text.substr(0, cut));
  first.merge(std::move(second));
  TokenizerTrainer whole(kUnigram);
  whole.count(text.substr(0, cut));
  whole.count(text.substr(cut));
  EXPECT_EQ(first.train()->to_json(), whole.train()->to_json());
}

TEST(TrainUnigram, IsWrittenAsAModelOfSentencePiece) {
  const auto tokenizer = learnt_pieces(kUnigram, shakespeare());
  std::string file;
  for (const auto& [name, text] : tokenizer_files(*tokenizer))
    if (name == "tokenizer.model") file = text;
  const test::Scratch scratch;
  const auto again = load_tokenizer(scratch.write("it.model", file));
  for (const std::string text : {"First Citizen:\nBefore we  proceed", " a ", "naïve 日本\t😀"}) {
    EXPECT_EQ(again->encode(text), tokenizer->encode(text)) << text;
    EXPECT_EQ(again->decode(again->encode(text)), text);
  }
  TrainerSettings nfkc = kUnigram;
  nfkc.normal_form = LearntForm::nfkc;
  for (const auto& [name, text] : tokenizer_files(*learnt_pieces(nfkc, shakespeare())))
    EXPECT_NE(name, "tokenizer.model");
}

TEST(TrainUnigram, NormalForm) {
  TrainerSettings settings = kUnigram;
  settings.normal_form = LearntForm::nfkc;
  settings.byte_fallback = false;
  const auto tokenizer = learnt_pieces(settings, shakespeare());
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(" \uFF34he \n\n citizen ")), "The citizen");
  const Ids unknown = tokenizer->encode("日本");
  EXPECT_EQ(unknown.back(), tokenizer->roles().unk);
}

TEST(TrainUnigram, RareCharactersAreLeftOut) {
  const auto tokenizer = learnt_pieces(
      {.kind = LearntKind::unigram, .vocab_size = 20, .limit_alphabet = 3, .byte_fallback = false},
      "aab aab xab");
  EXPECT_EQ(tokenizer->id_of("x"), -1);
  EXPECT_EQ(tokenizer->id_of("\u2581aab"), tokenizer->encode("aab").at(0));
}

TEST(TrainWords, TheMostFrequentOnes) {
  const TrainerSettings settings{.kind = LearntKind::word, .vocab_size = 7, .min_frequency = 2};
  TokenizerTrainer trainer(settings);
  trainer.count("b a b\n a c c. c. c. d e");
  const auto tokenizer = trainer.train();
  EXPECT_EQ(tokenizer->vocab_size(), 7);
  EXPECT_EQ((Ids{tokenizer->id_of("c."), tokenizer->id_of("a"), tokenizer->id_of("b")}),
            (Ids{4, 5, 6}));
  EXPECT_EQ(tokenizer->encode("a  x b\tc."), (Ids{5, 3, 6, 4}));
  EXPECT_EQ(tokenizer->decode({5, 3, 6}), "a b");
  EXPECT_EQ(tokenizer->decode({5, 3, 6}, false), "a <unk> b");
  EXPECT_EQ(tokenizer->bytes_of(5), " a");
  EXPECT_TRUE(tokenizer->begins_word(5));
  EXPECT_EQ(trainer.words(), 10);
  EXPECT_EQ(trainer.unknown_words(*tokenizer), 3);
  EXPECT_EQ(tokenizer->encode("</s>"), Ids{3});
  EXPECT_EQ(tokenizer->end_of_text(), 2);
  EXPECT_EQ(tokenizer_from_json(tokenizer->to_json())->to_json(), tokenizer->to_json());
}

TEST(TrainWords, OfAPattern) {
  const auto tokenizer = learnt_pieces(
      {.kind = LearntKind::word, .vocab_size = 10, .pattern = R"(\w+|[^\w\s])"}, "a,b a,b c");
  EXPECT_EQ(tokenizer->encode("b,a"), (Ids{6, 4, 5}));
  EXPECT_EQ(tokenizer->vocab_size(), 7);
}

TEST(TrainWords, MistakesAreNamed) {
  const auto refused = [](TrainerSettings settings, std::initializer_list<std::string> words) {
    test::expect_refused(words, [&] { learnt_pieces(settings, "some text"); });
  };
  refused({.kind = LearntKind::unigram, .vocab_size = 100}, {"100", "259"});
  refused({.kind = LearntKind::unigram, .vocab_size = 260}, {"260", "bytes and characters take"});
  refused({.kind = LearntKind::unigram, .special = {"<s>"}}, {"<unk>"});
  refused({.kind = LearntKind::word, .special = {"<s>"}}, {"<unk>"});
  refused({.kind = LearntKind::word, .pattern = "("}, {"("});
  refused({.pattern = "a"}, {"tokenizer.kind=word"});
}

}  // namespace
}  // namespace skein::text
