#include "skein/core/stored.h"

#include <atomic>
#include <gtest/gtest.h>
#include <stdexcept>
#include <thread>
#include <vector>

namespace skein {
namespace {

std::atomic<int> reads{0};

std::shared_ptr<const int> number_in(const std::string& text) {
  ++reads;
  return std::make_shared<const int>(std::stoi(text));
}

using Number = StoredText<int>;

TEST(StoredText, IsReadOnceForAllCopiesAndOnlyWhenAskedFor) {
  reads = 0;
  const Number number("42", number_in), copy = number;
  EXPECT_EQ(number.text(), "42");
  EXPECT_FALSE(number.empty());
  EXPECT_EQ(reads, 0);
  EXPECT_EQ(*copy, 42);
  EXPECT_EQ(number.value(), copy.value());
  EXPECT_EQ(reads, 1);
}

TEST(StoredText, IsReadOnceByManyThreads) {
  reads = 0;
  const Number number("7", number_in);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { EXPECT_EQ(*number, 7); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(reads, 1);
}

TEST(StoredText, ThatCannotBeReadSaysSoEachTime) {
  const Number none("no number", number_in);
  EXPECT_THROW(none.value(), std::invalid_argument);
  EXPECT_THROW(*none, std::invalid_argument);
  EXPECT_EQ(none.text(), "no number");
}

TEST(StoredText, OfAValueThatIsThereIsNotRead) {
  reads = 0;
  const Number number("42", std::make_shared<const int>(3));
  EXPECT_EQ(*number, 3);
  EXPECT_EQ(reads, 0);
}

TEST(StoredText, IsComparedByItsText) {
  const Number number("42", number_in);
  EXPECT_EQ(number, Number("42", number_in));
  EXPECT_FALSE(number == Number("042", number_in));
  EXPECT_TRUE(Number("", number_in).empty());
  Number left = number;
  const Number taken = std::move(left);
  EXPECT_EQ(left.text(), "42") << "nothing is taken away from what is copied";
  EXPECT_EQ(taken, number);
}

}  // namespace
}  // namespace skein
