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

// A merge patch, how the table calls it where its text would be long, what it is for families that
// say it otherwise, and what the table says where a family reads it and no option of ours changes.
struct Setting {
  Json patch;
  std::string name = "";
  std::map<std::string, Json> others = {};
  std::string unchanged = "no effect";

  const Json& of(const std::string& family) const {
    const auto other = others.find(family);
    return other == others.end() ? patch : other->second;
  }
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

// Gemma says it of its layers that see all.
Setting stretched(const std::string& type, const Json& more) {
  const Json plain = rope(type, more);
  const Json of_full{{"rope_parameters", {{"full_attention", plain["rope_parameters"]}}}};
  return {plain, fmt::format("`rope_type` `{}`", type), {{"gemma3_text", of_full}}};
}

Setting dynamic() {
  Setting made = stretched("dynamic", {{"factor", 2.0}});
  made.unchanged = "nothing to take";
  return made;
}

// Of so many pairs of numbers that turn.
Json factors(size_t pairs) {
  const std::vector<double> some{1, 1.5, 2, 4};
  const std::vector<double> made(some.begin(), some.begin() + static_cast<int64_t>(pairs));
  return {{"short_factor", made}, {"original_max_position_embeddings", 16}};
}

Setting longrope() {
  Setting made = stretched("longrope", factors(2));
  for (const char* family : {"qwen2", "gpt_neox"})
    made.others[family] = rope("longrope", factors(1));
  made.others["phi3"] = rope("longrope", factors(4));
  made.others["phi3"]["original_max_position_embeddings"] = 16;
  for (Json* one :
       {&made.patch, &made.others["qwen2"], &made.others["gpt_neox"], &made.others["phi3"]}) {
    (*one)["rope_parameters"]["long_factor"] = {2.0, 4.0, 6.0, 8.0};
    (*one)["rope_parameters"]["long_factor"].get_ref<Json::array_t&>().resize(
        (*one)["rope_parameters"]["short_factor"].size());
  }
  return made;
}

Json only(const std::string& key, const Json& value) { return {{key, value}}; }

Table decoders() {
  const Json yarn{{"factor", 4.0}, {"original_max_position_embeddings", 16}, {"rope_theta", 3.0}};
  return {{"gpt2", "opt", "gpt_neox", "llama", "mistral", "qwen2", "qwen3", "phi3", "gemma3_text"},
          {stretched("linear", {{"factor", 2.0}}),
           stretched("llama3", {{"factor", 8.0},
                                {"low_freq_factor", 1.0},
                                {"high_freq_factor", 4.0},
                                {"original_max_position_embeddings", 16}}),
           stretched("yarn", yarn),
           dynamic(),
           longrope(),
           stretched("proportional", Json::object()),
           {only("rope_parameters", {{"partial_rotary_factor", 0.5}}), "`partial_rotary_factor`"},
           {only("sliding_window", 2)},
           {{{"use_sliding_window", false}, {"layer_types", nullptr}},
            "`use_sliding_window` false",
            {{"gemma3_text", only("use_sliding_window", false)}}},
           {only("layer_types", {"chunked_attention"}), "`layer_types` of other kinds"},
           {only("use_parallel_residual", false)},
           {only("tie_word_embeddings", true)},
           {only("tie_word_embeddings", false)},
           {only("hidden_act", "relu")},
           {only("hidden_activation", "relu")},
           {only("activation_function", "relu")},
           {only("hidden_act", "mish")},
           {only("hidden_activation", "mish")},
           {only("activation_function", "mish")},
           {only("attention_bias", true)},
           {{{"attention_bias", false}, {"mlp_bias", nullptr}}, "`attention_bias` false"},
           {only("query_pre_attn_scalar", 3)},
           {only("final_logit_softcapping", 30.0)},
           {only("use_bidirectional_attention", true)},
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

Json json_in(const std::string& path) { return Json::parse(test::bytes_of_file(path)); }

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
  for (const auto& variant : json_in(variants(family) + "/variants.json"))
    if (holds(variant, patch)) return true;
  const Json type = json_in(variants(family) + "/config.json").at("model_type");
  return std::ranges::any_of(test::golden_names(), [&](const std::string& name) {
    const Json config = json_in(test::golden(name) + "/config.json");
    return config.at("model_type") == type && holds(config, patch);
  });
}

std::string cell(const std::string& family, const Setting& setting) {
  const Json before = json_in(variants(family) + "/config.json"), &patch = setting.of(family);
  Json with = before;
  with.merge_patch(patch);
  const auto values = [&](const Json& json) {
    return model_values(model_from_huggingface(json.dump(), "here", {}));
  };
  try {
    const bool same = values(with) == values(before) && with != before,
               held = is_held(family, patch);
    if (same) return held ? setting.unchanged : "no effect";
    EXPECT_TRUE(held) << family << " " << patch;
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
      text += fmt::format(" {} |", cell(family, setting));
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
