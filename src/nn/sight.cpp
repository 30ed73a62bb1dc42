#include "skein/nn/sight.h"

#include <algorithm>
#include <map>
#include <span>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/core/philox.h"
#include "skein/nn/hashed_sight.h"
#include "skein/ops/attention.h"
#include "skein/ops/loss.h"

#include "row_choice.h"

namespace skein {
namespace {

using kernels::Pattern;

// Of the drawn blocks: of no run, so that a model sees the same wherever it goes.
constexpr uint64_t kDrawKey = 0x626967626972;

Pattern band_of(const SightSpec& spec, bool causal) {
  const bool near = spec.kind == SightKind::window || spec.kind == SightKind::global;
  if (!near) return causal ? Pattern::causal() : Pattern::full();
  if (causal) return Pattern::window(spec.window, true);
  return {spec.window / 2, spec.window / 2};
}

// A block of `count` beside each other.
struct BlockPlace {
  int64_t own, count;
};

// One row of the lists: what the block looks at.
struct ListedBlock : BlockPlace {
  const SightSpec& spec;
  bool causal;
  int block;     // of the model
  int64_t head;  // of all
};

using Numbers = std::vector<int32_t>;

bool holds(const Numbers& list, int64_t number) {
  return std::ranges::find(list, narrow<int32_t>(number)) != list.end();
}

// Those of [0, end) that are in reach.
void add_if_there(Numbers& list, int64_t number, int64_t end) {
  if (number >= 0 && number < end && !holds(list, number)) list.push_back(narrow<int32_t>(number));
}

// So many of [0, end) that are not listed yet, or all where there are no more.
void draw(const ListedBlock& of, int64_t end, Numbers& list) {
  const int64_t left = std::min(of.spec.random, end - std::ssize(list));
  const uint64_t place = static_cast<uint64_t>(of.head) << 32 | static_cast<uint64_t>(of.own);
  uint64_t tries = 0;
  for (const int64_t most = std::ssize(list) + left; std::ssize(list) < most; ++tries) {
    const auto words = philox(kDrawKey, tries << 16 | static_cast<uint64_t>(of.block), place);
    add_if_there(list, static_cast<int64_t>(words[0] % static_cast<uint64_t>(end)), end);
  }
}

bool bigbird_sees_all(const SightSpec& spec, bool causal, int64_t blocks) {
  return !causal && blocks <= 5 + 2 * spec.random;
}

Numbers bigbird_blocks(const ListedBlock& of) {
  const int64_t last = of.count - 1, end = of.causal ? of.own + 1 : of.count;
  Numbers made;
  if (bigbird_sees_all(of.spec, of.causal, of.count) ||
      (!of.causal && (of.own == 0 || of.own == last))) {
    for (int64_t i = 0; i < of.count; ++i) made.push_back(narrow<int32_t>(i));
    return made;
  }
  for (const int64_t one : {int64_t{0}, of.own - 1, of.own, of.own + 1, last})
    add_if_there(made, one, end);
  if (of.spec.drawn)
    draw(of, end, made);
  else
    made.insert(made.end(), static_cast<size_t>(of.spec.random), 0);
  return made;
}

Numbers fixed_blocks(const ListedBlock& of) {
  const int64_t stretch = of.spec.stretch, own = of.own / stretch * stretch,
                end = of.causal ? of.own + 1 : of.count;
  Numbers made;
  for (int64_t i = own; i < std::min(own + stretch, end); ++i) made.push_back(narrow<int32_t>(i));
  for (int64_t i = stretch - 1; i < end; i += stretch)
    if (i < own || i >= own + stretch) made.push_back(narrow<int32_t>(i));
  return made;
}

Numbers blocks_of(const ListedBlock& of) {
  Numbers made = of.spec.kind == SightKind::fixed ? fixed_blocks(of) : bigbird_blocks(of);
  std::ranges::sort(made);
  return made;
}

bool lists_blocks(const SightSpec& spec, bool causal, int64_t length) {
  if (spec.kind == SightKind::fixed) return true;
  return spec.kind == SightKind::bigbird &&
         !bigbird_sees_all(spec, causal, pieces_of(length, spec.block));
}

// A list for each of the rows.
kernels::BlockLists lists_of(const SightSpec& spec, bool causal, const SightShape& shape,
                             const std::vector<BlockPlace>& rows) {
  const int64_t sets = spec.kind == SightKind::bigbird && spec.drawn ? shape.heads : 1;
  Numbers starts, listed;
  for (int64_t set = 0; set < sets; ++set) {
    starts.push_back(narrow<int32_t>(std::ssize(listed)));
    for (const BlockPlace& row : rows) {
      const Numbers own =
          blocks_of(ListedBlock{row, spec, causal, shape.block, shape.first_head + set});
      listed.insert(listed.end(), own.begin(), own.end());
      starts.push_back(narrow<int32_t>(std::ssize(listed)));
    }
  }
  const int64_t size = std::ssize(listed);
  return {spec.block, Tensor::from(starts, {sets, std::ssize(rows) + 1}),
          Tensor::from(listed, {size})};
}

std::vector<BlockPlace> blocks_in(const SightSpec& spec, const SightShape& shape) {
  const int64_t before = shape.first_query / spec.block,
                count = pieces_of(shape.first_query + shape.queries, spec.block);
  SKEIN_CHECK(shape.first_query % spec.block == 0 || shape.queries == 1);
  std::vector<BlockPlace> made;
  for (int64_t row = 0; row < pieces_of(shape.queries, spec.block); ++row)
    made.push_back({before + row, count});
  return made;
}

}  // namespace

Pattern pattern_of(const SightSpec& spec, bool causal, const SightShape& shape) {
  Pattern made = band_of(spec, causal);
  made.first_query = shape.first_query;
  if (causal) made.marked_after = 0;
  if (lists_blocks(spec, causal, shape.first_query + shape.queries))
    made.lists = lists_of(spec, causal, shape, blocks_in(spec, shape));
  return made;
}

Tensor begins_of(const Tensor& segments, bool causal) {
  if (!segments.defined()) return {};
  const Tensor made = Tensor::zeros(segments.shape(), DType::i32);
  const int32_t* of = segments.data<int32_t>();
  int32_t* begins = made.data<int32_t>();
  for (int64_t i = 0; i < made.size(); ++i) {
    const int64_t place = i % segments.dim(1);
    const bool goes_on = place > 0 && (of[i] == of[i - 1] || (causal && of[i] < 0));
    begins[i] = goes_on ? begins[i - 1] : narrow<int32_t>(place);
  }
  return std::any_of(begins, begins + made.size(), std::identity()) ? made : Tensor();
}

namespace {

// How many tokens from token i on, where its segment begins, are of it.
int64_t length_from(const Tensor& begins, int64_t i) {
  const int64_t left = begins.dim(1) - i % begins.dim(1);
  const int32_t* from = begins.data<int32_t>() + i;
  return std::find_if(from, from + left, [&](int32_t begin) { return begin != *from; }) - from;
}

}  // namespace

// What is after a block is nothing to a causal one: there segments of all lengths share lists.
kernels::BlockLists lists_of_segments(const SightSpec& spec, bool causal, const SightShape& shape,
                                      const Tensor& begins) {
  const int64_t length = begins.dim(1);
  const Tensor rows = Tensor::zeros(begins.shape(), DType::i32);
  std::vector<BlockPlace> blocks;
  std::map<int64_t, int64_t> lists;  // by number of blocks, the first of so many
  for (int64_t i = 0; i < begins.size(); ++i) {
    if (begins.data<int32_t>()[i] != i % length) continue;
    const int64_t own = length_from(begins, i),
                  count = pieces_of(causal ? length : own, spec.block);
    const auto [first, is_new] = lists.try_emplace(count, std::ssize(blocks));
    for (int64_t block = 0; is_new && block < count; ++block) blocks.push_back({block, count});
    for (int64_t j = 0; j < own; ++j)
      rows.data<int32_t>()[i + j] = narrow<int32_t>(first->second + j / spec.block);
  }
  kernels::BlockLists made = lists_of(spec, causal, shape, blocks);
  made.origins = begins;
  made.rows = rows;
  return made;
}

namespace {

// What marks add, as if a sample's first tokens and every n-th were marked: of each query the
// marked keys out of its band, and of each marked one all that it sees besides.
double marked_pairs(const SightSpec& spec, bool causal, int64_t length) {
  data::Sequence one;
  one.tokens = Tensor::zeros({1, length}, DType::i32);
  MarkRule rule = spec.marks;
  rule.token = rule.until = -1;
  Pattern pattern = band_of(spec, causal);
  pattern.marked = marks_of(rule, one);
  pattern.marked_after = causal ? 0 : kernels::kUnlimited;
  double pairs = kernels::visible_pairs(pattern, 1, 1, length, length);
  for (int64_t i = 0; i < length; ++i)
    if (pattern.marked.data<int32_t>()[i]) pairs += static_cast<double>(causal ? i + 1 : length);
  return pairs;
}

// A configuration that anybody may have written can name any length.
constexpr int64_t kMostCounted = 1 << 17;

}  // namespace

double keys_per_query(const SightSpec& spec, bool causal, int64_t all) {
  const int64_t length = std::min(all, kMostCounted);
  if (spec.kind == SightKind::lsh) return hashed_keys_per_query(spec, causal, length);
  double pairs = 0;
  if (spec.kind == SightKind::global)
    pairs = marked_pairs(spec, causal, length);
  else
    pairs =
        kernels::visible_pairs(pattern_of(spec, causal, {.queries = length}), 1, 1, length, length);
  return pairs / static_cast<double>(std::max<int64_t>(1, length));
}

bool saves(const SightSpec& spec, bool causal, int64_t length) {
  return length > kMostCounted ||
         keys_per_query(spec, causal, length) < keys_per_query({}, causal, length);
}

namespace {

// How many tokens from the first on are marked.
int64_t end_of(std::span<const int32_t> tokens, const MarkRule& rule) {
  const auto found = std::ranges::find(tokens, rule.until);
  return rule.until < 0 || found == tokens.end() ? rule.first
                                                 : std::max(rule.first, found - tokens.begin() + 1);
}

}  // namespace

Tensor marks_of(const MarkRule& rule, const data::Sequence& sequence) {
  // What lies on a device is fetched where it is asked for alone.
  const bool by_id = rule.token >= 0 || rule.until >= 0;
  const Tensor tokens = by_id ? sequence.tokens.to(Device{})
                              : Tensor::zeros(sequence.tokens.shape(), DType::i32),
               segments = sequence.segments.defined() ? sequence.segments.to(Device{}) : Tensor(),
               made = Tensor::zeros(tokens.shape(), DType::i32);
  const Tensor known = begins_of(segments),
               begins = known.defined() ? known : Tensor::zeros(tokens.shape(), DType::i32);
  for (int64_t i = 0, end = 0; i < made.size(); ++i) {
    const int64_t place = i % sequence.length() - begins.data<int32_t>()[i];
    if (place == 0)
      end = end_of({tokens.data<int32_t>() + i, static_cast<size_t>(length_from(begins, i))}, rule);
    const bool marked = place < end || (rule.every > 0 && place % rule.every == 0) ||
                        (rule.token >= 0 && tokens.data<int32_t>()[i] == rule.token),
               padding = segments.defined() && segments.data<int32_t>()[i] < 0;
    made.data<int32_t>()[i] = marked && !padding;
  }
  return made;
}

namespace {

// Numbers of the marked rows, sample by sample.
std::vector<std::vector<int32_t>> places_of(const Tensor& marks) {
  std::vector<std::vector<int32_t>> made(static_cast<size_t>(marks.dim(0)));
  for (int64_t i = 0; i < marks.size(); ++i)
    if (marks.data<int32_t>()[i])
      made[static_cast<size_t>(i / marks.dim(1))].push_back(narrow<int32_t>(i % marks.dim(1)));
  return made;
}

}  // namespace

MarkedRows marked_rows(const Tensor& marks, Device device) {
  const auto places = places_of(marks);
  const int64_t samples = marks.dim(0), length = marks.dim(1), tokens = samples * length;
  MarkedRows made;
  made.device = device;
  for (const auto& one : places) made.most = std::max(made.most, std::ssize(one));
  const int64_t rows = samples * made.most;
  RowChoiceMaker taken(rows, tokens), put_back(tokens, tokens + rows);
  made.tokens = data::filled(samples, made.most, -1);
  for (int64_t i = 0; i < tokens; ++i)
    if (!marks.data<int32_t>()[i]) put_back.take(i, i);
  for (int64_t sample = 0; sample < samples; ++sample)
    for (int64_t i = 0; const int32_t place : places[static_cast<size_t>(sample)]) {
      const int64_t row = sample * made.most + i++, token = sample * length + place;
      taken.take(row, token);
      made.tokens.data<int32_t>()[row] = narrow<int32_t>(token);
      put_back.take(token, tokens + row);
    }
  made.taken = taken.on(device);
  made.put_back = put_back.on(device);
  return made;
}

Tensor at_rows(const Tensor& of_tokens, const MarkedRows& rows, int32_t otherwise) {
  const Tensor known = of_tokens.to(Device{}),
               made = Tensor::empty({of_tokens.dim(0), rows.most}, DType::i32);
  for (int64_t i = 0; i < made.size(); ++i) {
    const int32_t token = rows.tokens.data<int32_t>()[i];
    made.data<int32_t>()[i] = token < 0 ? otherwise : known.data<int32_t>()[token];
  }
  return made.to(rows.device);
}

Var with_rows(const Var& y, const Var& marked, const MarkedRows& rows) {
  const int64_t width = y.shape()[2], all = y.value().size() + marked.value().size();
  const Var both = ops::end_to_end(
      {ops::reshape(y, {y.value().size()}), ops::reshape(marked, {marked.value().size()})});
  return ops::reshape(ops::take_rows(ops::reshape(both, {1, all / width, width}), rows.put_back),
                      y.shape());
}

}  // namespace skein
