// What a SentencePiece model does to text: its normalisation, its pieces, and the way back. Equal
// to the library's own, bit for bit of its float sums.
#pragma once

#include <memory>
#include <string>

#include "skein/text/sentencepiece/model_file.h"

#include "text/models/token_decoder.h"
#include "text/models/word_model.h"
#include "text/split/normalize.h"

namespace skein::text {

using SharedPieces = std::shared_ptr<const SentencePieceModel>;

// A usage error naming `where` when the table of characters is damaged.
std::shared_ptr<const Rewriter> sentencepiece_rewriter(SharedPieces model,
                                                       const std::string& where);
// Of normalised text. Pieces that are unknown, control, bytes or unused never come from text.
std::unique_ptr<WordModel> sentencepiece_unigram(SharedPieces model);
std::unique_ptr<WordModel> sentencepiece_bpe(SharedPieces model);
// What `inner` makes of text, with the ids that `vocabulary` gives its pieces, as Marian's models
// have it; pieces that are not there become its <unk>, which it must have.
std::unique_ptr<WordModel> renumbered_model(std::unique_ptr<WordModel> inner,
                                            Vocabulary vocabulary);
std::shared_ptr<const TokenDecoder> sentencepiece_decoder(SharedPieces model);

}  // namespace skein::text
