#include "skein/generate/beam_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

namespace skein::generate {
namespace {

// Ids that would make an n-gram of `tokens` come again at their end.
std::vector<int32_t> repeating(const Tokens& tokens, int64_t n) {
  std::vector<int32_t> made;
  const int64_t before = n - 1, length = std::ssize(tokens);
  for (int64_t i = before; i < length; ++i)
    if (std::equal(tokens.end() - before, tokens.end(), tokens.begin() + i - before))
      made.push_back(tokens[i]);
  return made;
}

}  // namespace

BeamSearch::BeamSearch(const BeamConfig& config, const Tokens& prompt, int64_t most, int32_t end)
    : config_(config), prompt_(&prompt), most_(most), end_(end) {
  SKEIN_CHECK(config.size > 0 && most > 0);
}

int32_t BeamSearch::forced() const {
  if (config_.last_token >= 0 && length_ + 1 == most_) return narrow<int32_t>(config_.last_token);
  return length_ == 0 ? narrow<int32_t>(config_.first_token) : -1;
}

NextToken BeamSearch::next(size_t beam) const {
  if (const int32_t id = forced(); id >= 0) return {id};
  NextToken made;
  if (config_.no_repeat_ngram > 0) {
    Tokens tokens = *prompt_;
    const Tokens& own = beams_[beam].tokens;
    tokens.insert(tokens.end(), own.begin(), own.end());
    made.banned = repeating(tokens, config_.no_repeat_ngram);
  }
  if (end_ >= 0 && length_ < config_.min_tokens) made.banned.push_back(end_);
  return made;
}

std::vector<BeamSearch::Continued> BeamSearch::likeliest(
    const std::vector<Candidate>& candidates) const {
  std::vector<Continued> made;
  if (const int32_t id = forced(); id >= 0) {
    for (int64_t beam = 0; beam < std::ssize(beams_); ++beam)
      made.push_back({{beam, id, 0}, beams_[beam].sum});
  } else {
    for (const Candidate& one : candidates)
      if (one.log_probability > -std::numeric_limits<float>::infinity())
        made.push_back({one, beams_.at(one.beam).sum + one.log_probability});
  }
  const auto count = std::min<int64_t>(2 * config_.size, std::ssize(made));
  std::partial_sort(
      made.begin(), made.begin() + count, made.end(), [](const Continued& a, const Continued& b) {
        return std::tuple(-a.sum, a.by.beam, a.by.id) < std::tuple(-b.sum, b.by.beam, b.by.id);
      });
  made.resize(count);
  return made;
}

double BeamSearch::score(float sum, int64_t length) const {
  const auto ids = static_cast<double>(length);
  const double base = config_.length_norm == LengthNorm::gnmt ? (5 + ids) / 6 : ids;
  return sum / std::pow(base, config_.length_penalty);
}

void BeamSearch::keep(const Continued& ended) {
  Continuation made{beams_[ended.by.beam].tokens, ended.by.id == end_, score(ended.sum, length_)};
  if (!made.ended) made.tokens.push_back(ended.by.id);
  insert(std::move(made));
}

void BeamSearch::keep_beams() {
  for (const Beam& beam : beams_) {
    Continuation made{beam.tokens, false, score(beam.sum, std::max<int64_t>(length_, 1))};
    made.stopped = true;
    insert(std::move(made));
  }
}

void BeamSearch::insert(Continuation made) {
  const auto place = std::find_if(hypotheses_.begin(), hypotheses_.end(),
                                  [&](const Continuation& one) { return one.score < made.score; });
  hypotheses_.insert(place, std::move(made));
  if (std::ssize(hypotheses_) > config_.size) hypotheses_.pop_back();
}

bool BeamSearch::can_improve() const {
  if (std::ssize(hypotheses_) < config_.size) return true;
  if (config_.size == 1 || config_.early_stop == EarlyStop::at_once) return false;
  const bool longest = config_.early_stop == EarlyStop::never && config_.length_penalty > 0;
  return score(beams_[0].sum, longest ? most_ : length_) > hypotheses_.back().score;
}

void BeamSearch::advance(const std::vector<Candidate>& candidates) {
  SKEIN_CHECK(!finished_);
  const std::vector<Continued> found = likeliest(candidates);
  if (found.empty() && hypotheses_.empty()) keep_beams();
  ++length_;
  std::vector<Beam> next;
  for (int64_t rank = 0; rank < std::ssize(found); ++rank) {
    const Continued& one = found[rank];
    if (one.by.id == end_ || length_ == most_) {
      if (rank < config_.size) keep(one);
    } else if (std::ssize(next) < config_.size) {
      next.push_back({beams_[one.by.beam].tokens, one.sum, one.by.beam});
      next.back().tokens.push_back(one.by.id);
    }
  }
  beams_ = std::move(next);
  finished_ = beams_.empty() || !can_improve();
}

std::vector<Continuation> BeamSearch::best() const {
  const auto count = std::min<int64_t>(config_.best, std::ssize(hypotheses_));
  return {hypotheses_.begin(), hypotheses_.begin() + count};
}

}  // namespace skein::generate
