#include "token_decoder.h"

#include <algorithm>
#include <array>
#include <fmt/ranges.h>
#include <utility>

#include "byte_pieces.h"
#include "text/split/rewriters.h"
#include "text/split/unicode.h"

namespace skein::text {
namespace {

using Tokens = std::vector<std::string>;
void decode_metaspace(const DecoderStep& step, Tokens& tokens) {
  for (size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = replaced(tokens[i], step.mark, i == 0 && step.flag ? "" : " ");
}

void replace(const DecoderStep& step, Tokens& tokens) {
  const NormalizerStep rule = replace_step(step.pattern, step.mark, step.content);
  for (std::string& token : tokens) token = normalized(token, rule);
}

void append_bytes(std::string& bytes, Tokens& made) {
  if (bytes.empty()) return;
  if (valid_utf8(bytes))
    made.push_back(bytes);
  else
    made.insert(made.end(), bytes.size(), std::string(kReplacementCharacter));
  bytes.clear();
}

void join_bytes(Tokens& tokens) {
  Tokens made;
  std::string bytes;
  for (std::string& token : tokens) {
    if (const int byte = byte_of_piece(token); byte >= 0) {
      bytes.push_back(static_cast<char>(byte));
      continue;
    }
    append_bytes(bytes, made);
    made.push_back(std::move(token));
  }
  append_bytes(bytes, made);
  tokens = std::move(made);
}

void strip(const DecoderStep& step, Tokens& tokens) {
  for (std::string& token : tokens) {
    std::string_view rest = token;
    for (size_t i = 0; i < step.at_begin && rest.starts_with(step.mark); ++i)
      rest.remove_prefix(step.mark.size());
    for (size_t i = 0; i < step.at_end && rest.ends_with(step.mark); ++i)
      rest.remove_suffix(step.mark.size());
    token = std::string(rest);
  }
}

void join_pieces(const DecoderStep& step, Tokens& tokens) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    std::string& token = tokens[i];
    if (i > 0) token = token.starts_with(step.mark) ? token.substr(step.mark.size()) : " " + token;
    if (step.flag) token = tidied(std::move(token));
  }
}

void apply_step(const DecoderStep& step, Tokens& tokens) {
  switch (step.kind) {
    case DecoderStep::Kind::metaspace: return decode_metaspace(step, tokens);
    case DecoderStep::Kind::replace: return replace(step, tokens);
    case DecoderStep::Kind::byte_fallback: return join_bytes(tokens);
    case DecoderStep::Kind::strip: return strip(step, tokens);
    case DecoderStep::Kind::word_piece: return join_pieces(step, tokens);
    case DecoderStep::Kind::fuse: tokens = {fmt::format("{}", fmt::join(tokens, ""))}; return;
  }
}

class StepDecoder final : public TokenDecoder {
 public:
  explicit StepDecoder(std::vector<DecoderStep> steps) : steps_(std::move(steps)) {}

  std::string decode(Tokens tokens) const override {
    for (const DecoderStep& step : steps_) apply_step(step, tokens);
    return fmt::format("{}", fmt::join(tokens, steps_.empty() ? " " : ""));
  }

  bool joins_bytes() const override {
    return std::any_of(steps_.begin(), steps_.end(), [](const DecoderStep& step) {
      return step.kind == DecoderStep::Kind::byte_fallback;
    });
  }

 private:
  std::vector<DecoderStep> steps_;
};

}  // namespace

std::shared_ptr<const TokenDecoder> token_decoder(std::vector<DecoderStep> steps) {
  return std::make_shared<StepDecoder>(std::move(steps));
}

std::string tidied(std::string token) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kReplacements = {
      {{" .", "."},
       {" ?", "?"},
       {" !", "!"},
       {" ,", ","},
       {" ' ", "'"},
       {" n't", "n't"},
       {" 'm", "'m"},
       {" do not", " don't"},
       {" 's", "'s"},
       {" 've", "'ve"},
       {" 're", "'re"}}};
  for (const auto& [from, to] : kReplacements) token = replaced(token, from, to);
  return token;
}

}  // namespace skein::text
