// Precision, recall and F1 of whole entities in tagged sentences, as the Python package seqeval
// counts them in its default mode, which are the rules of conlleval, the script of the CoNLL-2000
// and 2002/2003 shared tasks.
//
// A tag is a prefix character and a type: B-PER; what stands between the first character and the
// first hyphen is dropped, and no type counts as the type "_". An entity begins at B or S, at an I
// or E after O, E or S, and where the type changes; it ends before B, S or O, after E or S, and
// where the type changes. So IOB1, IOB2, IOE and IOBES are all understood, and an I that should
// have been a B still begins an entity. A tag without a prefix counts as it is read: its first
// character is the prefix. Entities are right when their first word, last word and type are.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "skein/train/scores.h"

namespace skein::train {

using TagSequences = std::vector<std::vector<std::string>>;  // a sentence each, no tag empty

struct EntityScores {
  ClassScore all;  // the micro average
  // those in the truth or among the predictions, in byte order
  std::map<std::string, ClassScore> types;
  double macro_f1() const;     // mean F1 of the types
  double weighted_f1() const;  // mean F1 weighted by support
};

// Both sides hold the same sentences, tag for tag.
EntityScores entity_scores(const TagSequences& truth, const TagSequences& predicted);

}  // namespace skein::train
