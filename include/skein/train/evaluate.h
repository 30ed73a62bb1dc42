// How well a model predicts held-out text.
#pragma once

#include <string>

#include "skein/data/samples/loader.h"
#include "skein/train/task.h"

namespace skein::train {

struct EvalConfig {
  int64_t windows = 0;  // of the store, evenly spread; 0: all
  // tokens a window scores, with context - stride tokens before them; 0: all of them, without
  // overlap
  int64_t stride = 0;
  // no option: what a window does not score is its prefix, for models that read prompts both ways;
  // a stride of 0 is then half of the window
  bool prefix = false;
};

struct Evaluation {
  double nats = 0;     // sum over the tokens that count
  int64_t tokens = 0;  // that count
  // of text that these tokens stand for; 0 if unknown, and bits_per_byte() is then to be left out
  int64_t bytes = 0;
  double loss() const;           // nats a token
  double perplexity() const;     // exp(loss)
  double bits_per_byte() const;  // nats / ln 2 / bytes: comparable between tokenizers
  std::string text() const;      // "loss 2.31, perplexity 10.1, 1.93 bits per byte"
};

// Collective. Every token of the loader's stores but the first of each, once (or the windows asked
// for), in windows of the model's context. model.batch: windows a forward pass. The same bits at
// every data- and pipeline-parallel layout. May be interrupted at model.meeting.
Evaluation evaluate_windows(const EvaluatedModel& model, const EvalConfig& config,
                            const data::Loader& loader, const data::DataConfig& data,
                            int64_t context);

}  // namespace skein::train
