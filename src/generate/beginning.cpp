#include "beginning.h"

#include <algorithm>
#include <numeric>

#include "skein/core/numbers.h"

namespace skein::generate {
namespace {

// The tokens from `column` of the row on, at positions from 0.
void put(const data::Sequence& side, int64_t row, int64_t column, const Tokens& tokens) {
  std::ranges::copy(tokens, data::row_of<int32_t>(side.tokens, row, column));
  int32_t* const positions = data::row_of<int32_t>(side.positions, row, column);
  std::iota(positions, positions + tokens.size(), 0);
}

data::Sequence sources_of(const std::vector<Beginning>& all) {
  const std::vector<int64_t> lengths = source_lengths(all);
  if (lengths.empty()) return {};
  const auto [shortest, longest] = std::ranges::minmax(lengths);
  const data::Sequence side =
      data::padded_sequence(std::ssize(all), {.length = longest, .segments = shortest < longest});
  for (int64_t row = 0; row < std::ssize(all); ++row) {
    put(side, row, 0, *all[row].source);
    if (side.segments.defined())
      std::fill_n(data::row_of<int32_t>(side.segments, row), lengths[row], 0);
    side.lengths.data<int32_t>()[row] = narrow<int32_t>(lengths[row]);
  }
  return side;
}

}  // namespace

bool Beginning::operator==(const Beginning& other) const {
  const bool both = source && other.source;
  return *fed == *other.fed && (both ? *source == *other.source : source == other.source);
}

int64_t longest_fed(const std::vector<Beginning>& all) {
  int64_t longest = 0;
  for (const Beginning& one : all) longest = std::max(longest, std::ssize(*one.fed));
  return longest;
}

std::vector<int64_t> source_lengths(const std::vector<Beginning>& all) {
  std::vector<int64_t> made;
  for (const Beginning& one : all)
    if (one.source) made.push_back(std::ssize(*one.source));
  return made;
}

data::Batch side_by_side(const std::vector<Beginning>& all) {
  const int64_t rows = std::ssize(all), columns = longest_fed(all);
  data::Batch batch;
  batch.tokens = Tensor::zeros({rows, columns}, DType::i32);
  batch.positions = Tensor::zeros({rows, columns}, DType::i32);
  for (int64_t row = 0; row < rows; ++row)
    put(batch, row, columns - std::ssize(*all[row].fed), *all[row].fed);
  batch.source = sources_of(all);
  return batch;
}

}  // namespace skein::generate
