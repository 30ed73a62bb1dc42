// The search is Tercom's, as sacrebleu has it, and its limits are part of the result: distances are
// looked for in a band around the diagonal alone, phrases of at most ten words move at most fifty
// places, and of so many candidates in all none is tried any more. As long as the distance falls,
// the shift that lowers it most is made; then what remains are single edits.
//
// Rows of the table are the hypothesis' words. All shifted hypotheses are as long as the first, so
// rows are equal up to the first word that differs, and only those behind it are made anew.
#include "edit_rate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>

#include "skein/core/error.h"

namespace skein::text {
namespace {

constexpr int64_t kMostShifted = 10;
constexpr int64_t kFarthest = 50;
constexpr int64_t kBand = 25;
constexpr int64_t kMostCandidates = 1000;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 2;

enum class Edit : uint8_t { none, keep, substitute, remove, insert };

struct Cell {
  int64_t cost = kNever;
  Edit edit = Edit::none;
};

// The cells of a row that are looked at, from the column `begin` on.
struct Row {
  int64_t begin = 0;
  std::vector<Cell> cells;

  Cell at(int64_t j) const {
    return j < begin || j >= begin + std::ssize(cells) ? Cell{} : cells[j - begin];
  }
};

// What has to be done to each word of either side, and beside which word of the hypothesis each
// word of the reference stands (-1: before the first).
struct Alignment {
  std::vector<bool> wrong_here, wrong_there;
  std::vector<int64_t> beside;
};

class Distances {
 public:
  Distances(const Symbols& reference, int64_t length)
      : reference_(reference),
        ratio_(length > 0 ? double(std::ssize(reference)) / double(length) : 1.0),
        band_(kBand < ratio_ / 2 ? static_cast<int64_t>(std::ceil(ratio_ / 2 + kBand)) : kBand),
        base_(length + 1),
        other_(length + 1) {
    for (int64_t j = 0; j <= std::ssize(reference_); ++j)
      base_[0].cells.push_back({j, Edit::insert});
    other_[0] = base_[0];
  }

  // Of the hypothesis from which others are made next.
  int64_t settle(const Symbols& hypothesis) {
    for (size_t i = 1; i < base_.size(); ++i) fill(base_[i], base_[i - 1], hypothesis, i);
    return cost(base_);
  }
  // Of one whose first words, `same` of them, are those of the settled one.
  int64_t of(const Symbols& hypothesis, int64_t same) {
    other_[same] = base_[same];
    for (size_t i = same + 1; i < other_.size(); ++i) fill(other_[i], other_[i - 1], hypothesis, i);
    return cost(other_);
  }
  // Of the settled one.
  Alignment alignment() const;

 private:
  int64_t cost(const std::vector<Row>& rows) const {
    return rows.back().at(std::ssize(reference_)).cost;
  }
  void fill(Row& row, const Row& above, const Symbols& hypothesis, int64_t i) const;

  const Symbols& reference_;
  double ratio_;
  int64_t band_;
  std::vector<Row> base_, other_;
};

// Of edits that cost the same the first counts: keep or substitute, remove, insert.
void Distances::fill(Row& row, const Row& above, const Symbols& hypothesis, int64_t i) const {
  const int64_t columns = std::ssize(reference_) + 1;
  const auto diagonal = static_cast<int64_t>(std::floor(double(i) * ratio_));
  row.begin = std::max<int64_t>(0, diagonal - band_);
  const bool last = i == std::ssize(hypothesis);
  const int64_t end = last ? columns : std::min(columns, diagonal + band_);
  row.cells.assign(std::max<int64_t>(0, end - row.begin), {});
  for (int64_t j = row.begin; j < end; ++j) {
    Cell& cell = row.cells[j - row.begin];
    const auto offer = [&](int64_t cost, Edit edit) {
      if (cell.cost > cost) cell = {cost, edit};
    };
    if (j > 0) {
      const bool same = hypothesis[i - 1] == reference_[j - 1];
      offer(above.at(j - 1).cost + (same ? 0 : 1), same ? Edit::keep : Edit::substitute);
    }
    offer(above.at(j).cost + 1, Edit::remove);
    if (j > row.begin) offer(row.cells[j - row.begin - 1].cost + 1, Edit::insert);
  }
}

Alignment Distances::alignment() const {
  Alignment made{std::vector<bool>(base_.size() - 1), std::vector<bool>(reference_.size()),
                 std::vector<int64_t>(reference_.size())};
  int64_t i = std::ssize(base_) - 1, j = std::ssize(reference_);
  while (i > 0 || j > 0) {
    const Edit edit = base_[i].at(j).edit;
    SKEIN_CHECK(edit != Edit::none);
    const bool wrong = edit != Edit::keep;
    if (edit != Edit::remove) {
      --j;
      made.wrong_there[j] = wrong;
      made.beside[j] = i - 1;
    }
    if (edit != Edit::insert) made.wrong_here[--i] = wrong;
  }
  return made;
}

// Words [begin, begin + length) of the hypothesis, to go before its word `target`.
struct Shift {
  int64_t begin = 0, length = 0, target = 0;
};

Symbols shifted(const Symbols& words, const Shift& shift) {
  const auto [begin, length, target] = shift;
  Symbols made = words;
  const auto at = [&](int64_t place) { return made.begin() + place; };
  if (target < begin)
    std::rotate(at(target), at(begin), at(begin + length));
  else if (target > begin + length)
    std::rotate(at(begin), at(begin + length), at(target));
  else
    std::rotate(at(begin), at(begin + length), at(std::min(length + target, std::ssize(made))));
  return made;
}

bool any_wrong(const std::vector<bool>& wrong, int64_t begin, int64_t length) {
  const auto first = wrong.begin() + begin;
  return std::find(first, first + length, true) != first + length;
}

class ShiftSearch {
 public:
  ShiftSearch(Symbols hypothesis, const Symbols& reference)
      : words_(std::move(hypothesis)),
        reference_(reference),
        distances_(reference, std::ssize(words_)) {}

  int64_t edits() {
    int64_t shifts = 0;
    cost_ = distances_.settle(words_);
    while (auto better = best_shift()) {
      ++shifts;
      words_ = std::move(*better);
      cost_ = distances_.settle(words_);
    }
    return shifts + cost_;
  }

 private:
  // Gain, length, and the earliest place from and to which: the greatest is taken.
  using Rank = std::tuple<int64_t, int64_t, int64_t, int64_t>;

  std::optional<Symbols> best_shift();
  void try_phrases(const Alignment& alignment, int64_t here);
  void try_phrase(const Alignment& alignment, int64_t here, int64_t there, int64_t length);
  void try_shift(const Shift& shift);

  Symbols words_;
  const Symbols& reference_;
  Distances distances_;
  int64_t cost_ = 0, candidates_ = 0;
  std::optional<Rank> best_;
  Symbols best_words_;
};

// Nothing where no shift helps, or where too many were tried.
std::optional<Symbols> ShiftSearch::best_shift() {
  const Alignment alignment = distances_.alignment();
  best_.reset();
  for (int64_t here = 0; here < std::ssize(words_); ++here) try_phrases(alignment, here);
  const bool helps = best_ && std::get<0>(*best_) > 0 && candidates_ < kMostCandidates;
  return helps ? std::optional(best_words_) : std::nullopt;
}

// Phrases of both sides that begin at the word `here` of the hypothesis.
void ShiftSearch::try_phrases(const Alignment& alignment, int64_t here) {
  const int64_t first = std::max<int64_t>(0, here - kFarthest);
  const int64_t end = std::min(std::ssize(reference_), here + kFarthest + 1);
  for (int64_t there = first; there < end; ++there) {
    const int64_t most =
        std::min({kMostShifted, std::ssize(words_) - here, std::ssize(reference_) - there});
    for (int64_t length = 1;
         length <= most && words_[here + length - 1] == reference_[there + length - 1]; ++length) {
      if (candidates_ >= kMostCandidates) return;
      try_phrase(alignment, here, there, length);
    }
  }
}

void ShiftSearch::try_phrase(const Alignment& alignment, int64_t here, int64_t there,
                             int64_t length) {
  if (!any_wrong(alignment.wrong_here, here, length)) return;
  if (!any_wrong(alignment.wrong_there, there, length)) return;
  if (alignment.beside[there] >= here && alignment.beside[there] < here + length) return;
  int64_t previous = -1;
  for (int64_t offset = -1; offset < length; ++offset) {
    const int64_t place = there + offset;
    const int64_t target = place == -1 ? 0 : alignment.beside[place] + 1;
    if (target != previous) try_shift({here, length, target});
    previous = target;
  }
}

void ShiftSearch::try_shift(const Shift& shift) {
  Symbols words = shifted(words_, shift);
  const int64_t gain = cost_ - distances_.of(words, std::min(shift.begin, shift.target));
  ++candidates_;
  const Rank rank{gain, shift.length, -shift.begin, -shift.target};
  if (best_ && rank <= *best_) return;
  best_ = rank;
  best_words_ = std::move(words);
}

}  // namespace

int64_t shift_edits(const Symbols& hypothesis, const Symbols& reference) {
  if (reference.empty()) return std::ssize(hypothesis);
  return ShiftSearch(hypothesis, reference).edits();
}

}  // namespace skein::text
