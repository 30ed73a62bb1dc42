// What the tests of stories share.
#pragma once

#include <string>
#include <vector>

#include "skein/data/stories/story_store.h"

#include "data/data_fixtures.h"

namespace skein::test {

inline constexpr const char* kTwoStories =
    "1 Mary moved to the bathroom.\n"
    "2 John went to the hallway.\n"
    "3 Where is Mary? \tbathroom\t1\n"
    "4 Mary took the apple, John's milk.\n"
    "5 What is Mary carrying?\tapple,Milk\t4 1 4\r\n"
    "\n"
    "1 It rains.\n"
    "7 What now?\tyes\n";

// The stories of a file of that name.
inline std::vector<data::Story> stories_of(const std::string& text,
                                           const std::string& name = "qa1_facts_train.txt") {
  const Scratch scratch;
  write_file(scratch.file(name), text);
  return data::read_stories({.inputs = {scratch.file(name)}});
}

}  // namespace skein::test
