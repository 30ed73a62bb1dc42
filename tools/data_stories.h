// skein-data on stories: stores of them, and what one holds.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "skein/core/log.h"
#include "skein/core/options/options.h"
#include "skein/core/options/program.h"
#include "skein/data/stories/story_store.h"

#include "data_graphs.h"
#include "data_options.h"

namespace skein {

inline void run_stories(const std::vector<std::string>& arguments) {
  data::StoryStoreConfig config;
  bool quiet = false;
  Options options("skein-data stories",
                  "Makes a store of stories and questions about them. The INPUTs are files of "
                  "numbered lines as the bAbI tasks have them, archives or folders of these.");
  bind(options, config);
  add_replace(options, config.replace);
  options.add("run.quiet", quiet, "no summary");
  if (!parsed(options, arguments)) return;
  config.files.inputs = options.words();
  const data::StoryCounts made = write_stories(config);
  if (quiet) return;
  log::info(
      "{}: {} questions{} about {} stories{}", config.output, made.questions,
      made.held_out > 0 ? fmt::format(", {} more in {},", made.held_out, config.validation) : "",
      made.stories,
      made.words > 0 ? fmt::format(" of {} tasks, {} words", made.tasks, made.words) : "");
  if (made.unknown_words + made.unknown_answers > 0)
    log::warn("{} words and {} answers are not in {} (stories.vocabulary) and become {}",
              made.unknown_words, made.unknown_answers, config.vocabulary, data::kUnknownWord);
}

inline void show_stories(const std::shared_ptr<const data::Records>& records) {
  const data::StoryRecords stories(records);
  Spread sentences, words, support;
  int64_t most = 0;
  for (int64_t i = 0; i < stories.count(); ++i) {
    const data::StoryRecord one = stories.record(i);
    sentences.add(one.sentences());
    support.add(std::ssize(one.support));
    for (int64_t s = 0; s + 1 < std::ssize(one.starts); ++s)
      words.add(one.starts[s + 1] - one.starts[s]);
    if (!one.support.empty()) most = std::max(most, one.sentences() - one.support.front());
  }
  fmt::print("sentences     {}\n", sentences.text());
  fmt::print("words         {}\n", words.text());
  fmt::print("support       {}; the farthest {} sentences back\n", support.text(), most);
}

}  // namespace skein
