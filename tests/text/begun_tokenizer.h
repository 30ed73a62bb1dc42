// A tokenizer whose template begins texts with a token, as those of Llama and Gemma do.
#pragma once

#include "skein/text/tokenizer.h"

namespace skein::test {

// Words "a" 2 and "b" 3; <s> 0 begins texts, </s> 1 ends them.
inline text::StoredTokenizer begun_tokenizer() {
  return text::StoredTokenizer(text::tokenizer_from_json(R"({"version": "1.0", "added_tokens": [
      {"id": 0, "content": "<s>", "special": true, "normalized": false},
      {"id": 1, "content": "</s>", "special": true, "normalized": false}],
    "normalizer": null, "pre_tokenizer": {"type": "Whitespace"}, "decoder": null,
    "post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
      "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
      "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}}},
    "model": {"type": "WordLevel", "vocab": {"<s>": 0, "</s>": 1, "a": 2, "b": 3}, "unk_token": "a"}})")
                                   ->to_json());
}

}  // namespace skein::test
