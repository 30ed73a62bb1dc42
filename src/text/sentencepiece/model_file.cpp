#include "skein/text/sentencepiece/model_file.h"

#include <cmath>
#include <unordered_set>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/core/strings.h"

#include "protobuf.h"
#include "text/models/byte_pieces.h"

namespace skein::text {
namespace {

using Type = SentencePieceModel::Type;

// Field numbers of sentencepiece_model.proto.
enum ModelField : uint64_t { kPieces = 1, kTrainer = 2, kNormalizer = 3, kDenormalizer = 5 };
enum PieceField : uint64_t { kText = 1, kScore = 2, kType = 3 };
enum TrainerField : uint64_t {
  kModelType = 3,
  kVocabSize = 4,
  kSpaceBehind = 24,
  kByteFallback = 35,
  kUnknownId = 40,
  kBeginId = 41,
  kEndId = 42,
  kPadId = 43,
  kUnknownSurface = 44,
  kUnknownPiece = 45,
  kBeginPiece = 46,
  kEndPiece = 47,
  kPadPiece = 48,
};
enum NormalizerField : uint64_t {
  kName = 1,
  kCharsmap = 2,
  kDummyPrefix = 3,
  kExtraSpaces = 4,
  kEscapeSpaces = 5
};

constexpr size_t kMostPieces = size_t{1} << 24;

struct Names {
  std::string begin = "<s>", end = "</s>", pad = "<pad>";
};

SentencePieceModel::Piece read_piece(std::string_view bytes, const std::string& where) {
  SentencePieceModel::Piece piece;
  ProtoReader reader(bytes, where);
  while (reader.next()) {
    if (reader.field() == kText) piece.text = reader.text();
    if (reader.field() == kScore) piece.score = reader.real();
    if (reader.field() != kType) continue;
    const uint64_t type = reader.whole();
    require(type >= 1 && type <= 6, "{} has the unknown type {}", where, type);
    piece.type = static_cast<Type>(type);
  }
  require(!piece.text.empty(), "{} is empty; the file is damaged", where);
  require(std::isfinite(piece.score), "{} ({}) has the score {}, which is no number", where,
          excerpt(piece.text), shown_number(piece.score));
  return piece;
}

SentencePieceModel::Kind read_kind(uint64_t kind, const std::string& where) {
  require(kind == 1 || kind == 2,
          "{} is a model of type {}; only unigram (1) and BPE (2) are supported, not words (3) or "
          "characters (4)",
          where, kind);
  return static_cast<SentencePieceModel::Kind>(kind);
}

void read_trainer(std::string_view bytes, const std::string& where, SentencePieceModel& model,
                  Names& names) {
  ProtoReader reader(bytes, where + ", trainer_spec");
  while (reader.next()) switch (reader.field()) {
      case kModelType: model.kind = read_kind(reader.whole(), where); break;
      case kSpaceBehind:
        require(!reader.flag(),
                "{} puts spaces behind words (treat_whitespace_as_suffix), which "
                "this program does not support",
                where);
        break;
      case kByteFallback: model.byte_fallback = reader.flag(); break;
      case kUnknownSurface: model.unknown_surface = reader.text(); break;
      case kBeginPiece: names.begin = reader.text(); break;
      case kEndPiece: names.end = reader.text(); break;
      case kPadPiece: names.pad = reader.text(); break;
      default: break;
    }
}

void read_normalizer(std::string_view bytes, const std::string& where, SentencePieceModel& model) {
  ProtoReader reader(bytes, where + ", normalizer_spec");
  while (reader.next()) switch (reader.field()) {
      case kCharsmap: model.charsmap = reader.bytes(); break;
      case kDummyPrefix: model.add_dummy_prefix = reader.flag(); break;
      case kExtraSpaces: model.remove_extra_whitespaces = reader.flag(); break;
      case kEscapeSpaces: model.escape_whitespaces = reader.flag(); break;
      default: break;
    }
}

void refuse_denormalizer(std::string_view bytes, const std::string& where) {
  ProtoReader reader(bytes, where + ", denormalizer_spec");
  while (reader.next())
    if (reader.field() == kCharsmap)
      require(reader.bytes().empty(),
              "{} has rules for decoding (denormalizer_spec), which this program does not support",
              where);
}

// The rules by which SentencePiece itself takes a file.
void check_pieces(const SentencePieceModel& model, const std::string& where) {
  std::unordered_set<std::string_view> known;
  size_t bytes = 0, unknown = 0;
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    require(known.insert(piece.text).second, "{} has the piece {} twice", where,
            excerpt(piece.text));
    unknown += piece.type == Type::unknown ? 1 : 0;
    if (piece.type != Type::byte) continue;
    require(model.byte_fallback && byte_of_piece(piece.text) >= 0, "{} has the byte piece {}, {}",
            where, excerpt(piece.text),
            model.byte_fallback ? "which names no byte" : "but its byte_fallback is false");
    ++bytes;
  }
  require(unknown == 1, "{} has {} unknown pieces among {}; there must be one", where, unknown,
          model.pieces.size());
  require(!model.byte_fallback || bytes == 256,
          "{} has {} pieces of bytes; byte_fallback needs all 256", where, bytes);
}

void find_specials(SentencePieceModel& model, const Names& names) {
  for (int32_t id = 0; id < std::ssize(model.pieces); ++id) {
    const SentencePieceModel::Piece& piece = model.pieces[id];
    if (piece.type == Type::unknown) model.unknown = id;
    if (piece.type != Type::control) continue;
    if (piece.text == names.begin) model.begin = id;
    if (piece.text == names.end) model.end = id;
    if (piece.text == names.pad) model.pad = id;
  }
}

std::string written_trainer(const SentencePieceModel& model) {
  ProtoWriter writer;
  writer.whole(kModelType, static_cast<uint64_t>(model.kind));
  writer.whole(kVocabSize, model.pieces.size());
  writer.whole(kByteFallback, model.byte_fallback ? 1 : 0);
  const auto special = [&](TrainerField id_field, TrainerField name_field, int32_t id) {
    writer.whole(id_field, static_cast<uint64_t>(int64_t{id}));
    if (id >= 0) writer.bytes(name_field, model.pieces[id].text);
  };
  special(kUnknownId, kUnknownPiece, model.unknown);
  special(kBeginId, kBeginPiece, model.begin);
  special(kEndId, kEndPiece, model.end);
  special(kPadId, kPadPiece, model.pad);
  writer.bytes(kUnknownSurface, model.unknown_surface);
  return writer.made();
}

std::string written_normalizer(const SentencePieceModel& model) {
  ProtoWriter writer;
  writer.bytes(kName, model.charsmap.empty() ? "identity" : "user_defined");
  if (!model.charsmap.empty()) writer.bytes(kCharsmap, model.charsmap);
  writer.whole(kDummyPrefix, model.add_dummy_prefix ? 1 : 0);
  writer.whole(kExtraSpaces, model.remove_extra_whitespaces ? 1 : 0);
  writer.whole(kEscapeSpaces, model.escape_whitespaces ? 1 : 0);
  return writer.made();
}

}  // namespace

SentencePieceModel read_sentencepiece(std::string_view bytes, const std::string& where) {
  SentencePieceModel model;
  Names names;
  ProtoReader reader(bytes, where);
  while (reader.next()) {
    if (reader.field() == kPieces) {
      require(model.pieces.size() < kMostPieces, "{} has more than {} pieces", where, kMostPieces);
      model.pieces.push_back(
          read_piece(reader.bytes(), fmt::format("{}, piece {}", where, model.pieces.size())));
    }
    if (reader.field() == kTrainer) read_trainer(reader.bytes(), where, model, names);
    if (reader.field() == kNormalizer) read_normalizer(reader.bytes(), where, model);
    if (reader.field() == kDenormalizer) refuse_denormalizer(reader.bytes(), where);
  }
  check_pieces(model, where);
  find_specials(model, names);
  return model;
}

std::string written_sentencepiece(const SentencePieceModel& model) {
  ProtoWriter writer;
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    ProtoWriter entry;
    entry.bytes(kText, piece.text);
    entry.real(kScore, piece.score);
    if (piece.type != Type::normal) entry.whole(kType, static_cast<uint64_t>(piece.type));
    writer.bytes(kPieces, entry.made());
  }
  writer.bytes(kTrainer, written_trainer(model));
  writer.bytes(kNormalizer, written_normalizer(model));
  return writer.made();
}

}  // namespace skein::text
