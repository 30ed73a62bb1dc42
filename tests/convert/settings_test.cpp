// The table of docs/convert.md: what becomes of each setting of a config.json, by family. It is
// made here, and what it calls taken must be held against transformers by a golden model or a
// variant. With SKEIN_TEST_WRITE_DOCS=1 the page gets the table.
#include <gtest/gtest.h>

#include "skein/convert/huggingface_config.h"
#include "skein/core/json.h"

#include "convert/golden_folder.h"

namespace skein::convert {
namespace {

using Json = nlohmann::json;

constexpr char kPage[] = "../docs/convert.md";
constexpr char kBegin[] = "<!-- by tests/convert/settings_test.cpp -->\n";
constexpr char kEnd[] = "<!-- its end -->\n";

// A merge patch, and how the table calls it where its text would be long.
struct Setting {
  Json patch;
  std::string name = "";
};

struct Table {
  std::vector<std::string> families;
  std::vector<Setting> settings;
};

Json rope(const std::string& type, const Json& more) {
  Json made{{"rope_type", type}};
  made.update(more);
  return {{"rope_parameters", made}};
}

Json only(const std::string& key, const Json& value) { return {{key, value}}; }

Table decoders() {
  const Json yarn{{"factor", 4.0}, {"original_max_position_embeddings", 16}, {"rope_theta", 3.0}};
  return {
      {"gpt2", "opt", "gpt_neox", "llama", "mistral", "qwen2", "qwen3"},
      {{rope("linear", {{"factor", 2.0}}), "`rope_type` `linear`"},
       {rope("llama3", {{"factor", 8.0},
                        {"low_freq_factor", 1.0},
                        {"high_freq_factor", 4.0},
                        {"original_max_position_embeddings", 16}}),
        "`rope_type` `llama3`"},
       {rope("yarn", yarn), "`rope_type` `yarn`"},
       {rope("dynamic", {{"factor", 2.0}}), "`rope_type` `dynamic`"},
       {rope("longrope", {{"factor", 2.0}, {"short_factor", {1.0}}, {"long_factor", {1.0}}}),
        "`rope_type` `longrope`"},
       {rope("proportional", Json::object()), "`rope_type` `proportional`"},
       {only("rope_parameters", {{"partial_rotary_factor", 0.5}}), "`partial_rotary_factor`"},
       {only("sliding_window", 2)},
       {{{"use_sliding_window", false}, {"layer_types", nullptr}}, "`use_sliding_window` false"},
       {only("layer_types", {"chunked_attention"}), "`layer_types` of other kinds"},
       {only("use_parallel_residual", false)},
       {only("tie_word_embeddings", true)},
       {only("tie_word_embeddings", false)},
       {only("hidden_act", "relu")},
       {only("activation_function", "relu")},
       {only("hidden_act", "mish")},
       {only("activation_function", "mish")},
       {only("attention_bias", true)},
       {{{"attention_bias", false}, {"mlp_bias", nullptr}}, "`attention_bias` false"},
       {only("do_layer_norm_before", false)},
       {only("word_embed_proj_dim", 4)},
       {only("enable_bias", false)},
       {only("scale_attn_weights", false)},
       {only("is_causal", false)},
       {only("add_cross_attention", true)},
       {only("auto_map", {{"AutoModel", "mine.Model"}}), "`auto_map`"},
       {only("quantization_config", Json::object()), "`quantization_config`"}}};
}

Table encoders() {
  return {{"bert", "roberta", "xlm_roberta", "camembert"},
          {{only("hidden_act", "relu")},
           {only("hidden_act", "mish")},
           {only("pad_token_id", 2)},
           {only("tie_word_embeddings", false)},
           {only("position_embedding_type", "relative_key")},
           {only("is_decoder", true)},
           {only("is_causal", true)},
           {only("add_cross_attention", true)},
           {only("auto_map", {{"AutoModel", "mine.Model"}}), "`auto_map`"},
           {only("quantization_config", Json::object()), "`quantization_config`"}}};
}

Json json_of(const std::string& path) { return Json::parse(test::bytes_of_file(path)); }

std::string variants(const std::string& family) { return test::golden("variants/" + family); }

// What a patch takes out may be there.
bool holds(const Json& whole, const Json& part) {
  if (!part.is_object()) return whole == part;
  return whole.is_object() && std::ranges::all_of(part.items(), [&](const auto& item) {
           return item.value().is_null() ||
                  (whole.contains(item.key()) && holds(whole[item.key()], item.value()));
         });
}

// Whether what transformers made of such a model is compared with ours.
bool is_held(const std::string& family, const Json& patch) {
  for (const auto& variant : json_of(variants(family) + "/variants.json"))
    if (holds(variant, patch)) return true;
  const Json type = json_of(variants(family) + "/config.json").at("model_type");
  return std::ranges::any_of(test::golden_names(), [&](const std::string& name) {
    const Json config = json_of(test::golden(name) + "/config.json");
    return config.at("model_type") == type && holds(config, patch);
  });
}

std::string cell(const std::string& family, const Json& patch) {
  const Json before = json_of(variants(family) + "/config.json");
  Json with = before;
  with.merge_patch(patch);
  const auto values = [&](const Json& json) {
    return model_values(model_from_huggingface(json.dump(), "here", {}));
  };
  try {
    if (values(with) == values(before) && with != before) return "no effect";
    EXPECT_TRUE(is_held(family, patch)) << family << " " << patch;
    return "taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return "refused";
  }
}

std::string name_of(const Setting& setting) {
  if (!setting.name.empty()) return setting.name;
  const auto item = setting.patch.items().begin();
  return fmt::format("`{}` {}", item.key(), item.value().dump());
}

std::string text_of(const Table& table) {
  std::string text = "| |", line = "|---|";
  for (const std::string& family : table.families) {
    text += fmt::format(" {} |", family);
    line += "---|";
  }
  text += "\n" + line + "\n";
  for (const Setting& setting : table.settings) {
    text += fmt::format("| {} |", name_of(setting));
    for (const std::string& family : table.families)
      text += fmt::format(" {} |", cell(family, setting.patch));
    text += "\n";
  }
  return text;
}

TEST(Settings, OfThePageAreThoseOfTheReader) {
  const std::string made = text_of(decoders()) + "\n" + text_of(encoders());
  std::string page = test::bytes_of_file(kPage);
  const size_t begin = page.find(kBegin), end = page.find(kEnd);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos && begin < end) << kPage;
  const size_t first = begin + sizeof(kBegin) - 1;
  if (std::getenv("SKEIN_TEST_WRITE_DOCS")) {
    page.replace(first, end - first, made);
    test::write_file(kPage, page);
    return;
  }
  EXPECT_EQ(page.substr(first, end - first), made)
      << "run this test with SKEIN_TEST_WRITE_DOCS=1, and read what it has made of " << kPage;
}

}  // namespace
}  // namespace skein::convert
