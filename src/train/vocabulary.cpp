#include "skein/train/vocabulary.h"

#include <algorithm>
#include <vector>

#include "skein/core/error.h"

namespace skein::train {

void check_vocabulary(const ModelConfig& model, const text::Tokenizer& tokenizer,
                      const std::string& advice) {
  require(model.vocab_size >= tokenizer.vocab_size(),
          "the model knows {} ids, but its tokenizer has {}{}", model.vocab_size,
          tokenizer.vocab_size(), advice);
}

void check_ids(std::span<const int32_t> text, const ModelConfig& model) {
  for (const int32_t id : text)
    require(id < model.vocab_size,
            "a text holds token {}, but the model knows {} ids and its tokenizer has more{}", id,
            model.vocab_size, kConvertAgain);
}

void check_ids(const data::TokenStore& store, const ModelConfig& model) {
  const int64_t known = model.vocab_size, all = store.info().tokens;
  if (store.info().vocab_size <= known) return;
  std::vector<int32_t> ids(size_t{1} << 16);
  for (int64_t at = 0; at < all; at += static_cast<int64_t>(ids.size())) {
    ids.resize(static_cast<size_t>(std::min<int64_t>(static_cast<int64_t>(ids.size()), all - at)));
    store.read(at, ids);
    const auto odd = std::ranges::find_if(ids, [&](int32_t id) { return id >= known; });
    require(odd == ids.end(),
            "token {} of the text is {}, but the model knows {} ids and its tokenizer has {}{}",
            at + (odd - ids.begin()), odd == ids.end() ? 0 : *odd, known, store.info().vocab_size,
            kConvertAgain);
  }
}

void check_store(const data::TokenStore& store, const TrainedModel& source) {
  check_ids(store, source.model);
  require(store.info().tokenizer == source.state.tokenizer,
          "{} was made with another tokenizer than the model's, or does not name its own; encode "
          "it again with the tokenizer of the training data, or name that with data.tokenizer",
          store.path());
}

}  // namespace skein::train
