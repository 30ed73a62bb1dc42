// How answers of imported encoder-decoders begin and end, and the way back.
#include <gtest/gtest.h>

#include "skein/convert/generation_config.h"

#include "convert/edited_golden.h"
#include "convert/fresh_run.h"

namespace skein::convert {
namespace {

using Json = nlohmann::json;
using test::imported;
using test::Scratch;
using test::small_bart;
using test::state_of;

ModelConfig model_of(const std::string& path) { return stored_model(state_of(path), path); }

train::AnswerForm answers_of(
    const std::string& name, const std::string& generation,
    const std::function<void(Json&)>& edit = [](Json&) {}) {
  Json config = Json::parse(test::bytes_of_file(test::golden(name) + "/config.json"));
  edit(config);
  return foreign_answers(config.dump(), generation, "here",
                         model_from_huggingface(config.dump(), "here", {}));
}

TEST(Answers, AreSaidByGenerationConfig) {
  const train::AnswerForm made = answers_of(
      "bart", R"({"decoder_start_token_id": 5, "forced_bos_token_id": 6, "forced_eos_token_id": [7],
                  "bad_words_ids": [[3], [1, 2], [30]]})");
  EXPECT_EQ(made, (train::AnswerForm{5, 6, 7, {3, 30}}));
  EXPECT_EQ(answers_of("bart", "{}"), (train::AnswerForm{2, -1, -1, {}}));
  EXPECT_EQ(answers_of("bart", ""), (train::AnswerForm{2, -1, 2, {}}));
  EXPECT_EQ(answers_of("t5", ""), (train::AnswerForm{0, -1, -1, {}}));
  EXPECT_EQ(answers_of("marian", R"({"bad_words_ids": [[30]]})"),
            (train::AnswerForm{30, -1, -1, {30}}));
}

// As transformers' generate: the class's own, then the token that begins texts.
TEST(Answers, BeginWithTheClassesTokenWhereNothingElseIsSaid) {
  const auto without = [](const std::string& name) {
    return answers_of(name, "",
                      [](Json& json) {
                        json.erase("decoder_start_token_id");
                        json.erase("forced_eos_token_id");
                      })
        .start;
  };
  EXPECT_EQ(without("bart"), 2);
  EXPECT_EQ(without("mbart"), 0);
  EXPECT_EQ(without("t5"), -1);
  EXPECT_EQ(without("marian"), -1) << "58100 is beyond the vocabulary";
}

TEST(Answers, OfNoSuchIdsAreRefused) {
  const auto is_refused = [](const std::string& generation,
                             std::initializer_list<std::string> words) {
    test::expect_error(ExitCode::usage, words, [&] { answers_of("bart", generation); });
  };
  is_refused(R"({"decoder_start_token_id": 31})",
             {"here/generation_config.json", "decoder_start_token_id", "31", "0 to 30"});
  is_refused(R"({"forced_bos_token_id": -1})", {"forced_bos_token_id", "-1", "0 to 30"});
  is_refused(R"({"forced_eos_token_id": [1, 2]})", {"forced_eos_token_id", "[1,2]"});
  is_refused(R"({"bad_words_ids": [[40]]})", {"bad_words_ids", "0 to 30"});
  is_refused(R"({"bad_words_ids": 3})", {"bad_words_ids", "list of lists"});
  is_refused("{", {"generation_config.json", "not JSON"});
}

TEST(Answers, ReachTheNotesAndTheExport) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "bart");
  test::write_file(folder + "/generation_config.json",
                   R"({"decoder_start_token_id": 5, "num_beams": 4})");
  const std::string path = imported(scratch, folder);
  const train::TaskNotes notes = state_of(path).notes;
  const train::AnswerForm wanted{5, -1, -1, {}};
  EXPECT_EQ(answer_form(notes, path), wanted);
  EXPECT_EQ(answer_form(train::TaskNotes(), path), train::AnswerForm());
  test::expect_error(ExitCode::usage, {"there", "answers", "damaged"}, [] {
    answer_form(train::TaskNotes(R"({"answers": {"start": 1}})"), "there");
  });
  train::RunState state;
  state.notes = with_answers(train::TaskNotes(R"({"task": "seq2seq"})"), {3, 4, 5, {6}});
  EXPECT_EQ(state.notes.text_of("task"), "seq2seq");
  test::save_fresh(scratch.file("fresh"), small_bart(), 1, state);
  test::export_folder(scratch.file("fresh"), scratch.file("out"));
  const Json config = Json::parse(test::bytes_of_file(scratch.file("out") + "/config.json")),
             generation =
                 Json::parse(test::bytes_of_file(scratch.file("out") + "/generation_config.json"));
  EXPECT_EQ(config["decoder_start_token_id"], 3);
  for (const Json& json : {config, generation}) {
    EXPECT_EQ(json["forced_bos_token_id"], 4);
    EXPECT_EQ(json["forced_eos_token_id"], 5);
  }
  EXPECT_EQ(generation["bad_words_ids"], Json::parse("[[6]]"));
  const std::string back = test::import_folder(scratch.file("out"), scratch.file("back"));
  EXPECT_EQ(answer_form(state_of(back).notes, back), answer_form(state.notes, back));
}

// What a run has changed is brought up to date, and the rest stays.
TEST(Answers, OfATrainedModelReplaceTheImports) {
  const Scratch scratch;
  const std::string path = imported(scratch, test::golden("bart"));
  train::RunState state = state_of(path);
  state.step = 7;
  state.notes = with_answers(train::TaskNotes(), {5, -1, -1, {}});
  test::save_fresh(scratch.file("on"), model_of(path), 1, state);
  test::export_folder(scratch.file("on"), scratch.file("out"));
  const Json config = Json::parse(test::bytes_of_file(scratch.file("out") + "/config.json")),
             generation =
                 Json::parse(test::bytes_of_file(scratch.file("out") + "/generation_config.json"));
  EXPECT_EQ(config["decoder_start_token_id"], 5);
  EXPECT_EQ(generation["decoder_start_token_id"], 5);
  EXPECT_EQ(generation["transformers_version"], "5.23.0");
}

}  // namespace
}  // namespace skein::convert
