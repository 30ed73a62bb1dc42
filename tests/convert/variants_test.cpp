// One small model of each family under every config.json that may be said of it (in
// tests/convert/golden/variants, of tools/make_huggingface_golden.py), and the names that are
// refused.
#include <gtest/gtest.h>

#include "skein/convert/huggingface_config.h"
#include "skein/core/json.h"

#include "convert/against_transformers.h"

namespace skein::convert {
namespace {

using Json = nlohmann::json;
using test::Scratch;

std::string family_folder(const std::string& family) { return test::golden("variants/" + family); }

Json json_of(const std::string& path) { return Json::parse(test::bytes_of_file(path)); }

Json config_of(const std::string& family) {
  return json_of(family_folder(family) + "/config.json");
}

// A folder with the family's weights and a changed config.json.
std::string changed_folder(const Scratch& scratch, const std::string& family, const Json& config) {
  const std::string folder = scratch.file("source");
  std::filesystem::create_directory(folder);
  std::filesystem::copy(family_folder(family) + "/model.safetensors", folder);
  test::write_file(folder + "/config.json", config.dump());
  return folder;
}

const std::vector<std::string> kFamilies{
    "gpt2",  "llama",       "bert",      "roberta", "t5",       "bart", "mistral",    "qwen2",
    "qwen3", "xlm_roberta", "camembert", "opt",     "gpt_neox", "phi3", "gemma3_text"};
// Those with rotary positions.
const std::vector<std::string> kRotary{"llama", "mistral", "qwen2", "qwen3", "gpt_neox", "phi3"};

// Under which config.json names the activation.
std::string activation_key(const std::string& family) {
  if (family == "t5") return "feed_forward_proj";
  if (family == "gemma3_text") return "hidden_activation";
  const bool older = family == "gpt2" || family == "bart" || family == "opt";
  return older ? "activation_function" : "hidden_act";
}

class Variants : public testing::TestWithParam<std::string> {
 protected:
  // Calls f with the name of each variant and its config.json.
  template <class F>
  void each(const F& f) const {
    const Json all = json_of(family_folder(GetParam()) + "/variants.json");
    EXPECT_GE(all.size(), 12u);
    for (const auto& [name, patch] : all.items()) {
      SCOPED_TRACE(GetParam() + ", " + name);
      Json config = config_of(GetParam());
      config.merge_patch(patch);
      f(name, config);
    }
  }
};

TEST_P(Variants, AgreeWithTransformers) {
  each([&](const std::string& name, const Json& config) {
    const Scratch scratch;
    const std::string source = changed_folder(scratch, GetParam(), config);
    const std::string run = test::import_folder(source, scratch.file("run"));
    test::expect_as_transformers(run, family_folder(GetParam()) + "/" + name + ".safetensors");
  });
}

TEST_P(Variants, KeepTheirConfig) {
  each([&](const std::string&, const Json& config) {
    const Scratch scratch;
    test::import_folder(changed_folder(scratch, GetParam(), config), scratch.file("run"));
    test::export_folder(scratch.file("run"), scratch.file("back"));
    EXPECT_EQ(test::bytes_of_file(scratch.file("back") + "/config.json"), config.dump());
    test::import_folder(scratch.file("back"), scratch.file("again"));
    EXPECT_TRUE(test::tensors_of(scratch.file("run")) == test::tensors_of(scratch.file("again")));
  });
}

// The config.json that a model gets which was never imported.
TEST_P(Variants, AreSaidByAFreshConfig) {
  each([&](const std::string&, const Json& config) {
    const ModelConfig model = model_from_huggingface(config.dump(), "here", {});
    const std::string fresh = huggingface_config(model, DType::f32, {}, "");
    const ModelConfig again = model_from_huggingface(fresh, "fresh", {});
    EXPECT_EQ(model_values(again), model_values(model)) << fresh;
  });
}

INSTANTIATE_TEST_SUITE_P(Families, Variants, testing::ValuesIn(kFamilies),
                         [](const auto& info) { return info.param; });

// `names` of transformers under a change of config.json: those in `known` are taken, the others
// refused by their name.
void expect_known(const std::string& family, const Json& names, const std::set<std::string>& known,
                  const std::function<void(Json&, const std::string&)>& name_it) {
  std::set<std::string> taken;
  for (const std::string name : names) {
    Json config = config_of(family);
    name_it(config, name);
    const auto read = [&] { model_from_huggingface(config.dump(), "here/config.json", {}); };
    if (!known.contains(name)) {
      test::expect_error(ExitCode::usage, {"here/config.json", name}, read);
      continue;
    }
    read();
    taken.insert(name);
  }
  EXPECT_EQ(taken, known) << family;
}

const Json& names() {
  static const Json all = json_of(test::golden("variants/names.json"));
  return all;
}

TEST(Names, OfActivationsAreRightOrRefused) {
  EXPECT_GE(names()["activations"].size(), 24u);
  for (const std::string& family : kFamilies) {
    std::set<std::string> known;
    const Json variants = json_of(family_folder(family) + "/variants.json");
    const std::string key = activation_key(family);
    for (const std::string name : names()["activations"])
      if (variants.contains(name) && variants[name].contains(key)) known.insert(name);
    const bool gated = family != "gpt_neox" && std::ranges::count(kRotary, family) > 0;
    EXPECT_EQ(known.size(), gated ? 2u : 10u) << family;
    expect_known(family, names()["activations"], known, [&](Json& config, const std::string& name) {
      config[key] = name;
      config.erase("dense_act_fn");  // says it a second time
    });
  }
}

TEST(Names, OfRotaryPositionsAreRightOrRefused) {
  Json rope{{"rope_theta", 50.0},      {"factor", 2.0},         {"low_freq_factor", 1.0},
            {"high_freq_factor", 4.0}, {"short_factor", {1.0}}, {"long_factor", {1.0}}};
  const std::set<std::string> known{"default", "linear", "llama3", "yarn", "dynamic", "longrope"};
  EXPECT_GE(names()["rope_types"].size(), 7u);
  for (const std::string& family : kRotary) {
    const bool phi = family == "phi3", one = family == "qwen2" || family == "gpt_neox";
    rope["original_max_position_embeddings"] = phi ? 4096 : 16;
    rope["short_factor"] = std::vector<double>(one ? 1 : phi ? 4 : 2, 1.5);
    const auto name_it = [&](Json& config, const std::string& name) {
      config["rope_parameters"] = rope;
      config["rope_parameters"]["rope_type"] = name;
    };
    const std::set<std::string> of_phi{"default", "longrope"};
    expect_known(family, names()["rope_types"], phi ? of_phi : known, name_it);
  }
  for (const bool window : {false, true})
    expect_known("gemma3_text", names()["rope_types"],
                 window ? std::set<std::string>{"default", "dynamic"}
                        : std::set<std::string>{"default", "linear", "llama3", "yarn", "dynamic"},
                 [&](Json& config, const std::string& name) {
                   Json& one =
                       config["rope_parameters"][window ? "sliding_attention" : "full_attention"];
                   one = rope;
                   one["rope_type"] = name;
                 });
}

TEST(Names, OfClassesAreRightOrRefused) {
  const std::map<std::string, std::set<std::string>> known{
      {"gpt2", {"GPT2LMHeadModel", "GPT2Model", "GPT2ForSequenceClassification"}},
      {"llama", {"LlamaForCausalLM", "LlamaModel", "LlamaForSequenceClassification"}},
      {"bert",
       {"BertForMaskedLM", "BertLMHeadModel", "BertForPreTraining", "BertForNextSentencePrediction",
        "BertModel", "BertForSequenceClassification", "BertForTokenClassification"}},
      {"roberta",
       {"RobertaForMaskedLM", "RobertaForCausalLM", "RobertaModel",
        "RobertaForSequenceClassification", "RobertaForTokenClassification"}},
      {"t5", {"T5ForConditionalGeneration", "T5Model"}},
      {"bart", {"BartForConditionalGeneration", "BartModel"}},
      {"mistral", {"MistralForCausalLM", "MistralModel", "MistralForSequenceClassification"}},
      {"qwen2", {"Qwen2ForCausalLM", "Qwen2Model", "Qwen2ForSequenceClassification"}},
      {"qwen3", {"Qwen3ForCausalLM", "Qwen3Model", "Qwen3ForSequenceClassification"}},
      {"xlm_roberta",
       {"XLMRobertaForMaskedLM", "XLMRobertaForCausalLM", "XLMRobertaModel",
        "XLMRobertaForSequenceClassification", "XLMRobertaForTokenClassification"}},
      {"camembert",
       {"CamembertForMaskedLM", "CamembertForCausalLM", "CamembertModel",
        "CamembertForSequenceClassification", "CamembertForTokenClassification"}},
      {"opt", {"OPTForCausalLM", "OPTModel", "OPTForSequenceClassification"}},
      {"gpt_neox", {"GPTNeoXForCausalLM", "GPTNeoXModel", "GPTNeoXForSequenceClassification"}},
      {"phi3", {"Phi3ForCausalLM", "Phi3Model", "Phi3ForSequenceClassification"}},
      {"gemma3_text",
       {"Gemma3ForCausalLM", "Gemma3TextModel", "Gemma3TextForSequenceClassification"}}};
  for (const std::string& family : kFamilies) {
    const auto name_it = [](Json& config, const std::string& name) {
      config["architectures"] = Json::array({name});
    };
    expect_known(family, names()["classes"][family], known.at(family), name_it);
    for (const std::string& other : kFamilies)
      if (other != family) expect_known(family, names()["classes"][other], {}, name_it);
  }
}

std::map<std::string, std::string> bytes_by_name(const std::string& folder) {
  const formats::SafetensorsFile file(folder + "/model.safetensors");
  std::map<std::string, std::string> all;
  for (const formats::SafeTensor& tensor : file.tensors()) {
    std::vector<std::byte> bytes(static_cast<size_t>(tensor.bytes()));
    file.read(tensor, 0, bytes);
    all[tensor.name] = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  return all;
}

// transformers 5 reads the decoder's bias and keeps another one, which it never reads; transformers
// 4 has one under both names.
TEST(Untied, BiasOfTheDecoderIsTheOneThatIsRead) {
  const auto before = bytes_by_name(family_folder("bert"));
  const std::string read = "cls.predictions.decoder.bias", unread = "cls.predictions.bias";
  ASSERT_NE(before.at(read), before.at(unread));
  const Scratch scratch;
  test::import_folder(family_folder("bert"), scratch.file("run"));
  test::export_folder(scratch.file("run"), scratch.file("back"));
  auto wanted = before;
  wanted[unread] = before.at(read);
  EXPECT_TRUE(bytes_by_name(scratch.file("back")) == wanted);
}

TEST(Untied, BiasIsWrittenUnderBothNamesWhereTheImportHadOne) {
  const std::map<std::string, std::string> bases{{"bert_untied", "cls.predictions."},
                                                 {"roberta_untied", "lm_head."}};
  for (const auto& [name, base] : bases)
    for (const std::string& gone : {base + "bias", base + "decoder.bias"}) {
      const Scratch scratch;
      const std::string folder = test::copy_of(scratch, name);
      const auto before = bytes_by_name(folder);
      std::vector<formats::SafeTensor> kept;
      {
        const formats::SafetensorsFile file(folder + "/model.safetensors");
        for (const formats::SafeTensor& tensor : file.tensors())
          if (tensor.name != gone) kept.push_back(tensor);
      }
      formats::SafetensorsWriter writer(folder + "/model.safetensors", kept, {});
      for (const formats::SafeTensor& tensor : writer.tensors())
        writer.append(std::as_bytes(std::span(before.at(tensor.name))));
      writer.finish();
      test::import_folder(folder, scratch.file("run"));
      test::export_folder(scratch.file("run"), scratch.file("back"));
      EXPECT_TRUE(bytes_by_name(scratch.file("back")) == before) << gone;
    }
}

}  // namespace
}  // namespace skein::convert
