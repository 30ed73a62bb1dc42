#include "rewriters.h"

#include <algorithm>
#include <utf8proc.h>

#include "charsmap.h"
#include "unicode.h"

namespace skein::text {
namespace {

constexpr size_t kLongCluster = 6;

bool plain(char byte) { return (byte & 0x80) == 0 && byte != '\r'; }

// Where the grapheme cluster ends that begins with `first` at `at`.
size_t cluster_end(std::string_view text, size_t at, Character first) {
  utf8proc_int32_t state = 0;
  size_t end = at + first.bytes;
  for (int32_t last = first.point; end < text.size();) {
    if (plain(text[end - 1]) && plain(text[end])) break;
    const Character next = character_at(text, end);
    if (next.point < 0 || utf8proc_grapheme_break_stateful(last, next.point, &state)) break;
    last = next.point;
    end += next.bytes;
  }
  return end;
}

class PrecompiledRewriter final : public Rewriter {
 public:
  PrecompiledRewriter(std::string_view charsmap, const std::string& where)
      : map_(charsmap, where) {}

  std::string rewritten(std::string_view text) const override {
    std::string out;
    out.reserve(text.size());
    for (size_t at = 0; at < text.size();) {
      const Character first = character_at(text, at);
      const size_t end = first.point < 0 ? at + 1 : cluster_end(text, at, first);
      if (first.point < 0)
        out.push_back(text[at]);
      else
        append(text.substr(at, end - at), out);
      at = end;
    }
    return out;
  }

  // The reference loses count of characters that it removes at the beginning.
  bool keeps_start(std::string_view) const override { return true; }

 private:
  bool append_known(std::string_view part, std::string& out) const {
    const Charsmap::Match match = map_.shortest(part);
    if (match.bytes > 0) out.append(match.made);
    return match.bytes > 0;
  }

  void append(std::string_view cluster, std::string& out) const {
    if (cluster.size() < kLongCluster && append_known(cluster, out)) return;
    for (size_t at = 0; at < cluster.size();) {
      const std::string_view part = cluster.substr(at, character_at(cluster, at).bytes);
      if (!append_known(part, out)) out.append(part);
      at += part.size();
    }
  }

  Charsmap map_;
};

class ReplaceRewriter final : public Rewriter {
 public:
  ReplaceRewriter(std::shared_ptr<const SplitPattern> pattern, std::string literal,
                  std::string content)
      : pattern_(std::move(pattern)), literal_(std::move(literal)), content_(std::move(content)) {}

  std::string rewritten(std::string_view text) const override {
    if (pattern_ == nullptr) return replaced(text, literal_, content_);
    std::string out;
    pattern_->divide(text, [&](std::string_view part, bool matched) {
      out.append(matched ? std::string_view(content_) : part);
    });
    return out;
  }

  // What is put in stands where the last character of the match stood.
  bool keeps_start(std::string_view text) const override {
    const size_t match = match_at_start(text);
    return match == 0 || (!content_.empty() && match == character_at(text, 0).bytes);
  }

 private:
  // The bytes of a match at the beginning, 0 where there is none.
  size_t match_at_start(std::string_view text) const {
    if (text.empty()) return 0;
    if (pattern_ == nullptr) return text.starts_with(literal_) ? literal_.size() : 0;
    size_t bytes = 0;
    pattern_->divide(text, [&](std::string_view part, bool matched) {
      if (matched && part.data() == text.data()) bytes = part.size();
    });
    return bytes;
  }

  std::shared_ptr<const SplitPattern> pattern_;
  std::string literal_, content_;
};

class StripRewriter final : public Rewriter {
 public:
  StripRewriter(bool left, bool right) : left_(left), right_(right) {}

  std::string rewritten(std::string_view text) const override {
    while (left_ && !text.empty() && white_space(character_at(text, 0).point))
      text.remove_prefix(character_at(text, 0).bytes);
    while (right_ && !text.empty()) {
      const Character last = character_before(text, text.size());
      if (!white_space(last.point)) break;
      text.remove_suffix(last.bytes);
    }
    return std::string(text);
  }

  bool keeps_start(std::string_view text) const override {
    return !left_ || text.empty() || !white_space(character_at(text, 0).point);
  }

 private:
  bool left_, right_;
};

class PrependRewriter final : public Rewriter {
 public:
  explicit PrependRewriter(std::string mark) : mark_(std::move(mark)) {}

  std::string rewritten(std::string_view text) const override {
    return text.empty() ? std::string() : mark_ + std::string(text);
  }
  std::string rewritten_within(std::string_view text, bool space_gone) const override {
    return space_gone && !text.starts_with(mark_) ? rewritten(text) : std::string(text);
  }

  bool keeps_start(std::string_view) const override { return true; }

 private:
  std::string mark_;
};

}  // namespace

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t found = std::min(text.find(from, at), text.size());
    out.append(text.substr(at, found - at));
    if (found < text.size()) out.append(to);
    at = found + from.size();
  }
  return out;
}

NormalizerStep precompiled_step(std::string_view charsmap, const std::string& where) {
  return rewrite_step(std::make_shared<PrecompiledRewriter>(charsmap, where));
}

NormalizerStep replace_step(std::shared_ptr<const SplitPattern> pattern, std::string literal,
                            std::string content) {
  return rewrite_step(std::make_shared<ReplaceRewriter>(std::move(pattern), std::move(literal),
                                                        std::move(content)));
}

NormalizerStep strip_step(bool left, bool right) {
  return rewrite_step(std::make_shared<StripRewriter>(left, right));
}

NormalizerStep prepend_step(std::string mark) {
  return rewrite_step(std::make_shared<PrependRewriter>(std::move(mark)));
}

}  // namespace skein::text
