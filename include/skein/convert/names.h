// Which of our tensors each tensor of another program's file holds.
//
//   transformer.h.0.attn.c_attn.weight [C,3C], transposed  =  block.0.attention.q.weight,
//   .k.weight, .v.weight, each [C,C]
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skein/models/config.h"

namespace skein::convert {

struct OurTensor {
  std::string name;
  std::vector<int64_t> shape;

  int64_t size() const;
};

// The elements of our tensors `parts` follow each other in this one, or in its transpose. What is
// behind them is padding.
struct ForeignTensor {
  std::string name;
  std::vector<std::string> other_names = {};  // that it may have instead
  std::vector<int64_t> shape;
  bool transposed = false;  // [in, out] there, [out, in] here
  std::vector<OurTensor> parts;
  // Not 0: the rows of each of so many heads come as first and second half by turns there, while
  // the halves follow each other here.
  int64_t woven_heads = 0;
  // Not 0: for each of so many heads its rows of every part follow each other there.
  int64_t dealt_heads = 0;
  // What is added to each element there. Only in files of f32 that are written.
  float added = 0;

  int64_t size() const;
  // A line that says which of ours it holds, under a name and with a type as some file has them.
  std::string line(const std::string& file_name, const std::string& type) const;
};

// A name that may stand for a second use of another tensor.
struct SecondUse {
  std::string name, of;
  // Whether config.json may say that the two are apart ("tie_word_embeddings").
  bool may_differ = true;
};

struct NameMap {
  std::string prefix;  // of all names but those of heads; a file of the bare model lacks it
  std::vector<ForeignTensor> tensors;
  std::vector<SecondUse> second_uses;
  // What an export writes a second time, for readers that do not know the two to be one. Of an
  // import the second is no weight.
  std::vector<SecondUse> copies;
  // What some files hold besides and nobody reads; "*" stands for a block's number.
  std::vector<std::string> buffers;
  // What transformers counts as parameters of the model beside these tensors' elements, less those
  // that are none there.
  int64_t other_parameters = 0;

  bool is_buffer(const std::string& name) const;
  // Every name under which a file may hold what is `name` here.
  std::vector<std::string> candidates(const std::string& name) const;
};

// Hugging Face's names of such a model, in the family `type` where that can hold it ("model_type").
// A usage error that says, for each family of models, which option keeps it out. transformers'
// RoBERTa has erf-GELU in the vocabulary head whatever its blocks have, its BERT the blocks'
// activation.
NameMap huggingface_names(const ModelConfig& config, const std::string& type = "");

}  // namespace skein::convert
