// What a checkpoint's metadata keeps of the folder that its model was imported from, for the way
// back; training on keeps it too.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "skein/train/run_state.h"

namespace skein::convert {

struct ImportNotes {
  std::string source;  // the path it came from
  std::string config;  // text of config.json
  // other small files, by name: tokenizer, generation, chat template; SentencePiece's are no text
  std::map<std::string, std::string> texts;
  std::map<std::string, std::vector<std::string>> weights;  // names of the tensors in each file
  std::map<std::string, std::string> sums;  // XXH3-128 of each file of weights, in hex
  std::string tokenizer_fault = {};  // why the source's tokenizer was not taken; "" where it was

  bool empty() const { return source.empty(); }
};

struct FolderTokenizer {
  text::StoredTokenizer tokenizer = {};  // none when there is none that can be used
  std::string fault = {};                // the reason then
  text::StoredTokenizer source = {};     // of sources; none where it is the same
};

// The metadata of an imported checkpoint: that of a run of no steps, as docs/checkpoint-format.md
// has it, and the notes; its task's are PairNotes where the model maps sources, else those of its
// labels.
std::string import_metadata(const ModelConfig& model, const FolderTokenizer& tokenizer,
                            const ImportNotes& notes);
// Empty notes when no ancestor of the run was imported. A usage error naming `origin` when they are
// damaged, or name files that no import keeps.
ImportNotes import_notes(const train::RunState& state, const std::string& origin);

// config.json of a folder, and the small files beside it that are kept. "" and none for a folder
// without.
ImportNotes read_notes(const std::string& folder);
// Whether a tokenizer's files are among them.
bool holds_tokenizer(const ImportNotes& notes);
// Takes the tokenizer's files out of the texts, when another tokenizer is used.
void drop_tokenizer(ImportNotes& notes);
// The tokenizer of a folder. Warns when there is none that can be used.
FolderTokenizer folder_tokenizer(const std::string& folder);

// XXH3-128 of a file, in hex.
std::string file_sum(const std::string& path);

}  // namespace skein::convert
