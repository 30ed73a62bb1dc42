// What the decoder of an imported model is fed first, its tokenizers, and how both come back.
#include <gtest/gtest.h>

#include "skein/convert/generation_config.h"
#include "skein/convert/notes.h"
#include "skein/text/sentencepiece/model_file.h"
#include "skein/train/tasks/pair_notes.h"

#include "convert/edited_golden.h"
#include "convert/fresh_run.h"

namespace skein::convert {
namespace {

using Json = nlohmann::json;
using test::model_of;
using test::Scratch;
using test::small_bart;
using test::state_of;

TEST(Pieces, OfATokenizerComeBack) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "marian"), bytes("\x0a\xff\x00pieces", 9);
  for (const char* name : {"source.spm", "target.spm"})
    test::write_file(folder + "/" + name, bytes);
  test::write_file(folder + "/vocab.json", R"({"</s>": 0})");
  const std::string path = test::import_folder(folder, scratch.file("run"));
  test::export_folder(path, scratch.file("back"));
  auto before = test::files_of(folder);
  before.erase("skein_expected.safetensors");
  EXPECT_EQ(before, test::files_of(scratch.file("back")));
  train::RunState state = state_of(path);
  Json notes = Json::parse(state.imported);
  notes["texts"]["source.spm"] = "no base64!";
  state.imported = notes.dump();
  test::expect_error(ExitCode::usage, {"here", "source.spm", "no base64"},
                     [&] { import_notes(state, "here"); });
}

int32_t start_of(
    const std::string& name, const std::string& generation,
    const std::function<void(Json&)>& edit = [](Json&) {}) {
  Json config = Json::parse(test::bytes_of_file(test::golden(name) + "/config.json"));
  edit(config);
  return foreign_start(config.dump(), generation, "here",
                       model_from_huggingface(config.dump(), "here", {}));
}

TEST(Start, IsSaidByTheFiles) {
  EXPECT_EQ(start_of("bart", R"({"decoder_start_token_id": 5})"), 5);
  EXPECT_EQ(start_of("bart", R"({"decoder_start_token_id": [6]})"), 6);
  EXPECT_EQ(start_of("bart", "{}"), 2);
  EXPECT_EQ(start_of("t5", ""), 0);
  EXPECT_EQ(start_of("marian", ""), 30);
}

// As transformers' generate: the class's own, then the token that begins texts.
TEST(Start, IsTheClassesTokenWhereNothingElseIsSaid) {
  const auto without = [](const std::string& name) {
    return start_of(name, "", [](Json& json) { json.erase("decoder_start_token_id"); });
  };
  EXPECT_EQ(without("bart"), 2);
  EXPECT_EQ(without("mbart"), 0);
  EXPECT_EQ(without("t5"), -1);
  EXPECT_EQ(without("marian"), -1) << "58100 is beyond the vocabulary";
}

TEST(Start, OfNoSuchIdIsRefused) {
  const auto is_refused = [](const std::string& generation,
                             std::initializer_list<std::string> words) {
    test::expect_error(ExitCode::usage, words, [&] { start_of("bart", generation); });
  };
  is_refused(R"({"decoder_start_token_id": 31})",
             {"here/generation_config.json", "decoder_start_token_id", "31", "0 to 30"});
  is_refused(R"({"decoder_start_token_id": [1, 2]})", {"decoder_start_token_id", "[1,2]"});
  is_refused(R"({"decoder_start_token_id": "</s>"})", {"decoder_start_token_id", "</s>"});
  is_refused("{", {"generation_config.json", "not JSON"});
}

// Its ids 0 to 2 are special.
constexpr char kPairTokenizer[] = R"({"version": "1.0", "added_tokens": [
    {"id": 0, "content": "<s>", "special": true, "normalized": false},
    {"id": 1, "content": "<pad>", "special": true, "normalized": false},
    {"id": 2, "content": "</s>", "special": true, "normalized": false}],
  "normalizer": null, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
  "model": {"type": "WordLevel", "vocab": {"<s>": 0, "<pad>": 1, "</s>": 2, "a": 3}, "unk_token": "a"}})";

TEST(Start, ReachesTheNotesAndTheExport) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "bart");
  test::write_file(folder + "/tokenizer.json", kPairTokenizer);
  const std::string path = test::import_folder(folder, scratch.file("run"));
  EXPECT_EQ(pair_notes(state_of(path).notes, path).start, "</s>");
  // Trained on, with another.
  train::RunState state = state_of(path);
  state.step = 7;
  state.notes = train::TaskNotes(R"({"task": "seq2seq", "start": "<s>"})");
  test::save_fresh(scratch.file("on"), model_of(path), 1, state);
  state.imported = "";
  test::save_fresh(scratch.file("fresh"), small_bart(), 1, state);
  for (const std::string& name : {std::string("on"), std::string("fresh")}) {
    const std::string out = scratch.file("out-" + name);
    test::export_folder(scratch.file(name), out);
    const Json config = Json::parse(test::bytes_of_file(out + "/config.json")),
               generation = Json::parse(test::bytes_of_file(out + "/generation_config.json"));
    EXPECT_EQ(config["decoder_start_token_id"], 0) << name;
    EXPECT_EQ(generation["decoder_start_token_id"], 0) << name;
    EXPECT_EQ(generation.contains("transformers_version"), name == "on");
    EXPECT_EQ(config["forced_eos_token_id"].is_null(), name == "fresh")
        << "transformers' class would force id 2";
  }
}

TEST(Tokenizers, OfMarianAreTwo) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "marian_two");
  text::SentencePieceModel pieces;
  using Type = text::SentencePieceModel::Type;
  pieces.pieces = {{"<unk>", 0, Type::unknown}, {"\u2581a", -1, Type::normal}};
  pieces.unknown = 0;
  test::write_file(folder + "/source.spm", written_sentencepiece(pieces));
  pieces.pieces[1].text = "\u2581b";
  test::write_file(folder + "/target.spm", written_sentencepiece(pieces));
  test::write_file(folder + "/vocab.json", R"({"</s>": 0, "<unk>": 1, "\u2581a": 2, "<pad>": 3})");
  test::write_file(folder + "/target_vocab.json",
                   R"({"</s>": 0, "<unk>": 1, "<pad>": 2, "\u2581b": 3})");
  for (const char* file : {"config.json", "generation_config.json"}) {
    Json json = Json::parse(test::bytes_of_file(folder + "/" + file));
    json["decoder_start_token_id"] = 2;
    test::write_file(folder + "/" + file, json.dump());
  }
  const std::string path = test::import_folder(folder, scratch.file("run"));
  const train::RunState state = state_of(path);
  const train::PairNotes notes = pair_notes(state.notes, path);
  EXPECT_EQ(notes.source_tokenizer->encode("a"), std::vector<int32_t>{2});
  EXPECT_EQ(state.tokenizer->encode("b"), std::vector<int32_t>{3});
  EXPECT_EQ(notes.start, "<pad>");
  test::export_folder(path, scratch.file("back"));
  auto before = test::files_of(folder);
  before.erase("skein_expected.safetensors");
  EXPECT_EQ(before, test::files_of(scratch.file("back")));
}

}  // namespace
}  // namespace skein::convert
