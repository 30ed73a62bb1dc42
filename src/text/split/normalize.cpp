#include "normalize.h"

#include <algorithm>
#include <array>
#include <utf8proc.h>

#include "skein/core/error.h"

#include "unicode.h"

namespace skein::text {
namespace {

using StepKind = NormalizerStep::Kind;
using Points = std::vector<int32_t>;

bool composes(StepKind kind) { return kind == StepKind::nfc || kind == StepKind::nfkc; }

bool compatible(StepKind kind) { return kind == StepKind::nfkc || kind == StepKind::nfkd; }

bool normal_form(StepKind kind) {
  return composes(kind) || compatible(kind) || kind == StepKind::nfd;
}

void append_decomposed(int32_t point, bool compatible, Points& points) {
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE |
                                                      (compatible ? UTF8PROC_COMPAT : 0));
  std::array<utf8proc_int32_t, 32> parts;
  int boundary = 0;
  const utf8proc_ssize_t count =
      utf8proc_decompose_char(point, parts.data(), parts.size(), options, &boundary);
  SKEIN_CHECK(count >= 0 && count <= std::ssize(parts));
  points.insert(points.end(), parts.begin(), parts.begin() + count);
}

int combining_class(int32_t point) { return utf8proc_get_property(point)->combining_class; }

// Marks after one base stand by rising class; a library's own order would take quadratic time over
// long runs.
void order_marks(Points& points) {
  for (auto at = points.begin(); at != points.end();) {
    if (*at < 0x300 || combining_class(*at) == 0) {
      ++at;
      continue;
    }
    const auto end =
        std::find_if(at, points.end(), [](int32_t point) { return combining_class(point) == 0; });
    std::stable_sort(at, end,
                     [](int32_t a, int32_t b) { return combining_class(a) < combining_class(b); });
    at = end;
  }
}

void append_form(std::string_view run, StepKind kind, std::string& out) {
  Points points;
  for (size_t at = 0; at < run.size();) {
    const Character next = character_at(run, at);
    append_decomposed(next.point, compatible(kind), points);
    at += next.bytes;
  }
  order_marks(points);
  if (composes(kind)) {
    const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    const utf8proc_ssize_t count =
        utf8proc_normalize_utf32(points.data(), std::ssize(points), options);
    SKEIN_CHECK(count >= 0);
    points.resize(count);
  }
  for (const int32_t point : points) append_utf8(point, out);
}

// Characters that no normal form changes nor composes with what precedes them, in NFC.
bool settled(int32_t point) { return point < 0x300 || (point >= 0x2010 && point <= 0x205E); }

// Only what is not ASCII changes, and the one ASCII character before it, which may take a mark.
std::string in_form(std::string_view text, StepKind kind) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    size_t wide = at;
    while (wide < text.size() && ascii(text[wide])) ++wide;
    const size_t base = wide > at ? wide - 1 : at;
    out.append(text.substr(at, base - at));
    at = wide;
    bool all_settled = kind == StepKind::nfc;
    Character next{0, 0};
    for (; at < text.size() && !ascii(text[at]); at += next.bytes) {
      next = character_at(text, at);
      if (next.point < 0) break;
      all_settled = all_settled && settled(next.point);
    }
    if (all_settled)
      out.append(text.substr(base, at - base));
    else
      append_form(text.substr(base, at - base), kind, out);
    if (at < text.size() && !ascii(text[at])) out.push_back(text[at++]);
  }
  return out;
}

template <class Body>
std::string mapped(std::string_view text, Body&& body) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Character next = character_at(text, at);
    if (next.point < 0)
      out.push_back(text[at]);
    else
      body(next.point, out);
    at += next.bytes;
  }
  return out;
}

constexpr bool ideograph(int32_t point) {
  return (point >= 0x4E00 && point <= 0x9FFF) || (point >= 0x3400 && point <= 0x4DBF) ||
         (point >= 0x20000 && point <= 0x2A6DF) || (point >= 0x2A700 && point <= 0x2B73F) ||
         (point >= 0x2B740 && point <= 0x2B81F) || (point >= 0x2B920 && point <= 0x2CEAF) ||
         (point >= 0xF900 && point <= 0xFAFF) || (point >= 0x2F800 && point <= 0x2FA1F);
}

bool dropped(int32_t point) {
  if (point == '\t' || point == '\n' || point == '\r') return false;
  return point <= 0 || point == 0xFFFD || control_or_format(point);
}

std::string cleaned(std::string_view text, const NormalizerStep& step) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (size_t at = 0; at < text.size();) {
    const Character next = character_at(text, at);
    const std::string_view bytes = text.substr(at, next.bytes);
    at += next.bytes;
    if (step.clean_text && dropped(next.point)) continue;
    if (step.clean_text && white_space(next.point))
      out.push_back(' ');
    else if (step.handle_chinese_chars && ideograph(next.point))
      out.append(" ").append(bytes).append(" ");
    else
      out.append(bytes);
  }
  return out;
}

std::string bert(std::string_view text, const NormalizerStep& step) {
  std::string out = cleaned(text, step);
  if (step.strip_accents)
    out = mapped(in_form(out, StepKind::nfd), [](int32_t point, std::string& kept) {
      if (!nonspacing_mark(point)) append_utf8(point, kept);
    });
  return step.lowercase ? mapped(out, append_lower) : out;
}

bool keeps_start(std::string_view text, const NormalizerStep& step) {
  if (step.kind == StepKind::rewrite) return step.rewriter->keeps_start(text);
  const int32_t first = text.empty() ? -1 : character_at(text, 0).point;
  if (step.kind == StepKind::strip_accents) return !mark(first);
  if (step.kind != StepKind::bert || text.empty()) return true;
  return !(step.clean_text && dropped(first)) && !(step.strip_accents && nonspacing_mark(first));
}

bool begins_with_space(std::string_view text) {
  return !text.empty() && white_space(character_at(text, 0).point);
}

}  // namespace

std::string normalized(std::string_view text, const NormalizerStep& step) {
  switch (step.kind) {
    case StepKind::lowercase: return mapped(text, append_lower);
    case StepKind::strip_accents:
      return mapped(text, [](int32_t point, std::string& kept) {
        if (!mark(point)) append_utf8(point, kept);
      });
    case StepKind::bert: return bert(text, step);
    case StepKind::rewrite: return step.rewriter->rewritten(text);
    default: return in_form(text, step.kind);
  }
}

std::string normalized(std::string_view text, const std::vector<NormalizerStep>& steps,
                       TextPlace* place) {
  std::string out(text);
  const bool within = place != nullptr && *place == TextPlace::goes_on,
             spaced = within && begins_with_space(text);
  for (const NormalizerStep& step : steps) {
    if (place != nullptr && *place == TextPlace::begins && !keeps_start(out, step))
      *place = TextPlace::elsewhere;
    out = within && step.kind == StepKind::rewrite
              ? step.rewriter->rewritten_within(out, spaced && !begins_with_space(out))
              : normalized(std::string_view(out), step);
  }
  if (spaced && !begins_with_space(out)) *place = TextPlace::after_space;
  return out;
}

bool surely_normal(std::string_view text, const std::vector<NormalizerStep>& steps) {
  if (steps.empty()) return true;
  for (const NormalizerStep& step : steps)
    if (!normal_form(step.kind) && step.kind != StepKind::strip_accents) return false;
  return std::all_of(text.begin(), text.end(), ascii);
}

}  // namespace skein::text
