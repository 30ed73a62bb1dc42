// What a micro-batch is made of: plain tensors, made on the host.
#pragma once

#include "skein/tensor/tensor.h"

namespace skein::data {

// One side of each sample, such as the text to translate or its translation: T tokens a row.
struct Sequence {
  Tensor tokens;     // [B,T] i32, token ids; where features are read, zeros
  Tensor positions;  // [B,T] i32, position fed to the embedding or rotation
  // [B,T] i32, attention stays inside equal numbers: documents of a sample, or its padding, apart.
  // Undefined when every token may see every other.
  Tensor segments;
  // [B,T] i32, kind of token, such as BERT's segments A and B; undefined: all 0. Of nodes whose
  // neighbours are drawn, how many links each has in all; undefined: nothing is drawn
  Tensor types;
  // [B,N,K] f32, what tokens are made of instead of ids, such as the pixels of N patches, or beside
  // them, such as numbers of T nodes; undefined: nothing
  Tensor features;
  // Of graphs, whose nodes are the tokens. Padding, behind a sample's own, is -1 and has no links.
  Tensor bags;       // [B,T,M] i32, the categories of each node, ids of one table
  Tensor distances;  // [B,T,T] i32, how many links the shortest path from a node to another has
  // [B,L,2] i32, a node and the one that it gathers from, in the order of the former; each link has
  // a row
  Tensor links;
  Tensor link_kinds;   // [B,L] i32, the category of each link
  Tensor link_values;  // [B,L,K] f32, numbers of each link
  // [B] i32, tokens of each row that are no padding, which is behind them; undefined: all are taken
  // for such
  Tensor lengths;

  int64_t size() const { return tokens.dim(0); }
  int64_t length() const { return tokens.dim(1); }
};

// The sequence that is predicted on, and what is predicted there. P is the number of places of a
// sample at which something is predicted: all T, unless `places` names them. Every field has a line
// in batch_fields.h.
struct Batch : Sequence {
  Sequence source;  // what predictions may read besides; undefined where samples have one side
  // [B,P] i32, the token or class to predict at each place; of hidden patches their positions
  Tensor targets;
  // [B,P] f32, 0 where a place does not count in the loss, else 1, or its share of a sample that
  // has several targets
  Tensor weights;
  // [B] i64, number of the sample in the run's stream: the key of its dropout masks
  Tensor sample_ids;
  // [B,P] i32, where in its sample each prediction is made, no place twice; -1: nowhere
  Tensor places;
  // [B] i32, tokens of each row that all its tokens see, which else see none after them; undefined:
  // none
  Tensor prefix;
  // [B] i32: 1 where the second part does not follow the first; undefined: no such task
  Tensor pair_labels;
  Tensor values;  // [B,P] or [B,P,n] f32, the numbers to predict at each place
  Tensor known;   // [B,P,n] f32, what the objective has to know of each place beside its target
  // Of places, by placed(): rows of [B*T] that predictions are made of, -1 for none, and the
  // prediction made of each row.
  Tensor place_rows, row_places;  // [B*P], [B*T] i32
};

// Links of all rows, padding left out; 0 of what has none.
int64_t count_links(const Sequence& sequence);

// [rows, columns] i32, all of them `value`.
Tensor filled(int64_t rows, int64_t columns, int32_t value);

// Of batches whose samples may be shorter than their rows.
struct PaddedShape {
  int64_t length = 0;  // tokens, padding included
  int64_t places = 1;  // of the sample that has the most
  int32_t pad = 0;
  bool segments = false;  // padding is kept apart: for encoders, which see all positions
  bool types = false;
};
// Padding alone, with lengths: one side of a batch.
Sequence padded_sequence(int64_t count, const PaddedShape& shape);
// A batch of padding alone, with lengths and places: no place is named, and weights are 0.
Batch padded_batch(int64_t count, const PaddedShape& shape);
// Numbers from `column` on of a row of x [rows, columns].
template <class T>
T* row_of(const Tensor& x, int64_t row, int64_t column = 0) {
  return x.data<T>() + row * x.dim(1) + column;
}

// Rows [begin, end) of a batch, the same bytes.
Batch batch_rows(const Batch& batch, int64_t begin, int64_t end);
// The batch without padding that none of its rows has a use for: as many tokens as its longest row
// has, on either side, and as many places as the row that has the most, all rounded up by
// rounded_length, tokens by `multiple`. A side whose lengths are undefined stays as it is, and
// places stay with the tokens that are predicted on; where none are named, each token is one.
Batch trimmed(const Batch& batch, int64_t multiple);
// The least length of few that holds `length`, at most `most`: multiples of `multiple`, of 2
// `multiple` beyond 16 of them, of 4 beyond 32, ... so that no more than an eighth is lost and few
// shapes occur.
int64_t rounded_length(int64_t length, int64_t multiple, int64_t most);
// The batch on a device; weights, known and lengths stay on the host, where losses are weighed.
Batch placed(const Batch& batch, Device device);

// For work on placed batches that is recorded once and repeated with the numbers of others.
// The batch, with bytes of its own for what is on the device.
Batch with_own_bytes(const Batch& batch);
// Whether both have the same fields, of the same shapes.
bool same_shapes(const Batch& left, const Batch& right);
// Overwrites what `to` has on the device by what `from` has there; their shapes must be the same.
void copy_bytes(const Batch& from, const Batch& to);

}  // namespace skein::data
