// Which rows of the cache the beams of a prompt are in. Internal to the floor.
#pragma once

#include <vector>

#include "skein/generate/beam_search.h"
#include "skein/nn/kv_cache.h"

namespace skein::generate {

// A prompt has as many rows as it may have beams, one beside the other; a row without a beam is
// fed, too, so that all of them are equally long.
class BeamRows {
 public:
  BeamRows(const BeamConfig& config, const Tokens& prompt, int64_t most, int32_t end);

  const BeamSearch& search() const { return search_; }
  // Of row `place`: its beam, -1 for none.
  int64_t beam(int64_t place) const { return beams_[place]; }
  // The token after those that row `place` holds, which it holds from now on.
  int32_t feed(int64_t place);
  // BeamSearch::advance, and then what brings each beam's tokens into its row: the first beam of
  // those that continue another one stays in its row, and the others follow it from where their
  // rows' tokens differ. Columns count from the prompt's end.
  std::vector<KvCache::Follow> advance(const std::vector<Candidate>& candidates);

 private:
  KvCache::Follow following(int64_t from, int64_t to);

  BeamSearch search_;
  std::vector<int64_t> beams_;  // by row
  std::vector<Tokens> held_;    // by row: the tokens of its columns, from the prompt's end
};

}  // namespace skein::generate
