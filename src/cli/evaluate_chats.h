// `skein eval` of decoders on conversations.
#pragma once

#include <utility>

#include "command.h"
#include "skein/train/chat_data.h"

namespace skein {

// Collective. How well the model predicts the answers of the conversations in `files`, also told in the log: loss, perplexity,
// token_accuracy, and the numbers of tokens and conversations they are of. batch: rows a forward pass.
std::vector<std::pair<std::string, double>> evaluate_chats(const ChatDataConfig& config, const std::vector<std::string>& files, const Source& source,
                                                           const ParallelConfig& parallel, int64_t batch, Group& world);

}  // namespace skein
