#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <string_view>
#include <utility>

#include "skein/core/base64.h"
#include "skein/core/error.h"
#include "skein/text/split/known_patterns.h"

#include "hugging_face.h"
#include "text/split/rewriters.h"

namespace skein::text {
namespace {

using NormalizerKind = NormalizerStep::Kind;
using SplitKind = SplitStep::Kind;
using Keep = SplitStep::Keep;

constexpr const char* kNormalizers =
    "NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, BertNormalizer, Precompiled, Replace, Strip, "
    "Prepend and Sequence";
constexpr const char* kPreTokenizers =
    "ByteLevel, Metaspace, Split, BertPreTokenizer, Whitespace, WhitespaceSplit, Digits, "
    "Punctuation and Sequence";

constexpr std::array<std::pair<const char*, NormalizerKind>, 6> kPlainNormalizers = {
    {{"NFC", NormalizerKind::nfc},
     {"NFD", NormalizerKind::nfd},
     {"NFKC", NormalizerKind::nfkc},
     {"NFKD", NormalizerKind::nfkd},
     {"Lowercase", NormalizerKind::lowercase},
     {"StripAccents", NormalizerKind::strip_accents}}};

constexpr const char* kDeepSeekPattern =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
    R"( ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

CanonicalJson read_bert_normalizer(const Component& part, std::vector<NormalizerStep>& steps) {
  part.only({"clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
  NormalizerStep step{NormalizerKind::bert};
  step.clean_text = part.flag("clean_text", true);
  step.handle_chinese_chars = part.flag("handle_chinese_chars", true);
  step.lowercase = part.flag("lowercase", true);
  step.strip_accents = part.flag("strip_accents", step.lowercase);
  steps.push_back(step);
  CanonicalJson strip = nullptr;
  if (part.find("strip_accents") != nullptr) strip = step.strip_accents;
  return {{"type", "BertNormalizer"},
          {"clean_text", step.clean_text},
          {"handle_chinese_chars", step.handle_chinese_chars},
          {"strip_accents", strip},
          {"lowercase", step.lowercase}};
}

CanonicalJson read_precompiled(const Component& part, std::vector<NormalizerStep>& steps) {
  part.only({"precompiled_charsmap"});
  part.at("precompiled_charsmap");
  const std::string text = part.text("precompiled_charsmap", "");
  const auto bytes = from_base64(text);
  require(bytes.has_value(), "\"precompiled_charsmap\" of {} is not base64", part.where());
  steps.push_back(precompiled_step(*bytes, part.where()));
  return {{"type", "Precompiled"}, {"precompiled_charsmap", text}};
}

// What is put into text, again and again.
std::string insertion(const Component& part, const char* key) {
  std::string text = part.text(key, "");
  require(text.size() <= kLongestToken, "\"{}\" of {} has {} bytes; {} is the most", key,
          part.where(), text.size(), kLongestToken);
  return text;
}

CanonicalJson read_replace(const Component& part, std::vector<NormalizerStep>& steps) {
  part.only({"pattern", "content"});
  std::shared_ptr<const SplitPattern> pattern;
  std::string literal;
  CanonicalJson read = read_pattern(part, pattern, literal);
  part.at("content");
  const std::string content = insertion(part, "content");
  steps.push_back(replace_step(pattern, literal, content));
  return {{"type", "Replace"}, {"pattern", read}, {"content", content}};
}

CanonicalJson read_strip(const Component& part, std::vector<NormalizerStep>& steps) {
  part.only({"strip_left", "strip_right"});
  const bool left = part.flag("strip_left", true), right = part.flag("strip_right", true);
  steps.push_back(strip_step(left, right));
  return {{"type", "Strip"}, {"strip_left", left}, {"strip_right", right}};
}

CanonicalJson read_normalizer_step(const Component& part, std::vector<NormalizerStep>& steps) {
  if (part.type() == "BertNormalizer") return read_bert_normalizer(part, steps);
  if (part.type() == "Precompiled") return read_precompiled(part, steps);
  if (part.type() == "Replace") return read_replace(part, steps);
  if (part.type() == "Strip") return read_strip(part, steps);
  if (part.type() == "Prepend") {
    part.only({"prepend"});
    const std::string mark = insertion(part, "prepend");
    steps.push_back(prepend_step(mark));
    return {{"type", "Prepend"}, {"prepend", mark}};
  }
  for (const auto& [name, kind] : kPlainNormalizers) {
    if (part.type() != name) continue;
    part.only({});
    steps.push_back({kind});
    return {{"type", name}};
  }
  part.refuse_type(kNormalizers);
}

struct KnownPattern {
  std::string_view expression;
  SplitStep step;
  bool everywhere = true;  // its matches leave nothing out
};

// The common patterns have scanners of their own, which tests/text/split_test.cpp holds against the
// library.
const std::array kKnownPatterns = {
    KnownPattern{kGpt2Pattern, {SplitKind::gpt2}},
    KnownPattern{kLlama3Pattern, {SplitKind::llama3, 3}},
    KnownPattern{kQwen2Pattern, {SplitKind::llama3, 1}},
    KnownPattern{kO200kPattern, {SplitKind::o200k}},
    KnownPattern{kDeepSeekPattern, {SplitKind::deepseek}, false},
    KnownPattern{"\\p{N}", {SplitKind::numbers, 1}, false},
    KnownPattern{"\\p{N}{1,3}", {SplitKind::numbers, 3}, false},
};

SplitStep split_step(const std::string& expression, Keep keep) {
  for (const KnownPattern& known : kKnownPatterns)
    if (expression == known.expression &&
        (keep == Keep::all || (keep == Keep::matches && known.everywhere)))
      return known.step;
  return {SplitKind::pattern, 0, std::make_shared<const SplitPattern>(expression), keep};
}

std::string quoted(const std::string& text) {
  std::string expression;
  for (const unsigned char byte : text) {
    const bool plain = byte >= 128 || std::isalnum(byte);
    expression += plain ? std::string(1, byte) : fmt::format("\\x{{{:x}}}", byte);
  }
  return expression;
}

// {"Regex": "..."} or {"String": "..."}
std::string pattern_text(const Component& part, bool& regex) {
  const HuggingFaceJson& pattern = part.at("pattern");
  regex = pattern.is_object() && pattern.size() == 1 && pattern.contains("Regex");
  const bool literal = pattern.is_object() && pattern.size() == 1 && pattern.contains("String");
  require((regex || literal) && pattern.begin()->is_string(),
          "\"pattern\" of {} must be a \"Regex\" or a \"String\"", part.where());
  return pattern.begin()->get<std::string>();
}

CanonicalJson read_split(const Component& part, std::vector<SplitStep>& steps) {
  part.only({"pattern", "behavior", "invert"});
  const std::string behavior = part.text("behavior", "");
  const bool invert = part.flag("invert", false);
  if (behavior != "Isolated" && behavior != "Removed")
    part.refuse("behavior", behavior.substr(0, 40));
  const Keep removed = invert ? Keep::matches : Keep::others;
  bool regex = false;
  const std::string text = pattern_text(part, regex);
  steps.push_back(
      split_step(regex ? text : quoted(text), behavior == "Isolated" ? Keep::all : removed));
  return {{"type", "Split"},
          {"pattern", {{regex ? "Regex" : "String", text}}},
          {"behavior", behavior},
          {"invert", invert}};
}

CanonicalJson read_pre_tokenizer_step(const Component& part, std::vector<SplitStep>& steps) {
  if (part.type() == "ByteLevel") {
    const CanonicalJson read = read_byte_level(part);
    if (read["add_prefix_space"] == true) steps.push_back({SplitKind::prefix_space});
    if (read["use_regex"] == true) steps.push_back({SplitKind::gpt2});
    return read;
  }
  if (part.type() == "Split") return read_split(part, steps);
  if (part.type() == "Metaspace") {
    for (const SplitStep& step : steps)
      require(step.kind != SplitKind::metaspace, "{} is a second Metaspace; one is supported",
              part.where());
    return read_metaspace(part, steps.emplace_back());
  }
  if (part.type() == "Digits") {
    part.only({"individual_digits"});
    const bool individual = part.flag("individual_digits", false);
    steps.push_back({SplitKind::numbers, individual ? 1 : std::numeric_limits<size_t>::max()});
    return {{"type", "Digits"}, {"individual_digits", individual}};
  }
  if (part.type() == "Punctuation") {
    part.only({"behavior"});
    if (part.text("behavior", "Isolated") != "Isolated")
      part.refuse("behavior", "other than Isolated");
    steps.push_back({SplitKind::punctuation});
    return {{"type", "Punctuation"}, {"behavior", "Isolated"}};
  }
  part.only({});
  if (part.type() == "BertPreTokenizer")
    steps.push_back({SplitKind::bert});
  else if (part.type() == "Whitespace")
    steps.push_back({SplitKind::words});
  else if (part.type() == "WhitespaceSplit")
    steps.push_back({SplitKind::white_space});
  else
    part.refuse_type(kPreTokenizers);
  return {{"type", part.type()}};
}

constexpr std::array<std::pair<const char*, SplitStep::Prepend>, 3> kPrepends = {
    {{"first", SplitStep::Prepend::first},
     {"never", SplitStep::Prepend::never},
     {"always", SplitStep::Prepend::always}}};

}  // namespace

CanonicalJson read_pattern(const Component& part, std::shared_ptr<const SplitPattern>& pattern,
                           std::string& literal) {
  bool regex = false;
  const std::string text = pattern_text(part, regex);
  require(!text.empty(), "\"pattern\" of {} is empty", part.where());
  if (regex)
    pattern = std::make_shared<const SplitPattern>(text);
  else
    literal = text;
  return {{regex ? "Regex" : "String", text}};
}

// Older files say add_prefix_space instead of prepend_scheme.
CanonicalJson read_metaspace(const Component& part, SplitStep& step) {
  part.only({"replacement", "prepend_scheme", "add_prefix_space", "split", "str_rep"});
  step.kind = SplitKind::metaspace;
  step.mark = part.text("replacement", "\u2581");
  require(!step.mark.empty() && character_at(step.mark, 0).bytes == step.mark.size(),
          "\"replacement\" of {} must be one character, not {}", part.where(),
          step.mark.substr(0, 40));
  const bool adds = part.flag("add_prefix_space", true);
  const std::string scheme = part.text("prepend_scheme", adds ? "always" : "never");
  const auto found = std::find_if(kPrepends.begin(), kPrepends.end(),
                                  [&](const auto& known) { return known.first == scheme; });
  if (found == kPrepends.end() || (!adds && scheme != "never"))
    part.refuse("prepend_scheme",
                fmt::format("{} and add_prefix_space = {}", scheme.substr(0, 40), adds));
  step.prepend = found->second;
  step.divides = part.flag("split", true);
  return {{"type", "Metaspace"},
          {"replacement", step.mark},
          {"prepend_scheme", scheme},
          {"split", step.divides}};
}

CanonicalJson read_normalizer(const HuggingFaceJson& json, std::vector<NormalizerStep>& steps) {
  std::vector<CanonicalJson> parts;
  for (const Component& part : flattened(json, "the tokenizer's normalizer", "normalizers"))
    parts.push_back(read_normalizer_step(part, steps));
  return gathered(json, "normalizers", parts);
}

CanonicalJson read_pre_tokenizer(const HuggingFaceJson& json, std::vector<SplitStep>& steps,
                                 bool& byte_level) {
  std::vector<CanonicalJson> parts;
  for (const Component& part : flattened(json, "the tokenizer's pre_tokenizer", "pretokenizers")) {
    require(!byte_level, "{} of type {} follows ByteLevel, which this program does not support",
            part.where(), part.type().substr(0, 60));
    byte_level = part.type() == "ByteLevel";
    parts.push_back(read_pre_tokenizer_step(part, steps));
  }
  return gathered(json, "pretokenizers", parts);
}

}  // namespace skein::text
