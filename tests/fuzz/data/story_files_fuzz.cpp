// Files of stories: what is read has words everywhere, and support that comes before its question.
#include <algorithm>

#include "skein/data/stories/story_files.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  static const skein::test::FuzzFile file("x_train.txt");
  file.write(input);
  for (const auto& story : skein::data::read_stories({.inputs = {file.path()}})) {
    for (const auto& words : story.sentences)
      if (words.empty()) std::abort();
    for (const auto& question : story.questions) {
      if (question.words.empty() || question.answer.empty()) std::abort();
      if (question.sentences > std::ssize(story.sentences)) std::abort();
      for (const int64_t sentence : question.support)
        if (sentence < 0 || sentence >= question.sentences) std::abort();
      if (!std::ranges::is_sorted(question.support)) std::abort();
    }
  }
}
