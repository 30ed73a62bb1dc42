// What a model that maps sources writes for them, and how near that is to what was wanted.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "skein/core/values.h"
#include "skein/generate/generator.h"
#include "skein/models/config.h"
#include "skein/text/scores/metrics.h"
#include "skein/train/tasks/pair_data.h"

namespace skein::train {

struct DecodingConfig {
  generate::BeamConfig beam;  // without beams the likeliest token is taken each time
  int64_t batch = 16;         // rows decoded together
};

// Collective. A text for each of `wanted.prompts`, the same at every data- and pipeline-parallel
// layout and batch. config: of the model. May be interrupted at model.meeting.
std::vector<std::string> decoded_texts(const EvaluatedModel& model, const ModelConfig& config,
                                       const PairReading& reading, const WantedTexts& wanted,
                                       const DecodingConfig& how);

// The metrics that training is told by, as text::make_metric names them: all but ter, of which less
// is better.
std::vector<std::string> training_metrics();

struct TextScores {
  NamedValues values;  // bleu, chrf, rouge1, ...
  // of each metric what its numbers can be compared by, under its name in options
  std::vector<std::pair<std::string, std::string>> signatures;

  // "bleu 27.31, chrf 50.12"
  std::string text() const;
};

// metrics: names as text::make_metric has them.
TextScores score_texts(const std::vector<std::string>& hypotheses, const WantedTexts& wanted,
                       const std::vector<std::string>& metrics,
                       const text::MetricOptions& options = {});

// A JSON object a line, {"source": ..., "hypothesis": ..., "reference": ...}, as `skein-data score`
// reads them; several references are a list. Bytes that are no UTF-8 become U+FFFD.
std::string texts_as_jsonl(const std::vector<std::string>& hypotheses, const WantedTexts& wanted);

}  // namespace skein::train
