// Ids that a model does not know.
#include "skein/train/vocabulary.h"

#include <gtest/gtest.h>

#include "skein/core/error.h"

#include "train/train_fixture.h"

namespace skein::train {
namespace {

ModelConfig with_ids(int64_t ids) {
  ModelConfig model;
  model.vocab_size = ids;
  return model;
}

// A store of 300 ids with the token 280 at position 70,000.
std::string odd_store(const test::Scratch& folder) {
  data::TokenStoreWriter writer(folder.file("odd.h5"), 300, -1, text::byte_tokenizer()->to_json());
  std::vector<int32_t> document(70'001, 7);
  document.back() = 280;
  writer.add_document(document, 1);
  writer.finish();
  return folder.file("odd.h5");
}

TEST(Vocabulary, OfAModelHoldsThatOfItsTokenizer) {
  check_vocabulary(with_ids(257), *text::byte_tokenizer());
  check_vocabulary(with_ids(300), *text::byte_tokenizer());
  EXPECT_EQ(refusal_of([] { check_vocabulary(with_ids(256), *text::byte_tokenizer()); }),
            "the model knows 256 ids, but its tokenizer has 257");
  EXPECT_EQ(
      refusal_of([] { check_vocabulary(with_ids(256), *text::byte_tokenizer(), kConvertAgain); }),
      "the model knows 256 ids, but its tokenizer has 257; convert it again with its own "
      "(--tokenizer)");
}

TEST(Vocabulary, HoldsEveryTokenOfAText) {
  const std::vector<int32_t> text{3, 256, 255};
  check_ids(text, with_ids(257));
  check_ids({}, with_ids(1));
  EXPECT_EQ(refusal_of([&] { check_ids(text, with_ids(256)); }),
            "a text holds token 256, but the model knows 256 ids and its tokenizer has more; "
            "convert it again with its own (--tokenizer)");
}

TEST(Vocabulary, HoldsEveryTokenOfAStore) {
  const test::Scratch folder;
  const data::TokenStore store(odd_store(folder));
  check_ids(store, with_ids(300));
  check_ids(store, with_ids(281));
  EXPECT_EQ(refusal_of([&] { check_ids(store, with_ids(280)); }),
            "token 70000 of the text is 280, but the model knows 280 ids and its tokenizer has "
            "300; convert it again with its own (--tokenizer)");
}

TEST(Vocabulary, OfAStoreIsThatOfTheModel) {
  const test::Scratch folder;
  const data::TokenStore store(odd_store(folder));
  TrainedModel source;
  source.model = with_ids(300);
  source.state.tokenizer = text::StoredTokenizer(text::byte_tokenizer());
  check_store(store, source);
  source.state.tokenizer = {};
  const std::string text = refusal_of([&] { check_store(store, source); });
  EXPECT_NE(text.find("odd.h5 was made with another tokenizer than the model's"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace skein::train
