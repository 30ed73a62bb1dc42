// Runs of a query are made of intervals, each from one reason to see keys: those of the band and
// the lists, the prefix, each marked key. They are sorted, what is seen twice is seen once (by the
// first reason, which alone may count a block more than once), cut to the query's segment, and
// joined where they meet.
#include "skein/kernels/pattern.h"

#include <algorithm>
#include <unordered_map>

#include "skein/core/error.h"

namespace skein::kernels {
namespace {

const int32_t* row_of(const Tensor& x, int64_t row) {
  return x.defined() ? x.data<int32_t>() + row * x.dim(1) : nullptr;
}

}  // namespace

PatternView::PatternView(const Pattern& pattern, int64_t sample, int64_t head, int64_t queries,
                         int64_t keys)
    : queries(queries),
      keys(keys),
      before(pattern.before),
      after(pattern.after),
      first_query(pattern.first_query),
      first_key(pattern.first_key.defined() ? pattern.first_key.data<int32_t>()[sample] : 0),
      prefix(pattern.prefix.defined() ? pattern.prefix.data<int32_t>()[sample] : 0),
      marked_after(pattern.marked_after),
      block(pattern.lists.size),
      query_segments(row_of(pattern.query_segments, sample)),
      key_segments(row_of(pattern.key_segments, sample)),
      marked(row_of(pattern.marked, sample)),
      query_places(row_of(pattern.query_places, sample)),
      key_places(row_of(pattern.key_places, sample)),
      starts(block ? row_of(pattern.lists.starts, pattern.lists.starts.dim(0) > 1 ? head : 0)
                   : nullptr),
      blocks(block ? pattern.lists.blocks.data<int32_t>() : nullptr),
      origins(row_of(pattern.lists.origins, sample)),
      rows(row_of(pattern.lists.rows, sample)),
      self_last(pattern.self_last) {}

int64_t PatternView::places_back(int64_t query, int64_t key) const {
  return key_places ? int64_t{query_places[query]} - key_places[key] : first_query + query - key;
}

int64_t PatternView::times(int64_t query, int64_t key) const {
  if (key < first_key) return 0;
  if (key_segments && (key_segments[key] != query_segments[query] || key_segments[key] < 0))
    return 0;
  const int64_t apart = places_back(query, key);
  if (self_last && apart == 0) return 0;
  int64_t listed = 1;
  if (block) {
    const int64_t from = key - origin_of(query), row = list_of(query);
    const auto found = std::equal_range(blocks + starts[row], blocks + starts[row + 1],
                                        static_cast<int32_t>(from / block));
    listed = from < 0 ? 0 : found.second - found.first;
  }
  if (listed > 0 && -after <= apart && apart <= before) return listed;
  return key < prefix || (marked && marked[key] && apart >= -marked_after) ? 1 : 0;
}

class KeyRunsBuilder {
 public:
  KeyRunsBuilder(const PatternView& view, KeyRuns& out) : view_(view), out_(out) {
    if (view.marked)
      for (int64_t j = 0; j < view.keys; ++j)
        if (view.marked[j]) marked_.push_back(j);
    if (view.key_segments) find_segments();
  }

  void build() {
    out_.starts_.push_back(0);
    for (int64_t i = 0; i < view_.queries; ++i) {
      add_query(i);
      if (view_.self_last) leave_own_place(i);
      out_.starts_.push_back(std::ssize(out_.runs_));
    }
  }

 private:
  // Where a segment's keys are; `together` where no others are among them.
  struct Extent {
    int64_t begin, end, count;
    bool together() const { return end - begin == count; }
  };

  void find_segments() {
    for (int64_t j = 0; j < view_.keys; ++j) {
      const int32_t segment = view_.key_segments[j];
      if (segment < 0) continue;
      Extent& extent = segments_.try_emplace(segment, Extent{j, j, 0}).first->second;
      extent.end = j + 1;
      ++extent.count;
    }
  }

  void add_query(int64_t query) {
    within_ = {view_.first_key, view_.keys, view_.keys - view_.first_key};
    if (view_.key_segments) {
      const auto found = segments_.find(view_.query_segments[query]);
      if (found == segments_.end()) return;
      within_ = found->second;
    }
    near_.clear();
    add_near(query);
    settled_ = 0;
    mark_ = 0;
    for (const KeyRun& run : near_) {
      add_widened(query, run.begin);
      add_seen(run);
    }
    add_widened(query, view_.keys);
  }

  // What the band and the lists give.
  void add_near(int64_t query) {
    const int64_t place = view_.first_query + query;
    // By places nothing is known of where the band is.
    const int64_t first = view_.key_places ? 0 : std::max<int64_t>(0, place - view_.before),
                  last = view_.key_places
                             ? view_.keys
                             : std::clamp<int64_t>(place + view_.after + 1, 0, view_.keys);
    const bool known =
        !view_.key_places || (view_.before >= kUnlimited && view_.after >= kUnlimited);
    if (!view_.block) return add_run(near_, {first, last, 1, known});
    const int64_t row = view_.list_of(query), origin = view_.origin_of(query);
    for (int32_t at = view_.starts[row]; at < view_.starts[row + 1];) {
      const int32_t block = view_.blocks[at];
      const int64_t begin = origin + block * view_.block;
      int32_t times = 0;
      for (; at < view_.starts[row + 1] && view_.blocks[at] == block; ++at) ++times;
      out_.repeats_ |= times > 1;
      add_run(near_, {std::max(first, begin), std::min(last, begin + view_.block), times, known});
    }
  }

  // What prefix and marks give before `end`.
  void add_widened(int64_t query, int64_t end) {
    if (settled_ < std::min(view_.prefix, end))
      add_seen({settled_, std::min(view_.prefix, end), 1, true});
    for (; mark_ < marked_.size() && marked_[mark_] < end; ++mark_)
      if (marked_[mark_] >= settled_ &&
          view_.places_back(query, marked_[mark_]) >= -view_.marked_after)
        add_seen({marked_[mark_], marked_[mark_] + 1, 1, true});
  }

  void add_seen(const KeyRun& run) {
    settled_ = std::max(settled_, run.end);
    add_run(out_.runs_,
            {std::max({run.begin, within_.begin, view_.first_key}), std::min(run.end, within_.end),
             run.times, run.whole && within_.together()},
            static_cast<size_t>(out_.starts_.back()));
  }

  // Joined with the last run from `first` on where they meet.
  static void add_run(std::vector<KeyRun>& runs, const KeyRun& run, size_t first = 0) {
    if (run.begin >= run.end) return;
    if (runs.size() > first && runs.back().end == run.begin && runs.back().times == run.times &&
        runs.back().whole == run.whole)
      runs.back().end = run.end;
    else
      runs.push_back(run);
  }

  void leave_own_place(int64_t query) {
    out_.alone_.push_back(false);
    const auto first = out_.runs_.begin() + out_.starts_.back();
    for (auto run = first; run != out_.runs_.end(); ++run)
      for (int64_t j = run->begin; j < run->end; ++j)
        if (view_.times(query, j)) return cut_own_place(query);
    const std::vector<KeyRun> seen(first, out_.runs_.end());
    out_.runs_.erase(first, out_.runs_.end());
    PatternView own = view_;
    own.self_last = false;
    for (const KeyRun& run : seen)
      for (int64_t j = run.begin; j < run.end; ++j)
        if (own.times(query, j))
          add_run(out_.runs_, {j, j + 1, 1, true}, static_cast<size_t>(out_.starts_.back()));
    out_.alone_.back() = std::ssize(out_.runs_) > out_.starts_.back();
  }

  // By places nothing is known of where it is.
  void cut_own_place(int64_t query) {
    auto& runs = out_.runs_;
    const int64_t own = view_.first_query + query;
    const auto first = runs.begin() + out_.starts_.back();
    if (view_.key_places) {
      for (auto run = first; run != runs.end(); ++run) run->whole = false;
      return;
    }
    const auto around =
        std::find_if(first, runs.end(), [&](const KeyRun& run) { return own < run.end; });
    if (around == runs.end() || own < around->begin) return;
    KeyRun behind = *around;
    behind.begin = own + 1;
    around->end = own;
    const auto next = around->begin < own ? around + 1 : runs.erase(around);
    if (behind.begin < behind.end) runs.insert(next, behind);
  }

  const PatternView& view_;
  KeyRuns& out_;
  std::vector<int64_t> marked_;
  std::unordered_map<int32_t, Extent> segments_;
  // Of the query at hand.
  Extent within_ = {};
  std::vector<KeyRun> near_;
  int64_t settled_ = 0;  // keys before it are
  size_t mark_ = 0;      // the next of `marked_`
};

KeyRuns::KeyRuns(const PatternView& view) { KeyRunsBuilder(view, *this).build(); }

namespace {

bool is_on_host(const Pattern& pattern) {
  for (const Tensor* x :
       {&pattern.key_segments, &pattern.first_key, &pattern.lists.starts, &pattern.lists.rows,
        &pattern.prefix, &pattern.marked, &pattern.key_places})
    if (x->defined() && x->device() != Device{}) return false;
  return true;
}

double pairs_of_band(const Pattern& pattern, int64_t queries, int64_t keys) {
  double pairs = 0;
  for (int64_t i = 0; i < queries; ++i) {
    const int64_t place = pattern.first_query + i,
                  first = std::max<int64_t>(0, place - pattern.before),
                  last =
                      std::clamp<int64_t>(place + pattern.after + 1, first, std::max(first, keys));
    pairs += static_cast<double>(last - first);
  }
  return pairs;
}

double pairs_of_runs(const PatternView& view) {
  const KeyRuns runs(view);
  int64_t pairs = 0;
  for (int64_t i = 0; i < view.queries; ++i)
    for (const KeyRun& run : runs.of(i)) {
      if (run.whole)
        pairs += (run.end - run.begin) * run.times;
      else
        for (int64_t j = run.begin; j < run.end; ++j) pairs += view.times(i, j);
    }
  return static_cast<double>(pairs);
}

}  // namespace

double visible_pairs(const Pattern& pattern, int64_t samples, int64_t heads, int64_t queries,
                     int64_t keys) {
  const bool plain = pattern.is_band() && !pattern.first_key.defined();
  if (plain || !is_on_host(pattern))
    return static_cast<double>(samples * heads) * pairs_of_band(pattern, queries, keys);
  const int64_t kinds = pattern.lists.size ? pattern.lists.starts.dim(0) : 1;
  double pairs = 0;
  for (int64_t sample = 0; sample < samples; ++sample)
    for (int64_t kind = 0; kind < kinds; ++kind)
      pairs += pairs_of_runs({pattern, sample, kind, queries, keys});
  return pairs * static_cast<double>(heads / kinds);
}

}  // namespace skein::kernels
