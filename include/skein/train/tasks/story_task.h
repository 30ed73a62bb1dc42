// Models that read stories learn to answer questions about them, from stores of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/data/stories/story_samples.h"
#include "skein/train/config.h"
#include "skein/train/task.h"
#include "skein/train/tasks/label_scores.h"

namespace skein::train {

struct StoryTaskConfig {
  double empty = 0.1;  // in training, up to so many moments without a sentence for each sentence
};
// Binds section "stories".
void bind(Options& options, StoryTaskConfig& config);

// Opens stores of stories: "path" or "weight:path" each. A usage error for stores of another
// vocabulary than the first, or, where there are some, than these words, which
// are `whose`.
data::StoryBlend open_stories(const std::vector<std::string>& entries,
                              const std::vector<std::string>& words = {},
                              const std::string& whose = "");

// Makes the task for the model that run.model describes. Reads data.train and data.validation, and
// fills in what the data say of the model: its vocabulary, its answers, its context.
std::unique_ptr<Task> story_task(PretrainConfig& run, const StoryTaskConfig& config);

// Loss, accuracy, the error of each task and their mean; quality is the accuracy. samples: not
// shuffled. Values are named without a prefix.
Scores story_scores(const data::StorySamples& samples, const LabelAnswers& answers);

}  // namespace skein::train
