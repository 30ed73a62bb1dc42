// GPT-NeoX's tokenizer with the markers of all chat templates.
#pragma once

#include <memory>

#include "skein/text/tokenizer.h"

#include "golden_files.h"

namespace skein::test {

inline const char* const kLlama3Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// GPT-NeoX's tokenizer with the markers of all templates, dividing words as it does or as Llama
// 3's.
inline std::unique_ptr<text::Tokenizer> with_markers(bool llama3) {
  using Json = nlohmann::json;
  Json json = Json::parse(golden_text("neox-20b-tokenizer.json.xz"));
  int id = 50277;
  for (const char* marker : {"<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|begin_of_text|>",
                             "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"})
    json["added_tokens"].push_back(
        {{"id", id++}, {"content", marker}, {"special", true}, {"normalized", false}});
  const Json split{{"type", "Split"},
                   {"pattern", {{"Regex", kLlama3Words}}},
                   {"behavior", "Isolated"},
                   {"invert", false}};
  const Json level{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  if (llama3) json["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {split, level}}};
  return text::tokenizer_from_json(json.dump());
}

inline const text::Tokenizer& marked_tokenizer(bool llama3 = false) {
  static const std::unique_ptr<text::Tokenizer> made[] = {with_markers(false), with_markers(true)};
  return *made[llama3];
}

inline std::vector<text::Message> messages_of(const nlohmann::json& list) {
  std::vector<text::Message> made;
  for (const nlohmann::json& turn : list) made.push_back({turn["role"], turn["content"]});
  return made;
}

}  // namespace skein::test
