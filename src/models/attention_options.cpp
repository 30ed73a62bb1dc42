#include "skein/models/attention_options.h"

#include <algorithm>
#include <bit>
#include <fmt/ranges.h>
#include <limits>
#include <numeric>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/strings.h"
#include "skein/nn/kv_cache.h"

#include "limits.h"

namespace skein {
namespace {

using Kind = std::pair<const char*, SightKind>;
constexpr Kind kKinds[] = {{"full", SightKind::full},     {"window", SightKind::window},
                           {"global", SightKind::global}, {"bigbird", SightKind::bigbird},
                           {"fixed", SightKind::fixed},   {"lsh", SightKind::lsh}};

const Kind* kind_of(const std::string& name) {
  const auto* found = std::ranges::find(kKinds, name, &Kind::first);
  return found == std::end(kKinds) ? nullptr : found;
}

std::vector<std::string> kind_names() {
  std::vector<std::string> made;
  for (const Kind& kind : kKinds) made.emplace_back(kind.first);
  return made;
}

// Their sum is what hashing costs.
constexpr int64_t kMostBuckets = int64_t{1} << 20, kMostSides = 8192;

// Buckets of half of what a token sees, if they are of one size.
std::vector<int64_t> sides_for(int64_t context, int64_t seen) {
  int64_t count = 2;
  while (count < kMostBuckets && count * seen < 2 * context) count *= 2;
  if (count <= 64) return {count};
  const int digits = std::countr_zero(static_cast<uint64_t>(count));
  return {int64_t{1} << (digits + 1) / 2, int64_t{1} << digits / 2};
}

}  // namespace

bool AttentionOptions::is_full() const {
  return std::ranges::all_of(kinds, [](const std::string& kind) { return kind == "full"; });
}

bool AttentionOptions::has(SightKind kind) const {
  return std::ranges::any_of(kinds, [&](const std::string& name) {
    const Kind* const known = kind_of(name);
    return known && known->second == kind;
  });
}

SightSpec AttentionOptions::of_block(int64_t block, int64_t context) const {
  SightSpec made = other;
  const Kind* kind = kind_of(kinds[static_cast<size_t>(block) % kinds.size()]);
  made.kind = kind ? kind->second : SightKind::full;
  made.window = windows[static_cast<size_t>(block) % windows.size()];
  if (made.kind == SightKind::lsh && made.sides.empty())
    made.sides = sides_for(context, made.same_bucket ? made.window : made.block);
  return made;
}

int64_t AttentionOptions::reach_of_block(int64_t block) const {
  const auto at = static_cast<size_t>(block);
  return kinds[at % kinds.size()] == "window" ? windows[at % windows.size()] - 1 : KvCache::kAll;
}

int64_t AttentionOptions::reach(int64_t blocks) const {
  int64_t most = 0;
  for (int64_t block = 0; block < blocks; ++block) most = std::max(most, reach_of_block(block));
  return most;
}

AttentionOptions windowed(int64_t window) {
  AttentionOptions made;
  made.kinds = {"window"};
  made.windows = {window};
  return made;
}

void bind(Options& options, AttentionOptions& c) {
  SightSpec& other = c.other;
  options.add("attention.kind", c.kinds,
              fmt::format("who sees whom, for gpt and bert: {}; by block where several are given, "
                          "begun again behind the last one",
                          fmt::join(kind_names(), ", ")));
  options.add(
      "attention.window", c.windows,
      "window, global: tokens that a token sees; in decoders its own and those right before "
      "it, in encoders half of them (an even number) on each side; lsh: the same in its bucket; by "
      "block as the kind");
  options.add("attention.mark_first", other.marks.first,
              "global: the first tokens of each sequence see all and are seen by all", "tokens");
  options.add("attention.mark_every", other.marks.every,
              "global: so does every so manieth token; 0: none", "tokens");
  options.add("attention.mark_token", other.marks.token,
              "global: so does each token with this id, in encoders; -1: none", "id");
  options.add("attention.mark_until", other.marks.until,
              "global: so does each token up to the first with this id, in encoders, such as the "
              "question ahead of a text; -1: none",
              "id");
  options.add("attention.block", other.block,
              "bigbird, fixed: tokens of a block; lsh: without attention.same_bucket", "tokens");
  options.add("attention.random", other.random,
              "bigbird: blocks that are drawn for each head and block, once for all", "blocks");
  options.add("attention.drawn", other.drawn,
              "bigbird: false: instead of drawn blocks the first one counts so many times more, as "
              "transformers evaluates such models");
  options.add("attention.stretch", other.stretch,
              "fixed: blocks of a stretch, which see each other, and the last one of each other "
              "stretch",
              "blocks");
  options.add("attention.rounds", other.rounds, "lsh: rounds of hashing, each of all tokens");
  options.add("attention.buckets", other.sides,
              "lsh: how many there are, an even number, or two whose product it is, which cost as "
              "little as their sum; none: so many that half of what a token sees is in each");
  options.add("attention.same_bucket", other.same_bucket,
              "lsh: false: tokens see attention.block tokens around them in the order of buckets, "
              "and the block before, as Reformer's do; decoders then hang on what follows");
}

namespace {

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostDrawn = 256, kMostListed = int64_t{1} << 26;

void check_kinds(const AttentionOptions& c) {
  require(!c.kinds.empty() && !c.windows.empty(),
          "attention.kind and attention.window need a value each; leave them out for full "
          "attention");
  for (const std::string& name : c.kinds)
    require(kind_of(name) != nullptr, "attention.kind has '{}'; it may name {}", excerpt(name),
            fmt::join(kind_names(), ", "));
}

void check_windows(const AttentionOptions& c, bool causal) {
  const bool used = c.has(SightKind::window) || c.has(SightKind::global) ||
                    (c.has(SightKind::lsh) && c.other.same_bucket);
  if (!used) {
    require(c.windows == std::vector<int64_t>{0},
            "attention.window={} is for attention.kind window, global and lsh within a bucket, not "
            "{}; leave it out",
            fmt::join(c.windows, ","), fmt::join(c.kinds, ","));
    return;
  }
  for (const int64_t window : c.windows) {
    check_range("attention.window", window, 1, kMost);
    require(causal || window % 2 == 0,
            "attention.window={} must be even where tokens see those after them, too: half of it "
            "lies on each side",
            window);
  }
}

void check_marks(const AttentionOptions& c, bool causal, int64_t context, int64_t vocabulary) {
  const MarkRule& marks = c.other.marks;
  if (!c.has(SightKind::global)) {
    require(marks == MarkRule{},
            "attention.mark_first, mark_every, mark_token and mark_until are for "
            "attention.kind=global, not {}; leave them out",
            fmt::join(c.kinds, ","));
    return;
  }
  require(marks.first >= 0 && marks.first <= context,
          "attention.mark_first={} must be from 0 to model.context={}", marks.first, context);
  require(marks.every >= 0 && marks.every <= context,
          "attention.mark_every={} must be from 0 to model.context={}", marks.every, context);
  for (const auto& [option, id] :
       {std::pair{"mark_token", marks.token}, {"mark_until", marks.until}}) {
    require(id < 0 || !causal,
            "attention.{}={} is for encoders; mark tokens of a decoder by their places, "
            "attention.mark_first and mark_every",
            option, id);
    require(id >= -1 && id < vocabulary,
            "attention.{}={} is no token: give the id of one, below model.vocab_size={}, or -1 for "
            "none",
            option, id, vocabulary);
  }
}

void check_blocks(const AttentionOptions& c, int64_t context) {
  const SightSpec &own = c.other, none;
  check_range("attention.block", own.block, 1, kMost);
  check_range("attention.random", own.random, 0, kMostDrawn);
  check_range("attention.stretch", own.stretch, 1, kMost);
  const bool bigbird = c.has(SightKind::bigbird), fixed = c.has(SightKind::fixed);
  require(bigbird || (own.random == none.random && own.drawn == none.drawn),
          "attention.random and attention.drawn are for attention.kind=bigbird, not {}; leave them "
          "out",
          fmt::join(c.kinds, ","));
  require(fixed || own.stretch == none.stretch,
          "attention.stretch={} is for attention.kind=fixed, not {}; leave it out", own.stretch,
          fmt::join(c.kinds, ","));
  require(
      bigbird || fixed || (c.has(SightKind::lsh) && !own.same_bucket) || own.block == none.block,
      "attention.block={} is for attention.kind bigbird, fixed and lsh with "
      "attention.same_bucket=false, not {}; leave it out",
      own.block, fmt::join(c.kinds, ","));
  const int64_t blocks = (context + own.block - 1) / own.block;
  require(!bigbird || own.random == none.random || own.random <= blocks,
          "attention.random={} is more than the {} blocks of {} tokens that model.context={} has",
          own.random, blocks, own.block, context);
  const int64_t of_bigbird = bigbird ? 5 + own.random : 0,
                of_fixed = fixed ? std::min(blocks, own.stretch) + blocks / own.stretch : 0,
                listed = std::max<int64_t>({1, of_bigbird, of_fixed});
  require(blocks <= kMostListed / listed || !(bigbird || fixed),
          "attention.block={} cuts model.context={} into {} blocks that look at about {} each; {} "
          "are the most together: give larger blocks",
          own.block, context, blocks, listed, kMostListed);
}

void check_hashing(const AttentionOptions& c, int64_t context) {
  const SightSpec &own = c.other, none;
  require(!c.has(SightKind::lsh) || own.same_bucket || own.block <= context,
          "attention.block={} must be from 1 to model.context={}", own.block, context);
  require(c.has(SightKind::lsh) || (own.rounds == none.rounds && own.sides.empty() &&
                                    own.same_bucket == none.same_bucket),
          "attention.rounds, attention.buckets and attention.same_bucket are for "
          "attention.kind=lsh, not {}; leave them out",
          fmt::join(c.kinds, ","));
  check_range("attention.rounds", own.rounds, 1, 64);
  for (const int64_t side : own.sides) {
    check_range("attention.buckets", side, 2, kMostBuckets);
    require(side % 2 == 0,
            "attention.buckets={} must be even: half of them lie opposite to the other half", side);
  }
  require(own.sides.size() < 2 ||
              (own.sides.size() == 2 && own.sides[0] <= kMostBuckets / own.sides[1]),
          "attention.buckets={} may be one number, or two whose product is {} at most",
          fmt::join(own.sides, ","), kMostBuckets);
  const int64_t sum = std::accumulate(own.sides.begin(), own.sides.end(), int64_t{0});
  require(sum <= kMostSides,
          "attention.buckets={} cost as much as their sum, {}, which may be {} at most; give two "
          "numbers of about the same size, whose product they are",
          fmt::join(own.sides, ","), sum, kMostSides);
}

}  // namespace

void check(const AttentionOptions& c, bool causal, int64_t context, int64_t vocabulary) {
  check_kinds(c);
  check_windows(c, causal);
  check_marks(c, causal, context, vocabulary);
  check_blocks(c, context);
  check_hashing(c, context);
}

void take_former_window(int64_t window, bool sees_ahead, AttentionOptions& c) {
  require(window >= 0 && window <= kMost / 2, "model.window={} must be from 0 to {}", window,
          kMost / 2);
  if (window > 0) c = windowed(sees_ahead ? 2 * (window - 1) : window);
}

std::vector<std::string> useless_structures(const AttentionOptions& c, bool causal, int64_t context,
                                            int64_t blocks) {
  std::vector<std::string> made;
  const int64_t kinds = std::ssize(c.kinds), repeat = std::lcm(kinds, std::ssize(c.windows));
  for (int64_t block = 0; block < std::min(blocks, repeat); ++block) {
    const SightSpec sight = c.of_block(block, context);
    if (sight.kind == SightKind::full || saves(sight, causal, context)) continue;
    const std::string line = fmt::format(
        "attention.kind={} sees no less than full attention does in model.context={}{}",
        c.kinds[static_cast<size_t>(block % kinds)], context,
        sight.kind == SightKind::window ? fmt::format(" (attention.window={})", sight.window) : "");
    if (std::ranges::find(made, line) == made.end()) made.push_back(line);
  }
  if (c.has(SightKind::global) && c.other.marks.marks_nothing())
    made.push_back(
        "attention.kind=global marks no token, so each sees its window alone; give "
        "attention.mark_first or another mark, or take attention.kind=window");
  return made;
}

}  // namespace skein
