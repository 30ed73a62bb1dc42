#include "skein/data/corpus/retrieval.h"

#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sstream>

#include "data/data_fixtures.h"

namespace skein::data {
namespace {

using namespace test;
using Words = std::vector<std::string>;

struct Asking {
  Words words;
  std::string label;
};

std::vector<Asking> written(const RetrievalConfig& c) {
  write_retrieval(c);
  std::istringstream lines(bytes_of_file(c.output));
  std::string line, word;
  std::getline(lines, line);
  EXPECT_EQ(line, "text\tlabel");
  std::vector<Asking> made;
  while (std::getline(lines, line)) {
    const size_t tab = line.find('\t');
    std::istringstream words(line.substr(0, tab));
    made.push_back({{}, line.substr(tab + 1)});
    while (words >> word) made.back().words.push_back(word);
  }
  return made;
}

RetrievalConfig small(const Scratch& scratch) {
  RetrievalConfig made;
  made.texts = 300;
  made.distance = 20;
  made.beyond = 5;
  made.keys = made.values = 4;
  made.noise = 3;
  made.output = scratch.file("asking.tsv");
  made.replace = true;
  return made;
}

int64_t count_of(const Words& words, char kind) {
  return std::ranges::count_if(words, [&](const std::string& word) { return word[0] == kind; });
}

TEST(Retrieval, AsksForAPairAtADistance) {
  const Scratch scratch;
  RetrievalConfig c = small(scratch);
  for (const AskingEnd ask : {AskingEnd::last, AskingEnd::first}) {
    c.ask = ask;
    std::map<std::string, int> labels;
    std::set<size_t> lengths;
    for (const Asking& one : written(c)) {
      Words words = one.words;
      if (ask == AskingEnd::last) std::ranges::reverse(words);
      const size_t key = ask == AskingEnd::last ? 22 : 21, value = ask == AskingEnd::last ? 21 : 22;
      ASSERT_EQ(words[0][0], 'q');
      EXPECT_EQ(words[key], "k" + words[0].substr(1));
      EXPECT_EQ(words[value], one.label);
      EXPECT_EQ(count_of(words, 'n') + 3, std::ssize(words));
      lengths.insert(words.size());
      ++labels[one.label];
    }
    EXPECT_EQ(labels.size(), 4u);
    for (const auto& [label, count] : labels) EXPECT_NEAR(count, 75, 30) << label;
    EXPECT_EQ(lengths, (std::set<size_t>{23, 24, 25, 26, 27, 28}));
  }
}

TEST(Retrieval, HidesThePairAmongOthers) {
  const Scratch scratch;
  RetrievalConfig c = small(scratch);
  c.pairs = 4;
  c.beyond = 8;
  std::map<int64_t, int> ranks;
  for (const Asking& one : written(c)) {
    const Words& words = one.words;
    EXPECT_EQ(std::ssize(words), count_of(words, 'n') + 9);
    ++ranks[count_of({words.begin(), words.end() - 23}, 'k')];
    std::map<std::string, std::string> values;
    for (size_t i = 0; i + 1 < words.size(); ++i)
      if (words[i][0] == 'k') {
        EXPECT_EQ(words[i + 1][0], 'v');
        EXPECT_TRUE(values.emplace(words[i], words[i + 1]).second) << "each key once";
      }
    EXPECT_EQ(values.size(), 4u);
    EXPECT_EQ(values["k" + words.back().substr(1)], one.label);
  }
  ASSERT_EQ(ranks.size(), 4u) << "the pair that is asked for is any of the four";
  for (const auto& [rank, count] : ranks) EXPECT_NEAR(count, 75, 30) << rank;
}

TEST(Retrieval, IsAPureFunctionOfTheSeed) {
  const Scratch scratch;
  RetrievalConfig c = small(scratch);
  c.vocabulary = scratch.file("vocab.txt");
  written(c);
  const std::string first = bytes_of_file(c.output);
  EXPECT_EQ(bytes_of_file(c.vocabulary),
            "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nk0\nk1\nk2\nk3\nq0\nq1\nq2\nq3\nv0\nv1\nv2\nv3\n"
            "n0\nn1\nn2\n");
  c.texts = 10;
  written(c);
  EXPECT_EQ(first.find(bytes_of_file(c.output)), 0u) << "fewer texts are the first ones";
  c.seed = 2;
  written(c);
  EXPECT_NE(first.find(bytes_of_file(c.output)), 0u);
}

TEST(Retrieval, RefusesWhatCannotBe) {
  const Scratch scratch;
  const auto refused = [&](const std::function<void(RetrievalConfig&)>& change, const char* text) {
    RetrievalConfig c = small(scratch);
    change(c);
    test::expect_error(ExitCode::usage, {text}, [&] { write_retrieval(c); });
  };
  refused([](auto& c) { c.pairs = 5; }, "retrieval.pairs=5; it is 1 to 4");
  refused([](auto& c) { c.pairs = 4; },
          "retrieval.pairs=4: all but one may stand on one side of that, 2 words each, which are "
          "more than retrieval.distance=20 or retrieval.beyond=5");
  refused([](auto& c) { c.values = 0; }, "retrieval.values=0; it is 1 to 65536");
  refused([](auto& c) { c.texts = 0; }, "retrieval.texts=0; it is 1 to 1099511627776");
}

}  // namespace
}  // namespace skein::data
