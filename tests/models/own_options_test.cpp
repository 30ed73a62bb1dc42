#include "skein/models/own_options.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>

#include "skein/models/architecture.h"

namespace skein {
namespace {

struct Left {
  int number = 3;
};
struct Right {
  std::string text = "as it begins";
};

TEST(OwnOptions, StayWhereTheyAreAndAreCopiedByValue) {
  OwnOptions one, other;
  EXPECT_EQ(std::as_const(one).get<Left>().number, 3);
  Left* const left = &one.get<Left>();
  Right* const right = &one.get<Right>();
  left->number = 7, right->text = "changed";
  other.get<Left>().number = 9;
  one = other;
  EXPECT_EQ(&one.get<Left>(), left);
  EXPECT_EQ(&one.get<Right>(), right);
  EXPECT_EQ(left->number, 9);
  EXPECT_EQ(right->text, "as it begins");
  OwnOptions copy = one;
  copy.get<Left>().number = 1;
  EXPECT_EQ(left->number, 9);
  EXPECT_EQ(copy.get<Right>().text, "as it begins");
}

TEST(OwnOptions, OfHeadsAreAmongThoseOfTheirArchitecture) {
  size_t options_of_heads = 0;
  for (const Architecture* one : architectures()) {
    ModelConfig config;
    Options options("", "");
    one->bind(options, config);
    const auto own = options.values();
    for (const std::string& key : one->options_of_heads()) {
      ++options_of_heads;
      EXPECT_TRUE(std::any_of(own.begin(), own.end(), [&](const auto& option) {
        return option.first == key;
      })) << key;
    }
  }
  EXPECT_GT(options_of_heads, 0u);
}

}  // namespace
}  // namespace skein
