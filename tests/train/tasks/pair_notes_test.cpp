// What checkpoints say of pairs.
#include "skein/train/tasks/pair_notes.h"

#include <gtest/gtest.h>

#include "skein/core/error.h"

#include "data/masked_fixtures.h"
#include "support/expect_error.h"

namespace skein::train {
namespace {

TrainedModel trained(const PairNotes& notes, const std::string& tokenizer) {
  TrainedModel model;
  model.info.path = "runs/x";
  model.state.notes = to_notes(notes);
  model.state.tokenizer = text::StoredTokenizer(tokenizer);
  return model;
}

TEST(PairNotes, ComeBackAsTheyWere) {
  PairNotes notes{.task = kPairTask,
                  .start = "</s>",
                  .options = {{"task.prefix", "summarize: "}, {"task.source_length", "96"}},
                  .source_tokenizer = text::StoredTokenizer(text::byte_tokenizer()->to_json()),
                  .metric = "bleu"};
  const PairNotes back = pair_notes(to_notes(notes), "runs/x");
  EXPECT_EQ(back.task, "seq2seq");
  EXPECT_EQ(back.start, notes.start);
  EXPECT_EQ(back.options, notes.options);
  EXPECT_EQ(back.option("task.source_length"), "96");
  EXPECT_EQ(back.option("task.label"), "");
  EXPECT_EQ(back.source_tokenizer, notes.source_tokenizer);
  EXPECT_EQ(back.metric, "bleu");
}

TEST(PairNotes, OfOtherTasksHaveLittleToSay) {
  EXPECT_EQ(pair_notes({}, "runs/x").task, "");
  const PairNotes sft = pair_notes(TaskNotes(R"({"task": "sft", "template": {}})"), "runs/x");
  EXPECT_EQ(sft.task, "sft");
  EXPECT_EQ(sft.start, "");
  EXPECT_TRUE(sft.source_tokenizer.empty());
}

TEST(PairNotes, DamagedOnesAreRefusedByName) {
  for (const char* notes : {"{\"start\": 3}", "{\"pairs\": [1]}", "{\"pairs\": {\"task.text\": 1}}",
                            "{\"metric\": [1]}", "[1]", "{\"source_tokenizer\": {}}"})
    test::expect_error(ExitCode::usage, {"runs/x"},
                       [&] { pair_notes(TaskNotes(notes), "runs/x"); });
}

TEST(PairNotes, TokensAreSpeltAsTheVocabularyHasThem) {
  const auto tokenizer = text::tokenizer_from_json(test::small_wordpiece(2));
  EXPECT_EQ(spelling(*tokenizer, test::kPad), "[PAD]");
  EXPECT_EQ(spelling(*tokenizer, 65), "<extra_id_0>");
  EXPECT_EQ(spelling(*tokenizer, 20), "") << "a space before the word is none of its text";
  EXPECT_EQ(spelling(*tokenizer, 1000), "");
  EXPECT_EQ(spelling(*text::byte_tokenizer(), 'a'), "a");
  EXPECT_EQ(spelling(*text::byte_tokenizer(), -1), "");
  EXPECT_EQ(tokenizer->id_of(spelling(*tokenizer, test::kSep)), test::kSep);
}

TEST(PairNotes, SayWhatADecoderIsFedFirstOrNobodyDoes) {
  const std::string words = test::small_wordpiece(2);
  const TrainedModel own = trained({.task = kPairTask}, words),
                     named = trained({.task = "denoising", .start = "[SEP]"}, words),
                     imported = trained({.start = "[CLS]"}, words), silent = trained({}, words);
  EXPECT_EQ(decoder_start(own, "", "x"), "") << "the usual one";
  EXPECT_EQ(decoder_start(named, "", "x"), "[SEP]");
  EXPECT_EQ(decoder_start(imported, "", "x"), "[CLS]");
  EXPECT_EQ(decoder_start(named, "[PAD]", "x"), "[PAD]");
  EXPECT_EQ(decoder_start(silent, "[PAD]", "x"), "[PAD]");
  test::expect_error(
      ExitCode::usage,
      {"runs/x does not say which token its decoder is fed", "name it in task.start"},
      [&] { decoder_start(silent, "", "task.start"); });
  test::expect_error(ExitCode::usage, {"attend.start=\"<none>\" is no token"},
                     [&] { decoder_start(named, "<none>", "attend.start"); });
}

TEST(PairNotes, SourcesHaveTheTokenizerOfTheCheckpointOrTheirOwn) {
  const std::string bytes = text::byte_tokenizer()->to_json(), words = test::small_wordpiece();
  const data::PairTokenizers one = pair_tokenizers(trained({}, words));
  EXPECT_EQ(one.source, one.target);
  EXPECT_EQ(one.target->vocab_size(), 64);
  const data::PairTokenizers two =
      pair_tokenizers(trained({.source_tokenizer = text::StoredTokenizer(bytes)}, words));
  EXPECT_EQ(two.source->vocab_size(), 257);
  EXPECT_EQ(two.target->vocab_size(), 64);
  EXPECT_THROW(pair_tokenizers(trained({}, "")), Error);
}

}  // namespace
}  // namespace skein::train
