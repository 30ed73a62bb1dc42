// A model that is made of another's weights: for pictures of another size, or for longer texts.
#pragma once

#include <functional>
#include <string>

#include "skein/checkpoint/piece.h"
#include "skein/convert/import.h"
#include "skein/models/description.h"

namespace skein::convert {

class Refit {
 public:
  // Elements [begin, end) of a whole tensor of the source, row-major, as a type, to memory.
  using Read = std::function<void(const std::string& name, int64_t begin, int64_t end, DType dtype,
                                  std::byte* out)>;

  // What the options ask to become of `source`, which is the source itself where they ask for
  // nothing. Usage errors for what cannot be made of it.
  Refit(const ModelConfig& source, const ConvertConfig& config);

  const ModelConfig& model() const { return model_; }
  const TensorShapes& tensors() const { return tensors_; }
  // What becomes of the source, in words; "" where nothing changes.
  const std::string& told() const { return told_; }
  // The tensor of the source that this one is made of; "" where it begins anew.
  std::string origin_of(const std::string& tensor) const;
  // Fills `out` with a part of one of its tensors that has such an origin. part.shape: the
  // tensor's.
  void write(const std::string& tensor, const checkpoint::Piece& part, const Read& read,
             std::byte* out) const;

 private:
  void resize_pictures(const ConvertConfig& config);
  void lengthen(const ConvertConfig& config);
  void write_longer(const std::string& tensor, const checkpoint::Piece& part, const Read& read,
                    std::byte* out) const;
  void write_resized(const std::string& tensor, const checkpoint::Piece& part, const Read& read,
                     std::byte* out) const;

  ModelConfig source_, model_;
  TensorShapes held_, tensors_;  // of the source, and of what it becomes
  std::string told_;
};

// Makes a checkpoint of no steps in the folder `destination`, which must hold none, of the encoder
// of longer texts that the options ask to become of the run or checkpoint `source`. What that says
// of its task, its tokenizer and the folder that it was imported from is kept. Returns the
// checkpoint's path.
std::string refit_checkpoint(const std::string& source, const std::string& destination,
                             const ConvertConfig& config, const ConvertProgress& progress);

}  // namespace skein::convert
