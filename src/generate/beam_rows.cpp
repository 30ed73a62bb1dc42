#include "beam_rows.h"

#include <algorithm>

namespace skein::generate {

BeamRows::BeamRows(const BeamConfig& config, const Tokens& prompt, int64_t most, int32_t end)
    : search_(config, prompt, most, end), beams_(config.size, -1), held_(config.size) {
  beams_[0] = 0;
}

int32_t BeamRows::feed(int64_t place) {
  const int64_t beam = beams_[place];
  held_[place].push_back(beam < 0 ? 0 : search_.beams()[beam].tokens.back());
  return held_[place].back();
}

KvCache::Follow BeamRows::following(int64_t from, int64_t to) {
  const auto differ = std::mismatch(held_[to].begin(), held_[to].end(), held_[from].begin()).first;
  const int64_t first = differ - held_[to].begin();
  held_[to] = held_[from];
  return {from, to, first};
}

std::vector<KvCache::Follow> BeamRows::advance(const std::vector<Candidate>& candidates) {
  std::vector<int64_t> row_of(search_.beams().size());
  for (int64_t row = 0; row < std::ssize(beams_); ++row)
    if (beams_[row] >= 0) row_of[beams_[row]] = row;
  search_.advance(candidates);
  std::fill(beams_.begin(), beams_.end(), -1);
  std::vector<int64_t> others;
  for (int64_t beam = 0; beam < std::ssize(search_.beams()); ++beam) {
    int64_t& there = beams_[row_of[search_.beams()[beam].parent]];
    if (there < 0)
      there = beam;
    else
      others.push_back(beam);
  }
  std::vector<KvCache::Follow> moves;
  for (int64_t beam : others) {
    const int64_t to = std::find(beams_.begin(), beams_.end(), -1) - beams_.begin();
    beams_[to] = beam;
    const KvCache::Follow move = following(row_of[search_.beams()[beam].parent], to);
    if (move.first < std::ssize(held_[to])) moves.push_back(move);
  }
  return moves;
}

}  // namespace skein::generate
