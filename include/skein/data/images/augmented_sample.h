// Pictures of a store as training sees them.
#pragma once

#include "skein/data/images/augment.h"
#include "skein/data/images/image_store.h"

namespace skein::data {

struct AugmentedSample {
  Image image;
  int32_t label = -1;   // of the picture itself; -1 where nothing is labelled
  int32_t second = -1;  // of the one that is mixed in
  double share = 0;     // of the second in the target; 0: nothing is mixed in
};

// The picture key.image of the store by all of the config; another one that is mixed in is changed
// as itself in this pass. What is erased takes the mean colour of the store.
AugmentedSample augmented_sample(const ImageRecords& images, const AugmentConfig& config,
                                 const AugmentKey& key);

}  // namespace skein::data
