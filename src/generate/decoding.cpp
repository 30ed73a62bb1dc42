// Invariants between two tokens.
//
// All ranks of a data-parallel index hold the same sequences, and decide who joins, moves or ends
// by their tokens alone. The last stage samples these, and one broadcast brings them to the others.
//
// Every row of the cache ends in its column `length`; a shorter one begins later (first_key), and
// nothing looks at what stands before. Row i of rows_.all is row `cached` of the cache: in start()
// equal prompts that follow each other share one, afterwards each has its own. The columns up to
// `capacity` are free; before they run out the rows move to the front of a new cache.
//
// A finished sequence stays, as a row that nobody reads, until a quarter of the rows are such; then
// joined() leaves them out. So less than a quarter of a step's work is for nothing. A token depends
// on its own sequence alone: on seed, prompt, draw and position (generator.h). So who is decoded
// beside whom changes no token, and rows may join and leave at any time.
//
// A sequence that is searched for has beam.size rows side by side from the first step on; BeamRows
// knows which beam is in which. What attention made of a source, its memory, is kept once for all
// rows of a sequence, by the pass that its answer begins with, and moves with them.
#include "decoding.h"

#include <algorithm>
#include <bit>

#include "skein/core/numbers.h"
#include "skein/core/profile.h"
#include "skein/kernels/embedding.h"
#include "skein/models/architecture.h"

namespace skein::generate {
namespace {

// A quarter is worth the time of moving the rest.
bool many(int64_t some, int64_t of) { return some > 0 && some * 4 >= of; }

}  // namespace

int64_t cache_slack(int64_t seen) {
  constexpr int64_t kLeast = 64;
  return std::max(kLeast, seen / 4);
}

bool Generator::Sequence::finished() const {
  return beams ? beams->search().finished() : made.ended || made.stopped || left == 0;
}

int64_t Generator::Sequence::length() const {
  return std::ssize(*from.fed) + (beams ? beams->search().length() : std::ssize(made.tokens));
}

std::vector<Continuation> Generator::Sequence::result() const {
  return beams ? beams->search().best() : std::vector{made};
}

void Generator::Sequence::take(int32_t id, int32_t end, const float* log_probability,
                               const std::function<bool(const Tokens&)>& goes_on) {
  made.ended = id == end;
  if (made.ended) return;
  made.tokens.push_back(id);
  if (log_probability) made.log_probabilities.push_back(*log_probability);
  made.stopped = goes_on && !goes_on(made.tokens);
  --left;
}

int64_t Generator::Decoding::Rows::live() const {
  return std::count_if(all.begin(), all.end(),
                       [](const Row& row) { return !row.sequence->finished(); });
}

int64_t Generator::Decoding::Rows::most_left() const {
  int64_t most = 0;
  for (const Row& row : all)
    if (!row.sequence->finished()) most = std::max(most, row.sequence->left);
  return most;
}

Generator::Decoding::Decoding(Generator& generator, std::span<Sequence> sequences)
    : g_(generator),
      sequences_(sequences),
      batch_(std::min(g_.config_.batch, std::ssize(sequences))),
      width_(std::max<int64_t>(g_.config_.beam.size, 1)),
      key_width_(g_.model_.kv_heads() / g_.mesh_.tp().size() * g_.model_.head_width()) {
  int64_t longest = 0, longest_fed = 0, longest_source = 0;
  for (const Sequence& sequence : sequences) {
    longest = std::max(longest, sequence.length() + sequence.left);
    longest_fed = std::max(longest_fed, sequence.length());
    if (const Tokens* source = sequence.from.source)
      longest_source = std::max(longest_source, std::ssize(*source));
  }
  const int64_t reach = std::min(longest, g_.model_.attention.reach(g_.model_.n_layers));
  slack_ = cache_slack(reach);
  elements_ = batch_ * width_ * (std::max(reach, longest_fed) + slack_) * key_width_;
  memory_elements_ = batch_ * longest_source * key_width_;
}

void Generator::Decoding::run(const Progress& progress, Meeting* meeting) {
  while (next_ < sequences_.size() || rows_.live() > 0) {
    if (meeting) meeting->pass();
    if (wants_newcomers()) admit();
    // Newcomers may all have ended with their first token, and left the rows where they are.
    if (wants_to_move()) rows_ = joined({&rows_});
    tell(progress);
    if (rows_.live() > 0) step();
  }
  if (meeting) meeting->finish();
  tell(progress);
}

void Generator::Decoding::tell(const Progress& progress) {
  if (!progress || g_.mesh_.world().rank() != 0) return;
  const size_t finished = std::count_if(sequences_.begin(), sequences_.end(),
                                        [](const Sequence& one) { return one.finished(); });
  if (finished > told_) progress(told_ = finished, sequences_.size());
}

bool Generator::Decoding::wants_newcomers() const {
  return next_ < sequences_.size() && many(batch_ - rows_.live() / width_, batch_);
}

bool Generator::Decoding::wants_to_move() const {
  const int64_t live = rows_.live();
  return live > 0 &&
         (many(rows_.size() - live, rows_.size()) || rows_.cache.length == rows_.capacity);
}

void Generator::Decoding::admit() {
  const int64_t live = rows_.live();
  if (live == 0) rows_ = {};
  const size_t count = std::min<size_t>(sequences_.size() - next_, batch_ - live / width_);
  Rows fresh = start(sequences_.subspan(next_, count), live == 0 && width_ == 1 ? slack_ : 0);
  next_ += count;
  const int64_t begun = fresh.live();
  if (begun == 0) return;
  const bool as_they_are = live == 0 && begun == fresh.size() &&
                           begun == fresh.cache.first_key.size() &&
                           !fresh.cache.holds_more_than_needed();
  rows_ = as_they_are ? std::move(fresh) : joined({&rows_, &fresh});
}

Generator::Decoding::Rows Generator::Decoding::start(std::span<Sequence> newcomers, int64_t room) {
  const Span span("prompt");
  Rows rows;
  std::vector<Beginning> beginnings;
  for (Sequence& sequence : newcomers) {
    if (beginnings.empty() || beginnings.back() != sequence.from)
      beginnings.push_back(sequence.from);
    for (int64_t place = 0; place < width_; ++place)
      rows.all.push_back({&sequence, std::ssize(beginnings) - 1, place});
  }
  rows.cache = cache_for(beginnings, std::min(room, rows.most_left()));
  rows.capacity = rows.cache.positions;
  g_.work_.prompts += std::ssize(beginnings);
  data::Batch batch = side_by_side(beginnings);
  if (g_.model_.architecture->reads_prompts_both_ways(g_.model_))
    batch.prefix =
        data::filled(batch.size(), 1, narrow<int32_t>(batch.length())).reshape({batch.size()});
  give_tokens(rows, forward(rows.cache, batch));
  return rows;
}

// The first rows' memory is that of all later ones; of newcomers beside them there are few sizes,
// for memory is kept by its size.
KvCache Generator::Decoding::cache_for(const std::vector<Beginning>& beginnings,
                                       int64_t room) const {
  const Parameters& parameters = g_.local_.parameters();
  const int64_t rows = std::ssize(beginnings), columns = longest_fed(beginnings);
  std::vector<int32_t> begins;
  for (const Beginning& one : beginnings)
    begins.push_back(narrow<int32_t>(columns - std::ssize(*one.fed)));
  KvCache cache;
  cache.first_key = Tensor::from(begins, {rows}).to(parameters.device());
  if (std::vector<int64_t> lengths = source_lengths(beginnings); !lengths.empty())
    cache.set_memories(std::move(lengths), parameters.device());
  cache.layers.resize(g_.model_.n_layers);
  for (size_t block = 0; block < cache.layers.size(); ++block)
    cache.layers[block].reach = g_.model_.attention.reach_of_block(static_cast<int64_t>(block));
  cache.positions = columns + room;
  const uint64_t needed = rows * cache.positions * key_width_;
  cache.elements = room > 0 ? elements_ : narrow<int64_t>(std::bit_ceil(needed));
  return cache;
}

Generator::Decoding::Rows Generator::Decoding::joined(std::vector<Rows*> all) const {
  const Span span("move rows");
  Rows made;
  std::vector<KvCache::Part> parts;
  for (Rows* rows : all) {
    KvCache::Part part{rows->cache, {}};
    for (const Row& row : rows->all) {
      if (row.sequence->finished()) continue;
      part.rows.push_back(row.cached);
      made.all.push_back({row.sequence, made.size(), row.place});
    }
    if (!part.rows.empty()) parts.push_back(std::move(part));
  }
  const int64_t room = std::min(slack_, made.most_left());
  made.cache = KvCache::joined(
      parts, {room, width_, elements_, memory_elements_, batch_ * width_ * key_width_});
  made.capacity = made.cache.length + room;
  return made;
}

void Generator::Decoding::step() {
  const Span span("decode");
  data::Batch batch;
  batch.tokens = Tensor::zeros({rows_.size(), 1}, DType::i32);
  batch.positions = Tensor::zeros({rows_.size(), 1}, DType::i32);
  for (int64_t row = 0; row < rows_.size(); ++row) {
    Sequence& sequence = *rows_.all[row].sequence;
    // A finished sequence goes on unread beside the others.
    if (sequence.finished()) continue;
    batch.tokens.data<int32_t>()[row] = sequence.feed(rows_.all[row].place);
    batch.positions.data<int32_t>()[row] = narrow<int32_t>(sequence.length() - 1);
  }
  ++g_.work_.steps;
  g_.work_.cache_bytes = std::max(g_.work_.cache_bytes, rows_.cache.bytes());
  g_.work_.rows += rows_.size();
  g_.work_.live += rows_.live();
  give_tokens(rows_, forward(rows_.cache, batch));
}

Tensor Generator::Decoding::forward(KvCache& cache, const data::Batch& batch) {
  Pass pass = g_.local_.pass();
  pass.sequence_parallel = false;
  pass.cache = &cache;
  PipelineStep step;
  step.train = step.losses = false;
  step.answers = true;
  step.micro_batches.push_back(batch);
  g_.pipeline_.run(step, pass);
  cache.length += batch.length();
  const auto& answers = g_.pipeline_.answers();
  return answers.empty() ? Tensor() : answers.front().front();
}

// Where each row of the cache stands there once, they are the logits themselves.
Tensor Generator::Decoding::Rows::own(const Tensor& logits) const {
  if (logits.dim(0) == size()) return logits;
  std::vector<int32_t> numbers;
  for (const Row& row : all) numbers.push_back(narrow<int32_t>(row.cached));
  const Tensor from = Tensor::from(numbers, {size()}).to(logits.device());
  const Tensor made = logits.like({size(), logits.dim(1)});
  on_device(logits.device(),
            [&](auto device) { kernels::embedding(device, logits, from, 0, Out(made)); });
  return made;
}

void Generator::Decoding::give_tokens(Rows& rows, const Tensor& logits) const {
  if (g_.config_.beam.size > 0)
    search(rows, logits);
  else
    draw(rows, logits);
}

void Generator::Decoding::draw(const Rows& rows, const Tensor& logits) const {
  std::vector<Draw> draws;
  for (const Row& row : rows.all) {
    const Sequence& sequence = *row.sequence;
    draws.push_back({sequence.draw, sequence.finished() ? -1 : std::ssize(sequence.made.tokens)});
  }
  const GenerateConfig& config = g_.config_;
  Tensor ids = Tensor::zeros({rows.size()}, DType::i32),
         found = Tensor::zeros({config.log_probabilities ? rows.size() : 0}, DType::f32);
  if (logits.defined()) {
    const Tensor own = rows.own(logits);
    ids = sample(own, g_.vocabulary_, config.sampling, draws);
    if (config.log_probabilities) found = log_probabilities(own, g_.vocabulary_, ids);
  }
  g_.mesh_.share_last_stage(ids);
  g_.mesh_.share_last_stage(found);
  for (int64_t row = 0; row < rows.size(); ++row) {
    Sequence& sequence = *rows.all[row].sequence;
    if (!sequence.finished())
      sequence.take(ids.data<int32_t>()[row], config.stop_at_end ? g_.end_of_text_ : -1,
                    config.log_probabilities ? found.data<float>() + row : nullptr, config.goes_on);
  }
}

ops::LikelyArguments Generator::Decoding::what_may_follow(const Rows& rows) const {
  ops::LikelyArguments made{
      std::min(2 * width_, g_.vocabulary_), g_.model_.vocab_size, g_.vocabulary_, {}};
  for (int64_t row = 0; row < rows.size(); ++row) {
    const Row& own = rows.all[row];
    const int64_t beam = own.sequence->beams->beam(own.place);
    if (own.sequence->finished() || beam < 0) continue;
    for (int64_t id : g_.config_.sampling.banned) made.banned.push_back({row, narrow<int32_t>(id)});
    for (int32_t id : own.sequence->beams->search().next(beam).banned)
      made.banned.push_back({row, id});
  }
  return made;
}

ops::LikelyIds Generator::Decoding::likely_ids(const Rows& rows, const Tensor& logits) const {
  const ops::LikelyArguments arguments = what_may_follow(rows);
  const Shape shape{rows.size(), arguments.count};
  ops::LikelyIds made{Tensor::empty(shape, DType::i32), Tensor::empty(shape, DType::f32)};
  if (logits.defined())
    made = ops::likeliest_ids(rows.own(logits), g_.local_.predictor()->vocab_shard(), arguments,
                              g_.mesh_.tp());
  g_.mesh_.share_last_stage(made.ids);
  g_.mesh_.share_last_stage(made.log_probabilities);
  return made;
}

std::vector<Candidate> Generator::Decoding::candidates(const Rows& rows, int64_t first,
                                                       const ops::LikelyIds& likely) const {
  std::vector<Candidate> made;
  const int64_t count = likely.ids.dim(1);
  for (int64_t row = first; row < first + width_; ++row) {
    const int64_t beam = rows.all[row].sequence->beams->beam(rows.all[row].place);
    for (int64_t i = row * count; beam >= 0 && i < (row + 1) * count; ++i)
      made.push_back(
          {beam, likely.ids.data<int32_t>()[i], likely.log_probabilities.data<float>()[i]});
  }
  return made;
}

void Generator::Decoding::search(Rows& rows, const Tensor& logits) const {
  const ops::LikelyIds likely = likely_ids(rows, logits);
  std::vector<KvCache::Follow> moves;
  for (int64_t first = 0; first < rows.size(); first += width_) {
    Sequence& sequence = *rows.all[first].sequence;
    if (sequence.finished()) continue;
    const int64_t begin = rows.cache.length - sequence.beams->search().length();
    for (const auto& [from, to, column] : sequence.beams->advance(candidates(rows, first, likely)))
      moves.push_back({first + from, first + to, begin + column});
    --sequence.left;
  }
  rows.cache.follow(moves);
}

}  // namespace skein::generate
