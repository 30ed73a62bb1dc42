// The sequences of one data-parallel index on their way: all its ranks make the same decisions from
// the same tokens. Internal to the floor.
#pragma once

#include <optional>

#include "skein/generate/generator.h"
#include "skein/ops/likeliest.h"

#include "beam_rows.h"
#include "beginning.h"

namespace skein::generate {

struct Generator::Sequence {
  Beginning from;
  uint64_t draw;
  int64_t left;                   // tokens it may still be given
  Continuation made;              // what is drawn
  std::optional<BeamRows> beams;  // instead of it, what is searched

  bool finished() const;
  int64_t length() const;
  // Into its row `place` of the cache goes the token that was chosen last.
  int32_t feed(int64_t place) { return beams ? beams->feed(place) : made.tokens.back(); }
  // end: the token that ends it. log_probability: kept where it is defined.
  void take(int32_t id, int32_t end, const float* log_probability,
            const std::function<bool(const Tokens&)>& goes_on);
  // What became of it.
  std::vector<Continuation> result() const;
};

class Generator::Decoding {
 public:
  Decoding(Generator& generator, std::span<Sequence> sequences);
  // Until all are finished, here and, where there is a meeting, on every rank.
  void run(const Progress& progress, Meeting* meeting);

 private:
  struct Row {
    Sequence* sequence;
    int64_t cached;  // its row of the cache
    int64_t place;   // among the rows of its sequence, which stand together
  };
  // What is fed before the answers of a batch ends in the same column: shorter ones begin later,
  // and nothing looks at what stands before them.
  struct Rows {
    std::vector<Row> all;
    KvCache cache;
    int64_t capacity = 0;  // of the cache

    int64_t size() const { return std::ssize(all); }
    int64_t live() const;
    int64_t most_left() const;
    // Of the logits of each row of the cache [B,V] those of `all`.
    Tensor own(const Tensor& logits) const;
  };

  bool wants_newcomers() const;
  bool wants_to_move() const;
  void admit();
  // Feeds what they begin from, and gives them their first tokens.
  Rows start(std::span<Sequence> newcomers, int64_t room);
  KvCache cache_for(const std::vector<Beginning>& beginnings, int64_t room) const;
  // The live rows of all in one cache.
  Rows joined(std::vector<Rows*> all) const;
  void step();
  // Runs a batch through all pieces; logits of the last position [B,V] on the last stage, undefined
  // elsewhere.
  Tensor forward(KvCache& cache, const data::Batch& batch);
  // The next token of each row that is not finished, drawn or searched; logits of each row of the
  // cache, as forward gives them.
  void give_tokens(Rows& rows, const Tensor& logits) const;
  void draw(const Rows& rows, const Tensor& logits) const;
  void search(Rows& rows, const Tensor& logits) const;
  // Of each row that has a beam what may follow it, on all ranks.
  ops::LikelyIds likely_ids(const Rows& rows, const Tensor& logits) const;
  ops::LikelyArguments what_may_follow(const Rows& rows) const;
  // Of the sequence whose rows begin at `first`.
  std::vector<Candidate> candidates(const Rows& rows, int64_t first,
                                    const ops::LikelyIds& likely) const;
  void tell(const Progress& progress);

  Generator& g_;
  std::span<Sequence> sequences_;
  Rows rows_;
  size_t next_ = 0;  // sequences that have begun
  size_t told_ = 0;
  int64_t batch_ = 0;  // sequences at once
  int64_t width_ = 1;  // rows of each
  int64_t slack_ = 0;  // most columns before rows are moved to the front again
  int64_t key_width_;  // numbers of a position's keys in a layer here
  // of a layer's keys at most, and of those made of its memories
  int64_t elements_ = 0, memory_elements_ = 0;
};

}  // namespace skein::generate
