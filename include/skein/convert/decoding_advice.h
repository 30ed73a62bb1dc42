// How the authors of an imported model decode it.
#pragma once

#include <string>
#include <vector>

#include "skein/convert/huggingface_config.h"

namespace skein::convert {

struct DecodingAdvice {
  std::vector<std::string> options;  // of `skein generate`, that do what is asked: "--beam.size=4"
  std::vector<std::string> others;   // what is asked that no option does: "repetition_penalty=1.2"
};

// What a folder's generation_config.json asks of transformers' generate (5.24), as its text, or,
// where there is none, what config.json asks. Of an encoder-decoder, lengths lose the token that
// the decoder is fed first, which transformers counts; of a decoder, they count its prompt, which
// no option does. origin: the file, for errors of what is no JSON.
DecodingAdvice decoding_advice(const std::string& text, const std::string& origin,
                               const ModelConfig& model);

}  // namespace skein::convert
