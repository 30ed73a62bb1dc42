// From other programs' models to checkpoints that every command here begins from.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skein/checkpoint/finite.h"
#include "skein/checkpoint/piece.h"
#include "skein/convert/match.h"
#include "skein/convert/notes.h"

namespace skein::convert {

enum class Form { skein, huggingface, llmc, gguf };

struct ConvertConfig {
  std::optional<DType> dtype;  // of all tensors; nothing: as they are
  bool q8_0 = false;           // of GGUF: products' weights in blocks of 8-bit numbers
  bool allow_missing = false;
  bool allow_unexpected = false;
  std::string tokenizer;    // file or folder; "": the source's own
  int64_t shard_bytes = 0;  // most of one file of an export; 0: the import's files if none has more
                            // than 5 GB, else 5 GB
  uint64_t seed = 1;        // of start values
  // Of an import of a model of pictures: the size that it is to read; 0: its own.
  int64_t image_height = 0, image_width = 0;
  // Of an encoder of texts: the tokens that it is to read, more than it does; 0: as many.
  int64_t to_context = 0;
  std::map<std::string, std::string> attention = {};  // options that say its structure then, by key
};

// Tells of values that are not finite in what was made, and where --dtype may be why.
void warn_of(const checkpoint::NonFiniteCounts& odd, const std::string& made,
             const ConvertConfig& config);

// Bytes done and bytes in all.
using ConvertProgress = std::function<void(int64_t done, int64_t total)>;

// A usage error where a folder that a checkpoint is to be written into holds a model.
void check_destination(const std::string& path);

// The form of what lies at `path`. A usage error for what is none of them.
Form form_of(const std::string& path);

// The "model_type" of every Hugging Face model that is known.
std::vector<std::string> known_model_types();

class Refit;

// Describes the model of a Hugging Face folder or an llm.c file and compares it with the tensors
// there; reads no weights yet.
class Import {
 public:
  Import(const std::string& source, Form form, const ConvertConfig& config);
  ~Import();

  const ModelConfig& model() const;
  // Which tensor there is which here, a line each, and a line of what becomes of the model.
  std::string text() const;
  // Whether the source has weights narrower than f32.
  bool narrow() const;
  // Writes a checkpoint of no steps into the folder `destination`, which must hold none. Returns
  // the checkpoint's path. Memory: two shards of half a GiB, and the largest transposed tensor.
  std::string run(const std::string& destination, const ConvertProgress& progress) const;

 private:
  std::vector<std::vector<checkpoint::Piece>> plan() const;
  DType dtype_of(size_t tensor) const;

  ConvertConfig config_;
  ModelConfig model_;             // as it is there
  std::unique_ptr<Refit> refit_;  // what is made of it
  ImportNotes notes_;
  FolderTokenizer tokenizer_;
  WeightFiles files_;
  Match match_;
};

}  // namespace skein::convert
