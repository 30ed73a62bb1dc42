// What checkpoints say of pairs of texts (TaskNotes), for whoever trains on or decodes with a model
// that maps sources to targets.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "skein/data/corpus/encode_pairs.h"
#include "skein/data/samples/pair_form.h"
#include "skein/models/config.h"
#include "skein/train/task_notes.h"
#include "skein/train/trained_model.h"

namespace skein::train {

inline constexpr char kPairTask[] = "seq2seq";

struct PairNotes {
  std::string task{};  // that wrote them
  // the token that the decoder is fed first, as the targets' vocabulary spells it; "": the usual
  // one (data::pair_form)
  std::string start{};
  // how pairs were read and formed, by option: task.prefix, task.source_length, ...
  std::map<std::string, std::string> options{};
  // of the sources; empty: the checkpoint's own, which is that of the targets
  text::StoredTokenizer source_tokenizer{};
  std::string metric{};  // that the best validation was found by

  std::string option(const std::string& key) const;  // "" where it is not known
};

TaskNotes to_notes(const PairNotes& notes);
// Of any task; those of one without pairs have little to say. A usage error naming `origin` for
// damaged ones.
PairNotes pair_notes(const TaskNotes& notes, const std::string& origin);

// How a vocabulary spells a token; "" for an id that no text is spelt for.
std::string spelling(const text::Tokenizer& tokenizer, int32_t id);

// The token that the decoder of this model is fed before an answer: the one that `option` gives,
// else that of its training; "": the usual one. A usage error for one that is no token, and where
// nobody says it, as of an imported model that came without.
std::string decoder_start(const TrainedModel& source, const std::string& given,
                          const std::string& option);

// The tokenizers that texts are encoded with for a model, and decoded: two, or one twice. Usage
// errors as require_tokenizer, and for one that cannot be read.
data::PairTokenizers pair_tokenizers(const TrainedModel& source);

// A usage error where sources have more ids than the model knows; origin: what has so many.
void check_sources(const ModelConfig& model, int64_t ids, const std::string& origin);

}  // namespace skein::train
