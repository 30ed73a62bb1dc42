#include "skein/train/tasks/entity_scores.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/strings.h"

namespace skein::train {
namespace {

struct Tag {
  std::string_view prefix;  // one character
  std::string_view type;
};

Tag tag_of(std::string_view text) {
  size_t width = 1;
  while (width < text.size() && continues_character(text[width])) ++width;
  const std::string_view rest = text.substr(width);
  const size_t hyphen = rest.find('-');
  const std::string_view type = hyphen == std::string_view::npos ? rest : rest.substr(hyphen + 1);
  return {text.substr(0, width), type.empty() ? std::string_view("_") : type};
}

bool one_of(std::string_view prefix, std::string_view letters) {
  return prefix.size() == 1 && letters.find(prefix[0]) != std::string_view::npos;
}

bool type_changes(const Tag& from, const Tag& to, std::string_view prefix) {
  return !one_of(prefix, "O.") && from.type != to.type;
}

bool ends(const Tag& before, const Tag& after) {
  return one_of(before.prefix, "ES") ||
         (one_of(before.prefix, "BI") && one_of(after.prefix, "BSO")) ||
         type_changes(before, after, before.prefix);
}

bool begins(const Tag& before, const Tag& after) {
  return one_of(after.prefix, "BS") ||
         (one_of(before.prefix, "ESO") && one_of(after.prefix, "EI")) ||
         type_changes(before, after, after.prefix);
}

using Spans = std::map<std::string, std::set<std::pair<int64_t, int64_t>>, std::less<>>;

// Sentences follow each other with an O between them. An entity may end that never began (after a
// tag of one unknown character): it counts from the last beginning, as in the reference.
Spans entities_of(const TagSequences& sentences) {
  Spans spans;
  Tag before{"O", ""};
  int64_t word = 0, begin = 0;
  const auto take = [&](std::string_view text) {
    const Tag tag = tag_of(text);
    if (ends(before, tag)) spans[std::string(before.type)].emplace(begin, word);
    if (begins(before, tag)) begin = word;
    before = tag;
    ++word;
  };
  for (const auto& sentence : sentences) {
    for (const std::string& tag : sentence) take(tag);
    take("O");
  }
  return spans;
}

void add(EntityScores& scores, const std::string& type, int64_t ClassScore::*count,
         size_t entities) {
  scores.types[type].*count += entities;
  scores.all.*count += entities;
}

size_t shared(const Spans& spans, const std::string& type, const Spans::mapped_type& others) {
  const auto found = spans.find(type);
  if (found == spans.end()) return 0;
  return std::ranges::count_if(others,
                               [&](const auto& span) { return found->second.contains(span); });
}

void check_sentences(const TagSequences& truth, const TagSequences& predicted) {
  SKEIN_CHECK_EQ(truth.size(), predicted.size());
  for (size_t i = 0; i < truth.size(); ++i) {
    SKEIN_CHECK_EQ(truth[i].size(), predicted[i].size());
    for (size_t word = 0; word < truth[i].size(); ++word)
      SKEIN_CHECK(!truth[i][word].empty() && !predicted[i][word].empty());
  }
}

}  // namespace

double EntityScores::macro_f1() const {
  double sum = 0;
  for (const auto& [type, score] : types) sum += score.f1();
  return types.empty() ? 0 : sum / types.size();
}

double EntityScores::weighted_f1() const {
  double sum = 0;
  for (const auto& [type, score] : types) sum += score.support * score.f1();
  return all.support == 0 ? 0 : sum / all.support;
}

EntityScores entity_scores(const TagSequences& truth, const TagSequences& predicted) {
  check_sentences(truth, predicted);
  const Spans known = entities_of(truth), found = entities_of(predicted);
  EntityScores scores;
  for (const auto& [type, spans] : known) add(scores, type, &ClassScore::support, spans.size());
  for (const auto& [type, spans] : found) {
    add(scores, type, &ClassScore::predicted, spans.size());
    add(scores, type, &ClassScore::correct, shared(known, type, spans));
  }
  return scores;
}

}  // namespace skein::train
