// Text that is encoded for one evaluation.
#include "skein/train/text_store.h"

#include <gtest/gtest.h>

#include "data/data_fixtures.h"
#include "text/begun_tokenizer.h"

namespace skein::train {
namespace {

using namespace test;

TrainedModel model(data::PairTask pairs) {
  TrainedModel made;
  made.state.tokenizer = text::StoredTokenizer(text::byte_tokenizer());
  made.mlm.pairs = pairs;
  return made;
}

TEST(TextStores, HoldTheTextAsTheModelReadsIt) {
  const Scratch scratch;
  write_file(scratch.file("a.txt"), "It rained. We left.\n\nNobody knows.\n");
  std::string path;
  {
    const TextStore made(scratch.file("a.txt"), model(data::PairTask::none));
    path = made.path();
    const data::TokenStore store(path);
    EXPECT_EQ(store.info().tokenizer.text(), text::byte_tokenizer()->to_json());
    EXPECT_EQ(store.documents().size(), 2u) << "one document";
    EXPECT_EQ(store.info().sentences, 0);
    const std::vector<int32_t> tokens = all_tokens(store);
    EXPECT_EQ(text::byte_tokenizer()->decode(tokens).substr(0, 19), "It rained. We left.");
  }
  EXPECT_FALSE(std::filesystem::exists(path)) << "nobody else sees the text";
  EXPECT_EQ(scratch.entries(), 1);
}

TEST(TextStores, OfAModelThatLearntPairsHaveSentences) {
  const Scratch scratch;
  write_file(scratch.file("a.txt"), "It rained. We left.\n\nNobody knows.\n");
  const TextStore made(scratch.file("a.txt"), model(data::PairTask::next));
  const data::TokenStore store(made.path());
  EXPECT_EQ(store.documents().size(), 3u) << "each paragraph is a document";
  EXPECT_EQ(store.info().sentences, 3);
}

TEST(TextStores, OfAnImportBeginEachDocumentAsItsTokenizerAsks) {
  const Scratch scratch;
  write_file(scratch.file("a.jsonl"),
             "{\"text\": \"a b\"}\n{\"text\": \" \"}\n{\"text\": \"b\"}\n");
  TrainedModel source = model(data::PairTask::none);
  source.state.tokenizer = begun_tokenizer();
  source.state.imported = R"({"source":"there"})";
  const TextStore made(scratch.file("a.jsonl"), source);
  EXPECT_EQ(all_tokens(data::TokenStore(made.path())), (std::vector<int32_t>{0, 2, 3, 1, 0, 3, 1}));
}

TEST(TextStores, NeedText) {
  const Scratch scratch;
  expect_error(ExitCode::usage, {scratch.file("none.txt")},
               [&] { TextStore(scratch.file("none.txt"), model(data::PairTask::none)); });
}

}  // namespace
}  // namespace skein::train
