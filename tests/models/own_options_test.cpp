#include "skein/models/own_options.h"

#include <gtest/gtest.h>
#include <string>

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

}  // namespace
}  // namespace skein
