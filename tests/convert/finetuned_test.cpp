// Models fine-tuned here, as other programs get them: their labels, their scale and their special
// ids.
#include <gtest/gtest.h>

#include "skein/convert/huggingface_config.h"
#include "skein/core/json.h"
#include "skein/models/bert/bert.h"
#include "skein/models/gpt/gpt.h"
#include "skein/train/tasks/finetune.h"
#include "skein/train/tasks/label_head.h"
#include "skein/train/trainer.h"

#include "convert/fresh_run.h"

namespace skein::convert {
namespace {

using Json = nlohmann::json;
using test::expect_error;
using test::save_fresh;
using test::Scratch;

Json config_in(const std::string& folder) {
  return Json::parse(test::bytes_of_file(folder + "/config.json"));
}

ModelConfig labelled(ModelConfig model, Head head, int64_t labels) {
  model.head = head;
  model.labels = labels;
  bert_options(model).pooler = model.architecture == &bert_architecture() && head == Head::sequence;
  return model;
}

train::RunState with_head(const train::LabelHead& head) {
  train::RunState state;
  state.notes = to_notes(head, 0);
  return state;
}

std::vector<float> floats_in(const std::string& bytes, size_t count) {
  std::vector<float> values(count);
  std::memcpy(values.data(), bytes.data() + bytes.size() - count * 4, count * 4);
  return values;
}

TEST(FineTuned, EncodersOfNumbersGiveTheTrueOnes) {
  for (bool roberta : {false, true}) {
    const Scratch scratch;
    train::LabelHead head;
    head.kind = train::LabelKind::regress;
    head.mean = 100;
    head.deviation = 7;
    save_fresh(scratch.file("run"), labelled(test::small_bert(roberta), Head::sequence, 1), 2,
               with_head(head));
    test::export_folder(scratch.file("run"), scratch.file("out"));
    EXPECT_EQ(config_in(scratch.file("out"))["problem_type"], "regression");
    EXPECT_EQ(config_in(scratch.file("out"))["id2label"].size(), 1u);
    const auto before = test::tensors_of(scratch.file("run")),
               after =
                   test::tensors_of(test::import_folder(scratch.file("out"), scratch.file("back")));
    for (const auto& [name, bytes] : before) {
      if (name == "param/classifier.bias") {
        EXPECT_EQ(floats_in(after.at(name), 1)[0], floats_in(bytes, 1)[0] * 7 + 100);
      } else if (name == "param/classifier.weight") {
        const auto there = floats_in(after.at(name), 8), here = floats_in(bytes, 8);
        for (size_t i = 0; i < 8; ++i) EXPECT_FLOAT_EQ(there[i], here[i] * 7);
      } else {
        EXPECT_TRUE(after.at(name) == bytes) << name;
      }
    }
  }
}

TEST(FineTuned, DecodersOfNumbersNeedAMeanOfNone) {
  const Scratch scratch;
  train::LabelHead head;
  head.kind = train::LabelKind::regress;
  head.mean = 100.5;
  head.deviation = 7.25;
  save_fresh(scratch.file("run"), labelled(test::small_model(), Head::sequence, 1), 1,
             with_head(head));
  expect_error(ExitCode::usage, {"mean 100.5", "deviation 7.25", "no bias", "encoder"},
               [&] { test::export_folder(scratch.file("run"), scratch.file("out")); });
  head.mean = 0;
  save_fresh(scratch.file("centred"), labelled(test::small_model(), Head::sequence, 1), 1,
             with_head(head));
  test::export_folder(scratch.file("centred"), scratch.file("out"));
  const formats::SafetensorsFile file(scratch.file("out") + "/model.safetensors");
  const Tensor theirs = test::read_tensor(file, "score.weight");
  EXPECT_FLOAT_EQ(
      theirs.data<float>()[0],
      floats_in(test::tensors_of(scratch.file("centred")).at("param/classifier.weight"), 8)[0] *
          7.25f);
}

TEST(FineTuned, ClassesKeepTheirNames) {
  const Scratch scratch;
  train::LabelHead head;
  head.labels = {"no", "yes", "it's \"both\""};
  save_fresh(scratch.file("run"), labelled(test::small_bert(false), Head::sequence, 3), 1,
             with_head(head));
  test::export_folder(scratch.file("run"), scratch.file("out"));
  const Json config = config_in(scratch.file("out"));
  EXPECT_EQ(config["id2label"], Json({{"0", "no"}, {"1", "yes"}, {"2", "it's \"both\""}}));
  EXPECT_EQ(config["label2id"], Json({{"no", 0}, {"yes", 1}, {"it's \"both\"", 2}}));
  EXPECT_EQ(config["problem_type"], "single_label_classification");
  head.labels.pop_back();
  save_fresh(scratch.file("lying"), labelled(test::small_bert(false), Head::sequence, 3), 1,
             with_head(head));
  expect_error(ExitCode::usage, {"lying", "head of 3 numbers", "one of 2"},
               [&] { test::export_folder(scratch.file("lying"), scratch.file("other")); });
}

TEST(FineTuned, ImportedClassifiersKnowTheirLabels) {
  const auto labels = [](const std::string& config, const ModelConfig& model) {
    return label_head(label_notes(config, "here", model), "here");
  };
  const ModelConfig three = labelled(test::small_bert(false), Head::sequence, 3);
  const auto head = labels(R"({"id2label": {"0": "no", "2": "both", "1": "yes"}})", three);
  ASSERT_NE(head, nullptr);
  EXPECT_EQ(head->kind, train::LabelKind::classify);
  EXPECT_EQ(head->labels, (std::vector<std::string>{"no", "yes", "both"}));
  EXPECT_EQ(head->length, three.context);
  EXPECT_EQ(labels(R"({"id2label": {"0": "a", "1": "b"}})",
                   labelled(test::small_bert(false), Head::token, 2))
                ->kind,
            train::LabelKind::tag);
  EXPECT_EQ(labels("{}", labelled(test::small_bert(false), Head::sequence, 1))->kind,
            train::LabelKind::regress);
  for (
      const char* without :
      {"{}", R"({"id2label": {"0": "no", "1": "yes"}})",
       R"({"id2label": {"0": "no", "1": "no", "2": "x"}})",
       R"({"problem_type": "multi_label_classification", "id2label": {"0": "no", "1": "yes", "2": "x"}})"})
    EXPECT_EQ(labels(without, three), nullptr) << without;
  EXPECT_FALSE(head->framed);
  const auto decoder = labels(R"({"id2label": {"0": "no", "1": "yes", "2": "x"}})",
                              labelled(test::small_model(), Head::sequence, 3));
  ASSERT_NE(decoder, nullptr);
  EXPECT_EQ(decoder->labels, (std::vector<std::string>{"no", "yes", "x"}));
  EXPECT_TRUE(decoder->framed) << "read at the last token of the tokenizer's template";
  EXPECT_TRUE(label_head(to_notes(*decoder, 0), "here")->framed);
  EXPECT_TRUE(decoder->imported());
  EXPECT_EQ(labels("{}", test::small_model()), nullptr);
  const Scratch scratch;
  const std::string imported =
      test::import_folder(test::golden("bert_sequence"), scratch.file("run"));
  const auto alone = single_rank();
  const auto stored = label_head(
      train::run_state(checkpoint::find_checkpoint(imported, *alone)->metadata, imported).notes,
      imported);
  ASSERT_NE(stored, nullptr);
  EXPECT_EQ(stored->labels.at(2), "LABEL_2");
  test::export_folder(scratch.file("run"), scratch.file("out"));
  EXPECT_EQ(test::bytes_of_file(scratch.file("out") + "/config.json"),
            test::bytes_of_file(test::golden("bert_sequence") + "/config.json"));
}

// A decoder's reward model is a classifier of one number.
TEST(FineTuned, RewardModelsAreClassifiersOfOneNumber) {
  const Scratch scratch;
  train::RunState state;
  state.notes = train::TaskNotes(
      R"({"task":"reward","length":8,"mean":0.5,"deviation":2,"margin":0,"centring":0,"checksum":1})");
  save_fresh(scratch.file("run"), labelled(test::small_model(), Head::sequence, 1), 1, state);
  test::export_folder(scratch.file("run"), scratch.file("out"));
  EXPECT_EQ(config_in(scratch.file("out"))["architectures"],
            Json::array({"GPT2ForSequenceClassification"}));
  EXPECT_EQ(config_in(scratch.file("out"))["id2label"].size(), 1u);
  const formats::SafetensorsFile file(scratch.file("out") + "/model.safetensors");
  EXPECT_EQ(test::read_tensor(file, "score.weight").data<float>()[0],
            floats_in(test::tensors_of(scratch.file("run")).at("param/classifier.weight"), 8)[0]);
}

// Of an encoder's classifier with a head of numbers, at the first place.
std::vector<double> scores_of(const std::string& path) {
  const NoGrad no_grad;
  const auto alone = single_rank();
  const auto info = *checkpoint::find_checkpoint(path, *alone);
  const ModelConfig model = stored_model(train::run_state(info.metadata, info.path), info.path);
  Parameters parameters(DType::f32, 0, 1);
  const Bert bert(model, {0, static_cast<int>(model.n_layers), true, true, 0}, false, parameters);
  load_weights(info, parameters, *alone);
  data::Batch batch;
  batch.tokens = Tensor::from(std::vector<int32_t>{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8}, {3, 4});
  batch.positions = Tensor::from(std::vector<int32_t>{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}, {3, 4});
  batch.types = Tensor::from(std::vector<int32_t>{0, 0, 1, 1, 0, 1, 1, 1, 0, 0, 0, 1}, {3, 4});
  batch.places = data::filled(3, 1, 0);
  batch = placed(batch, {});
  Pass pass;
  pass.tp = alone.get();
  pass.batch = &batch;
  const Tensor scores = bert.label_scores(bert.forward({}, pass), pass).value();
  return {scores.data<float>(), scores.data<float>() + scores.size()};
}

// Classifiers of sequences elsewhere have a layer and a tanh before the head, which ours has not.
// Small numbers lose some bits in the tanh.
TEST(FineTuned, EncodersRewardModelsAreClassifiersOfOneNumber) {
  for (const bool roberta : {false, true}) {
    const Scratch scratch;
    train::RunState state;
    state.notes = train::TaskNotes(
        R"({"task":"reward","length":8,"mean":0.5,"deviation":2,"margin":0,"centring":0,"checksum":1})");
    save_fresh(scratch.file("run"), labelled(test::small_bert(roberta), Head::token, 1), 2, state);
    test::export_folder(scratch.file("run"), scratch.file("out"));
    EXPECT_EQ(config_in(scratch.file("out"))["architectures"],
              Json::array({roberta ? "RobertaForSequenceClassification"
                                   : "BertForSequenceClassification"}));
    EXPECT_EQ(config_in(scratch.file("out"))["id2label"].size(), 1u);
    const auto before = scores_of(scratch.file("run")),
               after = scores_of(test::import_folder(scratch.file("out"), scratch.file("back")));
    ASSERT_EQ(after.size(), before.size());
    for (size_t i = 0; i < before.size(); ++i)
      EXPECT_NEAR(after[i], before[i], 3e-5) << roberta << " " << i;
    EXPECT_GT(std::abs(before[0] - before[1]), 1e-3);
    save_fresh(scratch.file("tags"), labelled(test::small_bert(roberta), Head::token, 1), 1);
    test::export_folder(scratch.file("tags"), scratch.file("tags_out"));
    EXPECT_EQ(
        config_in(scratch.file("tags_out"))["architectures"],
        Json::array({roberta ? "RobertaForTokenClassification" : "BertForTokenClassification"}));
  }
}

TEST(FineTuned, HeadsOfValuesAreLeftOutAndTold) {
  const Scratch scratch;
  ModelConfig model = test::small_model();
  model.own.get<GptOptions>().value_head = true;
  save_fresh(scratch.file("run"), model, 1);
  log::set_level(log::Level::warn);
  testing::internal::CaptureStderr();
  Export(scratch.file("run"), Form::huggingface, {}).run(scratch.file("out"), {});
  EXPECT_NE(testing::internal::GetCapturedStderr().find("head of values"), std::string::npos);
  EXPECT_EQ(config_in(scratch.file("out"))["architectures"], Json::array({"GPT2LMHeadModel"}));
}

TEST(FineTuned, DecodersOfTagsAreRefused) {
  const Scratch scratch;
  save_fresh(scratch.file("run"), labelled(test::small_model(), Head::token, 3), 1);
  expect_error(ExitCode::usage, {"gpt2 needs model.head other than token"},
               [&] { test::export_folder(scratch.file("run"), scratch.file("out")); });
}

Json written(const ModelConfig& model, const ConfigExtras& extras, const std::string& before) {
  log::set_level(log::Level::error);
  return Json::parse(huggingface_config(model, DType::f32, extras, before));
}

TEST(FineTuned, DecodersDoNotPadWithWhatEndsTexts) {
  const ModelConfig model = labelled(test::small_model(), Head::sequence, 3);
  for (const int32_t pad : {-1, 36}) {
    const Json config = written(model, {{pad, -1, 36}, {}, "", false}, "");
    ASSERT_TRUE(config.contains("pad_token_id")) << "else the class's default holds";
    EXPECT_TRUE(config["pad_token_id"].is_null());
  }
  EXPECT_TRUE(
      written(test::small_model(), {{-1, -1, 36}, {}, "", false}, "").at("pad_token_id").is_null());
  EXPECT_EQ(written(model, {{0, -1, 36}, {}, "", false}, "")["pad_token_id"], 0);
  EXPECT_EQ(written(test::small_model(), {{36, -1, 36}, {}, "", false}, "")["pad_token_id"], 36);
  EXPECT_EQ(written(labelled(test::small_bert(false), Head::sequence, 3),
                    {{36, -1, 36}, {}, "", false}, "")["pad_token_id"],
            36);
  testing::internal::CaptureStderr();
  log::set_level(log::Level::warn);
  huggingface_config(model, DType::f32, {{-1, -1, 36}, {}, "", false}, "");
  EXPECT_NE(testing::internal::GetCapturedStderr().find("one text at a time"), std::string::npos);
}

// What config.json of an import says of ids and labels.
TEST(FineTuned, ConfigsKeepWhatIsStillTrue) {
  Json before = Json::parse(huggingface_config(labelled(test::small_model(), Head::sequence, 3),
                                               DType::f32, {{0, 35, 36}, {}, "", false}, ""));
  before["eos_token_id"] = {30, 36};
  before["pad_token_id"] = 30;
  before["id2label"] = {{"0", "x"}, {"1", "y"}, {"2", "z"}};
  ModelConfig model = labelled(test::small_model(), Head::sequence, 3);
  EXPECT_EQ(written(model, {{0, 35, 36}, {}, "", false}, before.dump()), before);
  EXPECT_TRUE(written(model, {{-1, 35, 36}, {"x", "y", "z"}, "single_label_classification", false},
                      before.dump())
                  .at("pad_token_id")
                  .is_null());
  model.dropout = 0.5;
  Json changed = written(model, {{-1, 35, 36}, {}, "", false}, before.dump());
  EXPECT_EQ(changed["id2label"], before["id2label"]);
  EXPECT_EQ(changed["eos_token_id"], Json({30, 36}));
  EXPECT_EQ(changed["resid_pdrop"], 0.5);
  EXPECT_EQ(written(model, {{-1, 35, 12}, {}, "", false}, before.dump())["eos_token_id"], 12);
  EXPECT_EQ(written(labelled(test::small_model(), Head::sequence, 2), {}, before.dump())["id2label"]
                .size(),
            2u);
}

// An import of an encoder with its vocabulary of whole words, fine-tuned for a step.
std::string finetuned(const Scratch& scratch, const std::string& imported, const std::string& name,
                      const std::string& examples) {
  const auto alone = single_rank();
  const train::RunState state =
      train::run_state(checkpoint::find_checkpoint(imported, *alone)->metadata, imported);
  train::FinetuneConfig c = train::finetune_defaults();
  c.run.model = stored_model(state, imported);
  c.task.columns.text = "1";
  c.task.columns.label = "2";
  c.task.length = 8;
  test::write_file(scratch.file(name + ".tsv"), examples);
  c.run.data.train = {scratch.file(name + ".tsv")};
  c.run.train.steps = 1;
  c.run.train.global_batch = 2;
  c.run.train.micro_batch = 1;
  c.run.validation.every = 0;
  c.run.checkpoint.load = imported;
  c.run.run.dir = scratch.file(name);
  c.run.run.tensorboard = false;
  const auto task = label_task(c, state.tokenizer.value());
  train::train(c.run, *task, *alone);
  return scratch.file(name);
}

TEST(FineTuned, ImportsComeBackWithTheirTextsAndTheirNewHead) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "bert"),
                    words = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\ngood\nbad\n";
  test::write_file(folder + "/vocab.txt", words);
  Json config = config_in(folder);
  config["zebra"] = 5;
  config["num_labels"] = 2;
  test::write_file(folder + "/config.json", config.dump());
  test::import_folder(folder, scratch.file("imported"));
  const std::string run = finetuned(scratch, scratch.file("imported"), "run",
                                    "a good\tyes\nb bad\tno\na b\tperhaps\nbad b\tno\n");
  test::export_folder(run, scratch.file("out"));
  const Json made = config_in(scratch.file("out"));
  EXPECT_EQ(made["architectures"], Json::array({"BertForSequenceClassification"}));
  EXPECT_EQ(made["id2label"].size(), 3u);
  EXPECT_EQ(made["zebra"], 5);
  EXPECT_FALSE(made.contains("num_labels"));
  EXPECT_EQ(test::bytes_of_file(scratch.file("out") + "/vocab.txt"), words);
  EXPECT_FALSE(std::filesystem::exists(scratch.file("out") + "/tokenizer.json"));
  const std::string back = test::import_folder(scratch.file("out"), scratch.file("back"));
  const auto here = test::tensors_of(run);
  for (const auto& [name, bytes] : test::tensors_of(back))
    EXPECT_TRUE(here.at(name) == bytes) << name;

  // The same sizes again, and other labels.
  const std::string again =
      finetuned(scratch, back, "again", "a good\tx\nb bad\ty\na b\tz\nbad b\ty\n");
  test::export_folder(again, scratch.file("other"));
  std::set<std::string> labels;
  const Json relabelled = config_in(scratch.file("other"));
  for (const auto& [id, label] : relabelled["id2label"].items()) labels.insert(label);
  EXPECT_EQ(labels, (std::set<std::string>{"x", "y", "z"}));
  EXPECT_EQ(relabelled["zebra"], 5);
}

TEST(FineTuned, HeadsThatAnImportLackedAreNamed) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "bert");
  {
    const formats::SafetensorsFile file(test::golden("bert") + "/model.safetensors");
    std::vector<formats::SafeTensor> tensors;
    for (formats::SafeTensor tensor : file.tensors())
      if (tensor.name.starts_with("bert.")) tensors.push_back(tensor);
    std::map<std::string, formats::SafeTensor> sources;
    for (formats::SafeTensor& tensor : tensors) {
      const formats::SafeTensor source = tensor;
      tensor.name = tensor.name.substr(5);
      sources[tensor.name] = source;
    }
    formats::SafetensorsWriter writer(folder + "/model.safetensors", tensors, {});
    for (const formats::SafeTensor& tensor : writer.tensors()) {
      std::vector<std::byte> bytes(static_cast<size_t>(tensor.bytes()));
      file.read(sources.at(tensor.name), 0, bytes);
      writer.append(bytes);
    }
    writer.finish();
  }
  Json config = config_in(folder);
  config["architectures"] = {"BertModel"};
  test::write_file(folder + "/config.json", config.dump());
  ConvertConfig missing;
  missing.allow_missing = true;
  test::import_folder(folder, scratch.file("run"), missing);
  test::export_folder(scratch.file("run"), scratch.file("out"));
  const Json made = config_in(scratch.file("out"));
  EXPECT_EQ(made["architectures"], Json::array({"BertForPreTraining"}));
  const formats::SafetensorsFile file(scratch.file("out") + "/model.safetensors");
  for (const formats::SafeTensor& tensor : file.tensors())
    EXPECT_TRUE(tensor.name.starts_with("bert.") || tensor.name.starts_with("cls.")) << tensor.name;
  EXPECT_TRUE(test::tensors_of(test::import_folder(scratch.file("out"), scratch.file("back"))) ==
              test::tensors_of(scratch.file("run")));
}

}  // namespace
}  // namespace skein::convert
