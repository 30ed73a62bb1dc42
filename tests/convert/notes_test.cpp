// What a checkpoint keeps of its import is not believed, and does not outlive what replaces it.
#include "skein/convert/notes.h"

#include <gtest/gtest.h>

#include "skein/core/json.h"
#include "skein/text/tokenizer.h"

#include "convert/fresh_run.h"

namespace skein::convert {
namespace {

using Json = nlohmann::json;
using test::expect_error;
using test::Scratch;

std::string notes_with(const std::string& key, const Json& value) {
  Json json{{"source", "x"},
            {"config", ""},
            {"texts", Json::object()},
            {"weights", Json::object()},
            {"sums", Json::object()}};
  json[key] = value;
  return json.dump();
}

TEST(Notes, NameNoFilesElsewhere) {
  const auto refused = [](const std::string& key, const std::string& name,
                          const std::string& reason) {
    train::RunState state;
    state.imported = notes_with(
        key, {{name, key == "texts" ? Json("text") : Json::array({"transformer.wte.weight"})}});
    expect_error(ExitCode::usage, {"here", name.substr(0, name.find('\0')), reason},
                 [&] { import_notes(state, "here"); });
  };
  for (const std::string name :
       {"../escaped", "/etc/escaped", "a/b", "", ".", "..", "tokenizer.json/x", ".bashrc",
        "config.json", "model.safetensors", "additional_chat_templates/../x.jinja",
        "additional_chat_templates/x", "additional_chat_templates/"})
    refused("texts", name, "which is none of generation_config.json");
  for (const std::string name : {"../escaped", "/etc/escaped", "a/b", "", ".", "..", "config.json",
                                 "vocab.txt", "model.safetensors.index.json"})
    refused("weights", name, "no name for a file of weights");
  refused("weights", std::string("a\0b", 3), "no name for a file of weights");
}

TEST(Notes, ThatWouldEscapeLeaveNothingBehind) {
  for (const char* key : {"texts", "weights"}) {
    const Scratch scratch;
    train::RunState state;
    state.imported = notes_with(
        key,
        {{"../escaped",
          key == std::string("texts") ? Json("text") : Json::array({"transformer.wte.weight"})}});
    test::save_fresh(scratch.file("run"), test::small_model(), 1, state);
    expect_error(ExitCode::usage, {"run", "../escaped"},
                 [&] { test::export_folder(scratch.file("run"), scratch.file("out")); });
    EXPECT_EQ(scratch.entries(), 1) << key;
  }
}

TEST(Notes, NestedTooDeepAreRefused) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  expect_error(ExitCode::usage, {"here", "nested deeper"},
               [&] { train::run_state(R"({"step": 0, "imported": )" + deep + "}", "here"); });
  train::RunState state;
  state.notes = train::TaskNotes(R"({"task": "sft", "template": {"a": )" + std::string(10, '[') +
                                 std::string(10, ']') + "}}");
  EXPECT_EQ(train::run_state(to_json(state, {}), "here").notes, state.notes);
  state.notes = train::TaskNotes(R"({"template": {"x": )" + deep + "}}");
  expect_error(ExitCode::usage, {"the notes in here's metadata", "nested deeper"},
               [&] { train::run_state(to_json(state, {}), "here"); });
}

TEST(Notes, LoseTheTokenizerThatAnotherReplaces) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "gpt2");
  test::write_file(folder + "/tokenizer.json", R"({"type": "bytes", "version": 1})");
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
                           "vocab.json", "generation_config.json"})
    test::write_file(folder + "/" + name, "{}");
  for (const char* name : {"merges.txt", "vocab.txt", "chat_template.jinja"})
    test::write_file(folder + "/" + name, "old\n");
  test::write_file(scratch.file("vocab.txt"), "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nword\n");
  ConvertConfig config;
  config.tokenizer = scratch.file("vocab.txt");
  test::import_folder(folder, scratch.file("run"), config);
  test::export_folder(scratch.file("run"), scratch.file("out"));
  const auto files = test::files_of(scratch.file("out"));
  for (const char* name :
       {"special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt", "vocab.txt"})
    EXPECT_FALSE(files.contains(name)) << name;
  EXPECT_EQ(files.at("generation_config.json"), "{}");
  EXPECT_EQ(files.at("chat_template.jinja"), "old\n");
  EXPECT_EQ(text::tokenizer_from_json(files.at("tokenizer.json"))->vocab_size(), 6);
  EXPECT_NE(files.at("tokenizer_config.json"), "{}");
}

// What a checkpoint imported from `folder` says of its missing tokenizer.
std::string missing_tokenizer(const Scratch& scratch, const std::string& folder) {
  test::import_folder(folder, scratch.file("run"), {});
  const auto found = checkpoint::list_checkpoints(scratch.file("run"));
  const train::RunState state = train::run_state(found.at(0).metadata, "here");
  EXPECT_TRUE(state.tokenizer.empty());
  return no_tokenizer(state, "runs/gpt2");
}

TEST(Notes, SayWhyATokenizerWasNotTaken) {
  const Scratch scratch, other, third;
  const std::string folder = test::copy_of(scratch, "gpt2"), pieces = test::copy_of(other, "gpt2"),
                    none = test::copy_of(third, "gpt2");
  test::write_file(folder + "/tokenizer.json", R"({"model": {"type": "Unigram", "vocab": []}})");
  const std::string said = missing_tokenizer(scratch, folder);
  for (const std::string& word : {std::string("runs/gpt2 has no tokenizer"), std::string("Unigram"),
                                  "`skein-convert --tokenizer=FILE " + folder + " FOLDER`"})
    EXPECT_NE(said.find(word), std::string::npos) << said;
  test::write_file(pieces + "/tokenizer.model", "x");
  EXPECT_NE(missing_tokenizer(other, pieces).find("is it a SentencePiece model"),
            std::string::npos);
  EXPECT_NE(missing_tokenizer(third, none).find("it holds no tokenizer.json"), std::string::npos);
  EXPECT_NE(train::no_tokenizer({}, "runs/other")
                .find("runs/other was trained on token files that named no tokenizer"),
            std::string::npos);
}

TEST(Notes, RefuseATokenizerThatHasMoreIdsThanTheModel) {
  const Scratch scratch;
  ConvertConfig config;
  config.tokenizer = "bytes";
  expect_error(ExitCode::usage, {"--tokenizer=bytes has 257 ids, but the model knows 61"}, [&] {
    test::import_folder(test::copy_of(scratch, "gpt2"), scratch.file("run"), config);
  });
}

}  // namespace
}  // namespace skein::convert
