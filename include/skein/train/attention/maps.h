// What a model looks at: weights of attention of every layer and head over a text, and where heads
// look on the whole.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "skein/data/samples/batch.h"
#include "skein/data/samples/pair_form.h"
#include "skein/train/task.h"
#include "skein/train/trained_model.h"

namespace skein::train {

// A text as a model is fed it, in a batch of one row.
struct AttendedText {
  data::Batch batch;
  // Tokens as text: those that are fed, those that are to be predicted at each, where the model
  // maps sources, and those of the source.
  std::vector<std::string> tokens, next, source;
  // Of each of `next` whether it stands in the source and is no special token: such as a word to
  // copy.
  std::vector<bool> copied;
};

// A model of one side; where it reads prompts both ways, the whole text is its prompt. A usage
// error for a text without a token, one that does not fit the model, and a token that it does not
// know.
AttendedText attended_text(const TrainedModel& model, const std::string& text);
// A model that maps sources. The model's tokenizer is that of the targets.
AttendedText attended_pair(const TrainedModel& model, const text::Tokenizer& sources,
                           const data::PairForm& form, const std::string& source,
                           const std::string& target);

// Of one layer, of all its heads.
struct AttentionMap {
  int block = 0;
  bool memory = false;  // whether its keys are the source's tokens
  Tensor weights;       // [H,T,S] f64

  // "block 3, source"
  std::string name() const;
};

// Collective. One for each layer of the whole model, in order, alike on all ranks and at every
// pipeline and data-parallel layout; by tensor-parallel ranks up to rounding.
std::vector<AttentionMap> attention_maps(const AttendedText& text, const EvaluatedModel& model);

// Where the largest weight of each query lies, counted over texts.
class AttentionHabits {
 public:
  struct Habit {
    int block = 0;
    bool memory = false;
    int64_t head = 0;
    // The distance at which most of the largest weights lie, as key's place less query's place; of
    // several the one nearest to 0, and the lower one of two. share: how many of `queries` do.
    int64_t distance = 0;
    double share = 0, entropy = 0;  // entropy: mean of the weights', in nats
    int64_t queries = 0;            // that were counted
  };

  // Counts queries that see several keys; where keys are a source's only those that are `copied`.
  void add(const AttendedText& text, const std::vector<AttentionMap>& maps);
  // By block, kind and head; those without a query are left out.
  std::vector<Habit> habits() const;

 private:
  struct Counts {
    std::map<int64_t, int64_t> by_distance;
    double entropy = 0;
    int64_t queries = 0;
  };
  std::map<std::tuple<int, bool, int64_t>, Counts> counts_;
};

}  // namespace skein::train
