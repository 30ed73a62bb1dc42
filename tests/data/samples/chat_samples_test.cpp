#include "skein/data/samples/chat_samples.h"

#include <random>

#include "data/data_fixtures.h"

namespace skein::data {
namespace {

using Ids = std::vector<int32_t>;
using SampleRows = std::vector<std::vector<int64_t>>;

// From a text: capitals are answers, digits their ends.
text::TemplatedChat chat(const std::string& text) {
  text::TemplatedChat made;
  for (char c : text) {
    made.tokens.push_back(c);
    made.answer.push_back(c < 'a');
  }
  return made;
}

ChatSamplesConfig plain(int64_t length, bool pack = true) {
  return {.length = length, .pack = pack, .pad = '.', .seed = 3, .shuffle = false};
}

std::string spelt_row(const Tensor& tensor, int64_t row) {
  std::string text;
  for (int64_t t = 0; t < tensor.dim(1); ++t)
    text += static_cast<char>(tensor.data<int32_t>()[row * tensor.dim(1) + t]);
  return text;
}

Ids numbers_of(const Tensor& tensor, int64_t row) {
  const int32_t* from = tensor.data<int32_t>() + row * tensor.dim(1);
  return {from, from + tensor.dim(1)};
}

TEST(PackedRows, GoWhereTheyFitBest) {
  EXPECT_EQ(packed_rows({5, 6, 3, 4, 2}, 10), (SampleRows{{0, 3}, {1, 2}, {4}}));
  EXPECT_EQ(packed_rows({10, 10}, 10), (SampleRows{{0}, {1}}));
  EXPECT_EQ(packed_rows({4, 4, 6}, 8), (SampleRows{{0, 1}, {2}}));
  EXPECT_EQ(packed_rows({7, 7, 3, 3}, 10), (SampleRows{{0, 2}, {1, 3}}))
      << "of equal rows the first";
  EXPECT_TRUE(packed_rows({}, 10).empty());
}

TEST(PackedRows, HoldEachOnceAndFillWell) {
  std::mt19937 random(5);
  std::vector<int64_t> lengths;
  int64_t tokens = 0;
  for (int i = 0; i < 3000; ++i)
    tokens +=
        lengths.emplace_back(1 + static_cast<int64_t>(random() % 60) * (random() % 4 == 0 ? 4 : 1));
  const SampleRows rows = packed_rows(lengths, 256);
  std::vector<int> seen(lengths.size());
  for (const auto& row : rows) {
    int64_t sum = 0;
    for (int64_t one : row)
      sum += lengths[static_cast<size_t>(one)], ++seen[static_cast<size_t>(one)];
    EXPECT_LE(sum, 256);
    EXPECT_TRUE(std::is_sorted(row.begin(), row.end()));
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), 3000);
  EXPECT_LT(static_cast<double>(rows.size()), 1.05 * static_cast<double>(tokens) / 256 + 1);
}

TEST(ChatSamples, FeedSeveralARowAndLearnAnswersOnly) {
  const ChatSamples samples({chat("abA1c"), chat("deBC2"), chat("fD3gE4")}, plain(8));
  ASSERT_EQ(samples.samples_per_epoch(), 2);
  const Batch batch = samples.batch(0, 2);
  EXPECT_EQ(spelt_row(batch.tokens, 0), "abAdeBC.");
  EXPECT_EQ(spelt_row(batch.tokens, 1), "fD3gE...");
  EXPECT_EQ(numbers_of(batch.positions, 0), (Ids{0, 1, 2, 0, 1, 2, 3, 0}));
  EXPECT_EQ(numbers_of(batch.segments, 0), (Ids{0, 0, 0, 1, 1, 1, 1, -1}));
  EXPECT_EQ(numbers_of(batch.places, 0), (Ids{1, 2, 4, 5, 6}));
  EXPECT_EQ(spelt_row(batch.targets, 0), "A1BC2");
  EXPECT_EQ(numbers_of(batch.places, 1), (Ids{0, 1, 3, 4, -1}));
  EXPECT_EQ(spelt_row(batch.targets, 1).substr(0, 4), "D3E4");
  const auto weights = batch.weights.span<float>();
  EXPECT_EQ(std::vector<float>(weights.begin(), weights.end()),
            (std::vector<float>{1, 1, 1, 1, 1, 1, 1, 1, 1, 0}));
  EXPECT_EQ(samples.counts().tokens, 12);
  EXPECT_EQ(samples.counts().answers, 9);
  EXPECT_EQ(samples.counts().left_out + samples.counts().shortened, 0);
}

// What is learnt of them is how they end, right after what asks for them.
TEST(ChatSamples, LearnTheEndsOfEmptyAnswers) {
  const auto bytes = text::byte_tokenizer();
  const std::vector<text::Message> silent{{"user", "hi"}, {"assistant", ""}},
      talk{{"user", "a"}, {"assistant", ""}, {"user", "b"}, {"assistant", "c"}};
  const text::ChatTemplate none("none", *bytes), shown("plain", *bytes);
  const ChatSamples samples({none.conversation(silent), none.conversation(talk)}, plain(6));
  EXPECT_EQ(samples.counts().left_out, 0);
  EXPECT_EQ(samples.counts().answers, 4);
  const Batch batch = samples.batch(0, 1);
  EXPECT_EQ(numbers_of(batch.tokens, 0), (Ids{'h', 'i', 'a', 256, 'b', 'c'}));
  EXPECT_EQ(numbers_of(batch.segments, 0), (Ids{0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(numbers_of(batch.places, 0), (Ids{1, 2, 4, 5}));
  EXPECT_EQ(numbers_of(batch.targets, 0), (Ids{256, 256, 'c', 256}));
  const auto asked = static_cast<int32_t>(shown.prompt(std::span(silent).first(1)).size());
  const ChatSamples marked({shown.conversation(silent)}, plain(40));
  EXPECT_EQ(numbers_of(marked.batch(0, 1).places, 0), Ids{asked - 1});
  EXPECT_EQ(numbers_of(marked.batch(0, 1).targets, 0), Ids{256});
}

TEST(ChatSamples, OneARowNeedsNoSegments) {
  const ChatSamples samples({chat("abA1"), chat("deBC2")}, plain(5, false));
  ASSERT_EQ(samples.samples_per_epoch(), 2);
  const Batch batch = samples.batch(0, 2);
  EXPECT_EQ(spelt_row(batch.tokens, 0), "abA..");
  EXPECT_EQ(spelt_row(batch.tokens, 1), "deBC.");
  EXPECT_FALSE(batch.segments.defined());
  EXPECT_EQ(padded_length({chat("abA1"), chat("deBC2")}, 8, 100), 8);
  EXPECT_EQ(padded_length({chat("abcdefghiA1")}, 8, 100), 16);
  EXPECT_EQ(padded_length({chat("abcdefghiA1")}, 8, 9), 9);
}

TEST(ChatSamples, KeepWholeAnswersOfWhatIsTooLong) {
  const std::vector<text::TemplatedChat> chats{chat("abA1cB2"), chat("abcABCD1"), chat("abcdefA1"),
                                               chat("aA1b")};
  const ChatSamples whole(chats, plain(5));
  EXPECT_EQ(whole.counts().chats, 4);
  EXPECT_EQ(whole.counts().left_out, 2) << "whose first answer does not end within the row";
  EXPECT_EQ(whole.counts().shortened, 1);
  EXPECT_EQ(spelt_row(whole.batch(0, 1).tokens, 0), "abAaA");
  EXPECT_EQ(spelt_row(whole.batch(0, 1).targets, 0), "A1A1");
  ChatSamplesConfig config = plain(5);
  config.longer = LongChats::cut;
  const ChatSamples cut(chats, config);
  EXPECT_EQ(cut.counts().left_out, 1) << "without any token of an answer";
  EXPECT_EQ(cut.counts().shortened, 2);
  EXPECT_EQ(spelt_row(cut.batch(0, 3).tokens, 0), "abA1c");
  EXPECT_EQ(spelt_row(cut.batch(0, 3).targets, 0), "A1B");
  EXPECT_EQ(spelt_row(cut.batch(0, 3).tokens, 1), "abcAB");
  EXPECT_EQ(spelt_row(cut.batch(0, 3).targets, 1), "ABC");
}

TEST(ChatSamples, OfLengthsThatJustFit) {
  EXPECT_EQ(ChatSamples({chat("abAB1")}, plain(4)).counts().shortened, 0)
      << "the end is only predicted";
  EXPECT_EQ(ChatSamples({chat("abAB1")}, plain(3)).counts().left_out, 1);
  EXPECT_EQ(ChatSamples({chat("abAB1")}, plain(3)).samples_per_epoch(), 0);
  EXPECT_EQ(ChatSamples({chat("1")}, plain(3)).counts().left_out, 1)
      << "nothing stands before its only token";
}

TEST(ChatSamples, AreShuffledByEpochAndPure) {
  std::vector<text::TemplatedChat> chats;
  for (char c = 'a'; c < 'u'; ++c) chats.push_back(chat(std::string(4, c) + "A1"));
  ChatSamplesConfig config = plain(5);
  config.shuffle = true;
  const ChatSamples samples(chats, config);
  const auto order = [&](int64_t epoch) {
    std::string text;
    for (int64_t i = 0; i < 20; ++i)
      text += spelt_row(samples.batch(epoch * 20 + i, 1).tokens, 0)[0];
    return text;
  };
  const std::string first = order(0), second = order(1);
  EXPECT_NE(first, second);
  EXPECT_EQ(first, order(0));
  std::string sorted = first;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, "abcdefghijklmnopqrst");
  const Batch some = samples.batch(7, 3);
  for (int64_t row = 0; row < 3; ++row)
    EXPECT_EQ(spelt_row(some.tokens, row)[0], first[static_cast<size_t>(7 + row)]);
  EXPECT_EQ(some.sample_ids.data<int64_t>()[2], 9);
}

TEST(ChatSamples, ChecksumsTellSamplesApart) {
  const auto sum = [](const std::vector<text::TemplatedChat>& chats, int64_t length) {
    return ChatSamples(chats, plain(length)).checksum();
  };
  const uint32_t one = sum({chat("abA1"), chat("cB2")}, 6);
  EXPECT_EQ(one, sum({chat("abA1"), chat("cB2")}, 6));
  EXPECT_NE(one, sum({chat("abA1"), chat("cB3")}, 6));
  EXPECT_NE(one, sum({chat("abA1"), chat("cB2")}, 4));
}

}  // namespace
}  // namespace skein::data
