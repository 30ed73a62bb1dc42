#include <algorithm>
#include <numeric>
#include <set>

#include "skein/core/error.h"
#include "skein/data/samples/two_sided_samples.h"

namespace skein::data {
namespace {

constexpr int kTried = 32;  // open rows that are asked whether a pair fits

// Gives pairs, one after the other, to rows that both sides fit: of the first few that have the
// least room left for a source, the first with room for the target; where there is none, a new row.
class Packer {
 public:
  Packer(int64_t source_room, int64_t target_room)
      : source_room_(source_room), target_room_(target_room) {}

  // The number of its row.
  int64_t add(int64_t source, int64_t target) {
    auto at = open_.lower_bound({source, 0});
    for (int tried = 0; at != open_.end() && tried < kTried; ++at, ++tried)
      if (target_left_[at->second] >= target) return take(*at, source, target);
    target_left_.push_back(target_room_);
    return take({source_room_, rows() - 1}, source, target);
  }
  int64_t rows() const { return std::ssize(target_left_); }

 private:
  int64_t take(std::pair<int64_t, int64_t> room, int64_t source, int64_t target) {
    const int64_t row = room.second;
    open_.erase(room);
    target_left_[row] -= target;
    if (room.first > source && target_left_[row] > 0) open_.emplace(room.first - source, row);
    return row;
  }

  int64_t source_room_, target_room_;
  std::set<std::pair<int64_t, int64_t>> open_;  // room left for a source, and row
  std::vector<int64_t> target_left_;
};

void check_room(const char* option, int64_t length, const SideFrame& frame) {
  require(
      length > frame.size(),
      "{}={} leaves no room for a text beside the {} tokens that stand around it; give a larger "
      "one",
      option, length, frame.size());
}

}  // namespace

PairRows::PairRows(std::shared_ptr<const Records> records, const PairForm& form,
                   const TwoSidedConfig& config)
    : records_(std::move(records)),
      source_(records_->column(kSourceColumn)),
      target_(records_->column(kTargetColumn)),
      form_(form),
      config_(config) {
  check_room("task.source_length", config.source_length, form.source);
  check_room("task.target_length", config.target_length, form.target);
  keep_what_fits();
  if (config.pack) pack();
}

// With what stands around a text.
std::pair<int64_t, int64_t> PairRows::wanted(int64_t pair) const {
  return {records_->rows(source_, pair) + form_.source.size(),
          records_->rows(target_, pair) + form_.target.size()};
}

std::pair<int64_t, int64_t> PairRows::kept(int64_t pair) const {
  const auto [source, target] = wanted(pair);
  return {std::min(source, config_.source_length), std::min(target, config_.target_length)};
}

bool PairRows::fits(int64_t pair) const { return wanted(pair) == kept(pair); }

void PairRows::keep_what_fits() {
  counts_.pairs = records_->count();
  const bool drops = config_.longer == LongPairs::drop;
  for (int64_t pair = 0; pair < counts_.pairs; ++pair) {
    const auto [source, target] = kept(pair);
    const auto all = wanted(pair);
    if (drops && !fits(pair)) {
      if (counts_.dropped++ == 0) {
        pairs_.resize(pair);
        std::iota(pairs_.begin(), pairs_.end(), 0);
      }
      continue;
    }
    if (counts_.dropped > 0) pairs_.push_back(pair);
    counts_.cut_sources += all.first > source;
    counts_.cut_targets += all.second > target;
    counts_.source_tokens += source;
    counts_.target_tokens += target;
  }
  counts_.rows = counts_.pairs - counts_.dropped;
  require(counts_.rows > 0,
          "none of the {} pairs of {} is within task.source_length={} and task.target_length={}; "
          "give larger ones, or task.too_long=cut",
          counts_.pairs, records_->name(), config_.source_length, config_.target_length);
}

void PairRows::pack() {
  Packer packer(config_.source_length, config_.target_length);
  std::vector<int64_t> row_of;
  for (int64_t k = 0; k < counts_.rows; ++k) {
    const auto [source, target] = kept(pairs_.empty() ? k : pairs_[k]);
    row_of.push_back(packer.add(source, target));
  }
  starts_.assign(packer.rows() + 1, 0);
  for (const int64_t row : row_of) ++starts_[row + 1];
  std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
  std::vector<int64_t> next(starts_.begin(), starts_.end() - 1), placed(row_of.size());
  for (size_t k = 0; k < row_of.size(); ++k)
    placed[next[row_of[k]]++] = pairs_.empty() ? static_cast<int64_t>(k) : pairs_[k];
  pairs_ = std::move(placed);
  counts_.rows = packer.rows();
}

std::vector<int64_t> PairRows::pairs_of(int64_t row) const {
  SKEIN_CHECK(row >= 0 && row < counts_.rows);
  if (pairs_.empty()) return {row};
  if (starts_.empty()) return {pairs_[row]};
  return {pairs_.begin() + starts_[row], pairs_.begin() + starts_[row + 1]};
}

std::pair<int64_t, int64_t> PairRows::lengths(int64_t row) const {
  std::pair<int64_t, int64_t> sum;
  for (const int64_t pair : pairs_of(row)) {
    const auto [source, target] = kept(pair);
    sum.first += source;
    sum.second += target;
  }
  return sum;
}

std::vector<int32_t> PairRows::text_tokens(size_t column, int64_t pair, int32_t pad) const {
  std::vector<int32_t> tokens = records_->tokens(column, pair);
  require(pad < 0 || std::ranges::find(tokens, pad) == tokens.end(),
          "{}: the {} of pair {} has the token {} in it, with which its tokenizer pads; no text "
          "has one, make the store again with `skein-data pairs`",
          records_->name(), records_->columns()[column].info.name, pair, pad);
  return tokens;
}

TokenPairs PairRows::row(int64_t row) const {
  TokenPairs made;
  for (const int64_t pair : pairs_of(row))
    made.push_back(
        {form_.source.framed(text_tokens(source_, pair, form_.source_pad), config_.source_length),
         form_.target.framed(text_tokens(target_, pair, form_.target_pad), config_.target_length)});
  return made;
}

}  // namespace skein::data
