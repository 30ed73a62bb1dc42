// Weights of attention as files: numbers in JSON, and a picture of each layer.
#pragma once

#include <string>
#include <vector>

#include "skein/train/attention/maps.h"

namespace skein::train {

// What was looked at in one text.
struct AttentionRecording {
  AttendedText text;
  std::vector<AttentionMap> maps;
};

// {"checkpoint": PATH, "step": N,
//  "heads": [{"block", "keys": "self" | "source", "head", "distance", "share", "entropy",
//             "queries"}],
//  "texts": [{"tokens": [...], "source": [...],
//             "layers": [{"block", "keys", "weights": [head][query][key]}]}]}
// Weights have six decimals; "source" is there for models that map one.
std::string attention_json(const TrainedModel& model,
                           const std::vector<AttentionHabits::Habit>& habits,
                           const std::vector<AttentionRecording>& recordings);

// A layer's heads side by side as SVG: queries below each other, keys beside each other. Where the
// keys are a source's, a query bears the name of the token that is predicted at it.
std::string attention_svg(const AttendedText& text, const AttentionMap& map);

// Makes the folder, if it must, and writes FOLDER/attention.json, and for text 1, 2, ... and each
// of its layers a picture FOLDER/text-1-block-0-self.svg. Returns their paths. option: that named
// the folder, for messages.
std::vector<std::string> write_attention(const std::string& option, const std::string& folder,
                                         const TrainedModel& model,
                                         const std::vector<AttentionHabits::Habit>& habits,
                                         const std::vector<AttentionRecording>& recordings);

// "block 3, source, head 2: ...", a line each.
std::string habit_text(const AttentionHabits::Habit& habit);

}  // namespace skein::train
