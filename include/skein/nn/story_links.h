// Stories as links: which words are of which sentence, and which sentences a question may look at.
#pragma once

#include "skein/data/samples/batch.h"
#include "skein/ops/links.h"

namespace skein {

// Of a batch as data/stories/story_samples.h makes them, on its device. Slot a of a sample's N is
// the sentence of age a, the latest having age 0.
struct StoryLinks {
  ops::Links words, question;          // from slots [B*N], and from questions [B], to words [B*T]
  Tensor words_order, question_order;  // [E,width], the weight of each word; or undefined
  ops::Links remembered;               // from questions [B] to those of their slots that have words
  Tensor ages;                         // [B,N] i32
};

// memories: sentences older than so many are left out; N is at most that, and as large as a sample
// needs. width: of the weights that tell words' places in a sentence of J,
//   l_kj = (1 - j/J) - (k/width)(1 - 2j/J),   j and k from 1
// (Sukhbaatar and others, "End-to-end memory networks", 2015, section 4.1); 0: none. dtype: f32 or
// f64, in which sums are.
StoryLinks story_links(const data::Batch& batch, int64_t memories, int64_t width, DType dtype);

}  // namespace skein
