// Folders that are no models of other programs are refused, and no output is written over.
#include <functional>
#include <gtest/gtest.h>

#include "skein/core/json.h"

#include "convert/edited_golden.h"
#include "convert/golden_folder.h"

namespace skein::convert {
namespace {

using Json = nlohmann::json;
using test::edit_config;
using test::expect_error;
using test::refused;
using test::replaced;
using test::rewrite;
using test::Scratch;

TEST(Folder, IsRefusedWhenItsFilesAreNotWhatTheySay) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "llama"),
                    index = folder + "/model.safetensors.index.json";
  const std::string good = test::bytes_of_file(index);
  edit_config(folder, [](Json&) {});
  const auto with_index = [&](const std::function<void(Json&)>& edit) {
    Json json = Json::parse(good);
    edit(json["weight_map"]);
    test::write_file(index, json.dump());
  };
  with_index([](Json& map) { map["stray.weight"] = map["model.norm.weight"]; });
  refused(folder, {"lacks tensor stray.weight"});
  with_index([](Json& map) { map.erase("model.norm.weight"); });
  refused(folder, {"holds tensor model.norm.weight", "does not list"});
  with_index([](Json& map) { map["model.norm.weight"] = "model-00009-of-00009.safetensors"; });
  refused(folder, {"model-00009-of-00009.safetensors"});
  test::write_file(index, "{");
  refused(folder, {"index.json", "not JSON"});
}

TEST(Folder, WithTwoModelsIsRefused) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "llama"),
                    index = folder + "/model.safetensors.index.json";
  test::write_file(folder + "/model.safetensors",
                   test::bytes_of_file(test::golden("gpt2") + "/model.safetensors"));
  refused(folder, {"model.safetensors, and model.safetensors.index.json", "remove the one"});
  // An index of the one file is no second model.
  const std::string single = test::copy_of(scratch, "gpt2");
  std::map<std::string, std::string> names;
  const formats::SafetensorsFile file(single + "/model.safetensors");
  for (const formats::SafeTensor& tensor : file.tensors()) names[tensor.name] = "model.safetensors";
  test::write_file(single + "/model.safetensors.index.json",
                   formats::safetensors_index(names, 0, 0));
  test::import_folder(single, scratch.file("run"));
}

TEST(Folder, IsRefusedWhenThereIsNone) {
  const Scratch scratch;
  refused(scratch.file("nowhere"), {"there is no"});
  std::filesystem::create_directory(scratch.file("empty"));
  refused(scratch.file("empty"), {"neither a config.json"});
  test::write_file(scratch.file("empty") + "/pytorch_model.bin", "PK");
  refused(scratch.file("empty"), {"pytorch_model.bin", "safetensors"});
  test::write_file(scratch.file("file"), "PK");
  refused(scratch.file("file"), {"neither a folder nor a model file of llm.c"});
}

TEST(Folder, WithDamagedConfigIsRefused) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "gpt2");
  for (const auto& [text, reason] : {std::pair{"", "not JSON"},
                                     {"[]", "no JSON object"},
                                     {"{\"model_type\": 3}", "a text belongs there"},
                                     {"{\"a\": \xff}", "UTF-8"}}) {
    test::write_file(folder + "/config.json", text);
    refused(folder, {"config.json", reason});
  }
  std::filesystem::remove(folder + "/config.json");
  refused(folder, {"config.json"});
}

TEST(Folder, WithDeepOrDoubledConfigIsRefused) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "gpt2");
  const std::string lists = std::string(300'000, '[') + std::string(300'000, ']');
  std::string objects = "1";
  for (int i = 0; i < 40; ++i) objects = "{\"a\": " + objects + "}";
  for (const auto& [text, reason] :
       {std::pair<std::string, std::string>{R"({"model_type": "gpt2", "n_embd": )" + lists + "}",
                                            "nested deeper than the 32 levels"},
        {R"({"model_type": "gpt2", "rope_scaling": )" + objects + "}", "nested deeper"},
        {R"({"model_type": "gpt2", "n_embd": 8, "n_embd": 9})", "names n_embd twice"},
        {R"({"model_type": "gpt2", "vocab_size": 8, "n_embd": [[8]]})",
         "\"n_embd\" is [[8]]; a whole number"}}) {
    test::write_file(folder + "/config.json", text);
    refused(folder, {"config.json", reason});
  }
}

TEST(Folder, OfAnotherTypeIsRefused) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "gpt2");
  rewrite(folder,
          [](const std::string& name) { return name == "transformer.ln_f.bias" ? "" : name; });
  const std::string path = folder + "/model.safetensors", text = test::bytes_of_file(path);
  test::write_file(path, replaced(text, "\"F32\"", "\"I32\""));
  refused(folder, {"of type I32", "F32, F16, BF16 and F64"});
}

TEST(Destination, IsNotWrittenOver) {
  const Scratch scratch;
  test::import_folder(test::golden("gpt2"), scratch.file("run"));
  expect_error(ExitCode::usage, {"holds a model already"},
               [&] { test::import_folder(test::golden("gpt2"), scratch.file("run")); });
  const std::string folder = test::copy_of(scratch, "gpt2");
  expect_error(ExitCode::usage, {"holds a model already"},
               [&] { test::import_folder(test::golden("gpt2"), folder); });
}

TEST(Texts, TravelThereAndBack) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "gpt2");
  const std::string tokenizer = R"({"type": "bytes", "version": 1})", chat = "{{ messages }}\n";
  test::write_file(folder + "/tokenizer.json", tokenizer);
  test::write_file(folder + "/chat_template.jinja", chat);
  std::filesystem::create_directory(folder + "/additional_chat_templates");
  for (const char* name : {"tool_use.jinja", "rag.jinja", "notes.txt"})
    test::write_file(folder + "/additional_chat_templates/" + name, name);
  const std::string path = test::import_folder(folder, scratch.file("run"));
  const auto alone = single_rank();
  const auto info = checkpoint::find_checkpoint(path, *alone);
  EXPECT_FALSE(train::run_state(info->metadata, path).tokenizer.empty());
  test::export_folder(path, scratch.file("back"));
  EXPECT_EQ(test::bytes_of_file(scratch.file("back") + "/tokenizer.json"), tokenizer);
  EXPECT_EQ(test::bytes_of_file(scratch.file("back") + "/chat_template.jinja"), chat);
  const std::string others = scratch.file("back") + "/additional_chat_templates";
  EXPECT_EQ(test::files_of(others),
            (std::map<std::string, std::string>{{"rag.jinja", "rag.jinja"},
                                                {"tool_use.jinja", "tool_use.jinja"}}));
}

}  // namespace
}  // namespace skein::convert
