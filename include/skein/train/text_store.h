// Text that is encoded for one evaluation.
#pragma once

#include <string>

#include "skein/core/files/private_folder.h"
#include "skein/train/trained_model.h"

namespace skein::train {

// A token store of a text, as the model learnt such stores: with sentences where it has learnt
// pairs of them, or to restore their order. It lies in a folder that nobody else can look into, and
// goes at the end. Each rank makes its own: they are equal, and no disk needs to be shared.
class TextStore {
 public:
  // text: as encode_corpus takes it. Errors as encode_corpus.
  TextStore(const std::string& text, const TrainedModel& source);

  const std::string& path() const { return path_; }

 private:
  PrivateFolder folder_;
  std::string path_;
};

}  // namespace skein::train
