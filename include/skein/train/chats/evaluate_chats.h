// How well a decoder does on conversations.
#pragma once

#include <string>
#include <vector>

#include "skein/core/values.h"
#include "skein/parallel/layout.h"
#include "skein/train/chats/sft.h"
#include "skein/train/trained_model.h"

namespace skein::train {

struct ChatEvalConfig {
  ChatDataConfig chat;
  SftTaskConfig rows;
};

void bind(Options& options, ChatEvalConfig& config);

struct ChatEvaluation {
  const ChatEvalConfig& config;
  // that config is bound to: rows that were not asked for are those of the training
  Options& options;
  const std::vector<std::string>& files;
  const TrainedModel& source;
  const ParallelConfig& parallel;
  int64_t batch = 1;  // rows a forward pass
};

// Collective. Returns, and logs, how well the model predicts the answers of the conversations in
// the files: loss, perplexity, token_accuracy, and the numbers of tokens and conversations that
// these are of.
NamedValues evaluate_chats(const ChatEvaluation& asked, Group& world);

}  // namespace skein::train
