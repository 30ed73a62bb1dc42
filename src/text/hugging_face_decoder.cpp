#include "skein/core/error.h"

#include "hugging_face.h"
#include "text/split/unicode.h"

namespace skein::text {
namespace {

constexpr const char* kDecoders =
    "ByteLevel, WordPiece, Metaspace, Replace, ByteFallback, Fuse, Strip and Sequence";
using DecoderKind = DecoderStep::Kind;

CanonicalJson read_word_piece(const Component& part, std::vector<DecoderStep>& steps) {
  part.only({"prefix", "cleanup"});
  DecoderStep step{DecoderKind::word_piece, part.text("prefix", "##")};
  step.flag = part.flag("cleanup", true);
  steps.push_back(step);
  return {{"type", "WordPiece"}, {"prefix", step.mark}, {"cleanup", step.flag}};
}

CanonicalJson read_marks(const Component& part, std::vector<DecoderStep>& steps) {
  SplitStep split;
  CanonicalJson canonical = read_metaspace(part, split);
  DecoderStep step{DecoderKind::metaspace, split.mark};
  step.flag = split.prepend != SplitStep::Prepend::never;
  steps.push_back(step);
  return canonical;
}

CanonicalJson read_replacement(const Component& part, std::vector<DecoderStep>& steps) {
  part.only({"pattern", "content"});
  DecoderStep step{DecoderKind::replace};
  CanonicalJson pattern = read_pattern(part, step.pattern, step.mark);
  part.at("content");
  step.content = part.text("content", "");
  steps.push_back(step);
  return {{"type", "Replace"}, {"pattern", pattern}, {"content", step.content}};
}

size_t read_count(const Component& part, const char* key) {
  const int64_t count = part.integer(key, 0);
  require(count >= 0 && count <= INT32_MAX, "\"{}\" of {} is {}; it must be 0 or more", key,
          part.where(), count);
  return static_cast<size_t>(count);
}

CanonicalJson read_strip(const Component& part, std::vector<DecoderStep>& steps) {
  part.only({"content", "start", "stop"});
  DecoderStep step{DecoderKind::strip, part.text("content", "")};
  require(!step.mark.empty() && character_at(step.mark, 0).bytes == step.mark.size(),
          "\"content\" of {} must be one character, not {}", part.where(), step.mark.substr(0, 40));
  step.at_begin = read_count(part, "start");
  step.at_end = read_count(part, "stop");
  steps.push_back(step);
  return {
      {"type", "Strip"}, {"content", step.mark}, {"start", step.at_begin}, {"stop", step.at_end}};
}

CanonicalJson read_step(const Component& part, std::vector<DecoderStep>& steps) {
  if (part.type() == "WordPiece") return read_word_piece(part, steps);
  if (part.type() == "Metaspace") return read_marks(part, steps);
  if (part.type() == "Replace") return read_replacement(part, steps);
  if (part.type() == "Strip") return read_strip(part, steps);
  if (part.type() != "ByteFallback" && part.type() != "Fuse") part.refuse_type(kDecoders);
  part.only({});
  steps.push_back({part.type() == "Fuse" ? DecoderKind::fuse : DecoderKind::byte_fallback});
  return {{"type", part.type()}};
}

}  // namespace

CanonicalJson read_decoder(const HuggingFaceJson& json, ImportedParts& parts,
                           std::vector<DecoderStep>& steps) {
  std::vector<CanonicalJson> read;
  const auto found = flattened(json, "the tokenizer's decoder", "decoders");
  for (const Component& part : found) {
    const bool bytes = part.type() == "ByteLevel";
    if (bytes && found.size() > 1) part.refuse_type("that one alone, and others in a Sequence");
    read.push_back(bytes ? read_byte_level(part) : read_step(part, steps));
    parts.decodes_bytes = parts.decodes_bytes || bytes;
  }
  parts.tidies_spaces =
      steps.size() == 1 && steps[0].kind == DecoderKind::word_piece && steps[0].flag;
  return gathered(json, "decoders", read);
}

}  // namespace skein::text
