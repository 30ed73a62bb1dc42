// What a Hugging Face folder says of conversations and of answers' ends.
#include <gtest/gtest.h>

#include "skein/convert/decoding_advice.h"
#include "skein/convert/export.h"
#include "skein/convert/generation_config.h"
#include "skein/convert/tokenizer_files.h"
#include "skein/core/json.h"

#include "convert/fresh_run.h"
#include "text/begun_tokenizer.h"

namespace skein::convert {
namespace {

using Json = nlohmann::json;
using test::Scratch;

// <s> begins texts, </s> ends them, <end> ends turns.
constexpr char kChatTokenizer[] = R"({"version": "1.0", "added_tokens": [
    {"id": 0, "content": "<s>", "special": true, "normalized": false},
    {"id": 1, "content": "<pad>", "special": true, "normalized": false},
    {"id": 2, "content": "</s>", "special": true, "normalized": false},
    {"id": 4, "content": "<end>", "special": true, "normalized": false}],
  "normalizer": null, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
  "model": {"type": "WordLevel", "vocab": {"<s>": 0, "<pad>": 1, "</s>": 2, "a": 3, "<end>": 4}, "unk_token": "a"}})";

train::RunState chat_state(const std::string& end) {
  train::RunState state;
  state.step = 1;
  state.tokenizer = text::StoredTokenizer(text::tokenizer_from_json(kChatTokenizer)->to_json());
  state.notes = train::TaskNotes(fmt::format(
      R"({{"task": "sft", "template": {{"prefix": "{{bos}}", "user": {{"open": "a"}},
          "assistant": {{"close": "{}"}}, "end": "{}"}}}})",
      end, end));
  return state;
}

std::map<std::string, std::string> exported(const Scratch& scratch, const ModelConfig& model,
                                            const train::RunState& state) {
  test::save_fresh(scratch.file("run"), model, 1, state);
  test::export_folder(scratch.file("run"), scratch.file("out"));
  return test::files_of(scratch.file("out"));
}

TEST(Handover, GivesConversationsTheirTemplate) {
  const Scratch scratch;
  const auto files = exported(scratch, test::small_model(), chat_state("<end>"));
  EXPECT_TRUE(files.at("chat_template.jinja").starts_with("{{ '<s>' }}{% for message in messages"))
      << files.at("chat_template.jinja");
  const Json generation = Json::parse(files.at("generation_config.json"));
  EXPECT_EQ(
      generation,
      (Json{
          {"bos_token_id", 0}, {"eos_token_id", {2, 4}}, {"pad_token_id", 1}, {"max_length", 8}}));
  EXPECT_EQ(Json::parse(files.at("config.json"))["eos_token_id"], 2);
}

TEST(Handover, SaysOneEndWhereTurnsEndAsTextsDo) {
  const Scratch scratch;
  const auto files = exported(scratch, test::small_model(), chat_state("{eos}"));
  EXPECT_EQ(Json::parse(files.at("generation_config.json"))["eos_token_id"], 2);
}

TEST(Handover, SaysHowTextsEndOfModelsThatWriteThem) {
  for (const bool classifies : {false, true}) {
    const Scratch scratch;
    ModelConfig model = test::small_model();
    if (classifies) {
      model.head = Head::sequence;
      model.labels = 3;
    }
    train::RunState state = chat_state("<end>");
    state.notes = {};
    const auto files = exported(scratch, model, state);
    EXPECT_EQ(files.contains("generation_config.json"), !classifies);
    EXPECT_FALSE(files.contains("chat_template.jinja"));
  }
  const Scratch scratch;
  train::RunState state = chat_state("<end>");
  state.notes = train::TaskNotes(R"({"task": "seq2seq", "start": "<s>"})");
  const auto files = exported(scratch, test::small_bart(), state);
  EXPECT_EQ(Json::parse(files.at("generation_config.json")), (Json{{"decoder_start_token_id", 0},
                                                                   {"bos_token_id", 0},
                                                                   {"eos_token_id", 2},
                                                                   {"pad_token_id", 1},
                                                                   {"max_length", 8}}));
}

// Which other programs put there.
TEST(Handover, WarnsOfTokensAroundTextsThatTrainingHadNot) {
  const Scratch scratch;
  train::RunState state;
  state.step = 1;
  state.tokenizer = test::begun_tokenizer();
  test::save_fresh(scratch.file("run"), test::small_model(), 1, state);
  log::set_level(log::Level::warn);
  testing::internal::CaptureStderr();
  Export(scratch.file("run"), Form::huggingface, {}).run(scratch.file("out"), {});
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find(R"(puts "<s>" before a text and "" behind it, which training here did not)"),
            std::string::npos)
      << told;
}

TEST(Handover, BringsAnImportsFilesUpToDate) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "gpt2");
  test::write_file(folder + "/tokenizer.json", kChatTokenizer);
  test::write_file(folder + "/tokenizer_config.json",
                   R"({"chat_template": "old", "eos_token": "</s>"})");
  test::write_file(folder + "/generation_config.json", R"({"eos_token_id": [2, 3], "top_k": 7})");
  const std::string path = test::import_folder(folder, scratch.file("imported"));
  train::RunState state = chat_state("<end>");
  state.imported = test::state_of(path).imported;
  const auto files = exported(scratch, test::model_of(path), state);
  EXPECT_EQ(
      Json::parse(files.at("generation_config.json")),
      (Json{{"eos_token_id", {2, 3, 4}}, {"top_k", 7}, {"bos_token_id", 0}, {"pad_token_id", 1}}));
  EXPECT_EQ(Json::parse(files.at("tokenizer_config.json")), (Json{{"eos_token", "</s>"}}));
  EXPECT_TRUE(files.at("chat_template.jinja").starts_with("{{ '<s>' }}"));
}

TEST(Handover, KeepsASettingsTextThatStillSaysTheSame) {
  const ModelConfig model = test::small_model();
  const std::string before = R"({"bos_token_id":0,  "eos_token_id":[4,2]})";
  EXPECT_EQ(generation_config(model, {-1, 0, 2, -1, 4}, before), before);
  EXPECT_EQ(Json::parse(generation_config(model, {-1, -1, 2}, R"({"max_length": 5})")),
            (Json{{"max_length", 5}, {"bos_token_id", 2}, {"eos_token_id", 2}}));
  test::expect_error(ExitCode::usage, {"generation_config.json", "array"},
                     [&] { generation_config(model, {}, "[]"); });
}

TEST(Handover, TellsOfSeveralEndsThatAnImportAsksFor) {
  const ModelConfig model = test::small_model();
  EXPECT_EQ(decoding_advice(R"({"eos_token_id": [2, 4]})", "here", model).others,
            std::vector<std::string>{"eos_token_id=[2,4]"});
  EXPECT_TRUE(decoding_advice(R"({"eos_token_id": [2]})", "here", model).others.empty());
}

TEST(Handover, RefusesATokenizersSettingsThatAreNone) {
  std::map<std::string, std::string> files{{"tokenizer_config.json", "{"}};
  test::expect_error(ExitCode::usage, {"tokenizer_config.json", "not JSON"},
                     [&] { put_chat_template("x", files); });
}

TEST(Handover, ATemplateTakesThePlaceOfAllThatAnImportHad) {
  std::map<std::string, std::string> files{{"additional_chat_templates/rag.jinja", "old"},
                                           {"chat_template.jinja", "old"}};
  put_chat_template("x", files);
  EXPECT_EQ(files, (std::map<std::string, std::string>{{"chat_template.jinja", "x"}}));
}

}  // namespace
}  // namespace skein::convert
