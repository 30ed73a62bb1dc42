#include "skein/train/task_notes.h"

#include <gtest/gtest.h>

#include "skein/core/json.h"

namespace skein::train {
namespace {

TEST(TaskNotes, StayAsTheyAreStored) {
  const std::string text = R"({ "task": "mine", "b": 1, "a": 1.50 })";
  const TaskNotes notes(text);
  EXPECT_EQ(notes.text(), text);
  EXPECT_EQ(notes.text_of("task"), "mine");
  ASSERT_NE(notes.object(), nullptr);
  EXPECT_EQ(notes.object()->dump(), R"({"task":"mine","b":1,"a":1.5})") << "keys in their order";
  EXPECT_TRUE(notes == TaskNotes(text));
  EXPECT_FALSE(notes == TaskNotes(notes->dump()));
}

TEST(TaskNotes, OfATaskThatSaysNothingAreNoObject) {
  EXPECT_TRUE(TaskNotes().empty());
  for (const char* text : {"", "[1]", "3", "{", "\"task\""}) {
    EXPECT_EQ(TaskNotes(text).object(), nullptr) << text;
    EXPECT_EQ(TaskNotes(text).text_of("task"), "") << text;
  }
  EXPECT_EQ(TaskNotes(R"({"task": 3})").text_of("task"), "");
  EXPECT_EQ(TaskNotes("{}").text_of("task"), "");
  EXPECT_THROW(TaskNotes("{").value(), nlohmann::json::parse_error);
}

}  // namespace
}  // namespace skein::train
