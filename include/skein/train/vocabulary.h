// Ids that a model does not know: its tokenizer, or that of its data, may have more of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "skein/data/stores/store.h"
#include "skein/models/config.h"
#include "skein/train/trained_model.h"

namespace skein::train {

// A usage error where the tokenizer has more ids than the model knows. advice: what to do about it,
// behind what is wrong.
void check_vocabulary(const ModelConfig& model, const text::Tokenizer& tokenizer,
                      const std::string& advice = "");
// What to do where that is the tokenizer of a model from elsewhere.
inline constexpr char kConvertAgain[] = "; convert it again with its own (--tokenizer)";

// A usage error for a token of a text that the model does not know.
void check_ids(std::span<const int32_t> text, const ModelConfig& model);
// The same of all tokens of a store, with the position of the token. Reads none where the store's
// vocabulary is no larger than the model's.
void check_ids(const data::TokenStore& store, const ModelConfig& model);

// A usage error unless the store was made with the model's tokenizer, and holds no token that the
// model does not know.
void check_store(const data::TokenStore& store, const TrainedModel& source);

}  // namespace skein::train
