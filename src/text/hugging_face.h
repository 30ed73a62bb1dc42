// Reading tokenizer.json, the part of it that docs/data.md lists. Every reader checks what it is
// given and returns it in canonical form: all keys that count, in a fixed order, nothing else.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/core/json.h"
#include "skein/text/tokenizer.h"

#include "imported_tokenizer.h"

namespace skein::text {

using HuggingFaceJson = nlohmann::json;
using CanonicalJson = nlohmann::ordered_json;

// A usage error naming the part of the file, its type and the key.
std::unique_ptr<Tokenizer> tokenizer_from_hugging_face(const HuggingFaceJson& json);

// A component of the file: `where` is its key there, for messages.
class Component {
 public:
  // A usage error when it is not an object with a "type"; `fallback` is the type of one that has
  // none.
  Component(const HuggingFaceJson& json, std::string where, const std::string& fallback = "");

  const std::string& type() const { return type_; }
  const std::string& where() const { return where_; }
  // The value of a key, nullptr for one that is missing or null.
  const HuggingFaceJson* find(const std::string& key) const;
  // A usage error when it is missing or null.
  const HuggingFaceJson& at(const std::string& key) const;
  bool flag(const std::string& key, bool fallback) const;
  std::string text(const std::string& key, const std::string& fallback) const;
  int64_t integer(const std::string& key, int64_t fallback) const;
  // A usage error for keys other than "type" and these.
  void only(const std::vector<std::string>& keys) const;
  // A usage error naming a setting that is not supported.
  [[noreturn]] void refuse(const std::string& key, const std::string& value) const;
  // A usage error naming the type, which is none of `known`.
  [[noreturn]] void refuse_type(const std::string& known) const;

 private:
  const HuggingFaceJson& json_;
  std::string where_, type_;
};

// The components of a Sequence with its members under `list`, or the one component itself; none of
// null.
std::vector<Component> flattened(const HuggingFaceJson& json, const std::string& where,
                                 const std::string& list);
// What was read of them, as a Sequence if `json` is one.
CanonicalJson gathered(const HuggingFaceJson& json, const std::string& list,
                       const std::vector<CanonicalJson>& parts);

// null stands for nothing to do.
CanonicalJson read_normalizer(const HuggingFaceJson& json, std::vector<NormalizerStep>& steps);
// The pattern of a Split or Replace: compiled, or its literal text and null.
CanonicalJson read_pattern(const Component& part, std::shared_ptr<const SplitPattern>& pattern,
                           std::string& literal);
CanonicalJson read_metaspace(const Component& part, SplitStep& step);
CanonicalJson read_pre_tokenizer(const HuggingFaceJson& json, std::vector<SplitStep>& steps,
                                 bool& byte_level);
// Of pre-tokenizers, post-processors and decoders alike; only in the first it says what is done.
CanonicalJson read_byte_level(const Component& part);
CanonicalJson read_post_processor(const HuggingFaceJson& json, ImportedParts& parts);
// `steps` are what the decoder does, for models whose tokens are neither bytes nor WordPiece's.
CanonicalJson read_decoder(const HuggingFaceJson& json, ImportedParts& parts,
                           std::vector<DecoderStep>& steps);
// BPE over bytes where words come as bytes, else any of the others. Added tokens that the model's
// vocabulary has must have their ids there.
std::unique_ptr<WordModel> read_model(const HuggingFaceJson& json,
                                      const std::vector<AddedToken>& added, bool byte_level);
// By rising id.
CanonicalJson read_added_tokens(const HuggingFaceJson& json, std::vector<AddedToken>& tokens);

}  // namespace skein::text
