#include "skein/data/stores/convert.h"

#include <algorithm>
#include <filesystem>
#include <functional>

#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/core/numbers.h"
#include "skein/formats/indexed.h"

#include "data/files/spool.h"
#include "store_file.h"

namespace skein::data {
namespace {

constexpr int64_t kChunk = int64_t{1} << 16;
constexpr int64_t kNarrowIds = int64_t{1} << 16;
constexpr int64_t kMegatronNarrow = 65500;

using TakeTokens = std::function<void(std::span<const int32_t>)>;

void for_tokens(const TokenStore& from, int64_t begin, int64_t end, const TakeTokens& take) {
  std::vector<int32_t> ids;
  for (; begin < end; begin += std::ssize(ids)) {
    ids.resize(std::min(kChunk, end - begin));
    from.read(begin, ids);
    take(ids);
  }
}

int64_t ids_in(const TokenStore& from) {
  if (from.info().vocab_size > 0) return from.info().vocab_size;
  int32_t largest = 0;
  for_tokens(from, 0, from.info().tokens, [&](std::span<const int32_t> ids) {
    largest = std::max(largest, *std::max_element(ids.begin(), ids.end()));
  });
  return int64_t{largest} + 1;
}

void write_native(const TokenStore& from, const std::string& output, ExistingFile existing) {
  from.require_vocabulary();
  const StoreInfo& info = from.info();
  TokenStoreWriter writer(output, info.vocab_size, info.end_of_text, info.tokenizer.text(),
                          info.sentences > 0, existing);
  writer.append({}, info.text_bytes);
  const auto documents = from.documents();
  const auto parts = info.sentences > 0 ? from.sentences() : documents;
  auto next_document = documents.begin() + 1;
  for (size_t k = 1; k < parts.size(); ++k) {
    for_tokens(from, parts[k - 1], parts[k],
               [&](std::span<const int32_t> ids) { writer.append(ids, 0); });
    if (info.sentences > 0) writer.end_sentence();
    if (parts[k] != *next_document) continue;
    writer.end_document();
    ++next_document;
  }
  writer.finish();
}

template <class T>
void append_as(Spool& file, std::span<const int32_t> ids) {
  std::vector<T> narrowed(ids.begin(), ids.end());
  file.append(std::as_bytes(std::span(narrowed)));
}

void append_bytes(Spool& file, const std::string& bytes) {
  file.append(std::as_bytes(std::span(bytes)));
}

// type: u16 or one of four bytes.
void append_tokens(const TokenStore& from, formats::TokenType type, Spool& file) {
  int64_t position = 0;
  for_tokens(from, 0, from.info().tokens, [&](std::span<const int32_t> ids) {
    if (type != formats::TokenType::u16) return append_as<int32_t>(file, ids);
    const auto wide =
        std::find_if(ids.begin(), ids.end(), [](int32_t id) { return id >= kNarrowIds; });
    if (wide != ids.end())
      fail_usage(
          "{}: token {} is {}, but the file would hold u16 tokens, up to {}; choose another "
          "output.format",
          from.path(), position + (wide - ids.begin()), *wide, kNarrowIds - 1);
    append_as<uint16_t>(file, ids);
    position += std::ssize(ids);
  });
}

void write_index(const TokenStore& from, formats::TokenType type, Spool& file) {
  const auto documents = from.documents();
  const auto sequences = from.info().sentences > 0 ? from.sentences() : documents;
  append_bytes(file, index_header(type, sequences.size() - 1, documents.size()));
  const auto put = [&file](auto value) { file.append(std::as_bytes(std::span(&value, 1))); };
  for (size_t k = 1; k < sequences.size(); ++k) {
    const uint64_t length = sequences[k] - sequences[k - 1];
    require(length <= INT32_MAX,
            "{}: the sequence that begins at token {} has {} tokens; Megatron-LM's have at most {}",
            from.path(), sequences[k - 1], length, INT32_MAX);
    put(narrow<int32_t>(length));
  }
  for (size_t k = 0; k + 1 < sequences.size(); ++k)
    put(narrow<int64_t>(sequences[k] * token_bytes(type)));
  int64_t sequence = 0;
  for (const uint64_t start : documents) {
    while (sequences[sequence] < start) ++sequence;
    put(sequence);
  }
}

// Whether documents begin rather than end with end_of_text, as far as the first and the last of
// them tell.
bool begins_documents(const TokenStore& from) {
  int32_t first = 0, last = 0;
  from.read(0, {&first, 1});
  from.read(from.info().tokens - 1, {&last, 1});
  return first == from.info().end_of_text && last != from.info().end_of_text;
}

// Notes with a tokenizer that is not known here, or of another vocabulary, could not be read back.
text::StoredTokenizer known_tokenizer(const TokenStore& from) {
  if (from.info().tokenizer.empty()) return {};
  try {
    const int64_t ids = from.info().tokenizer->vocab_size();
    require(ids == from.info().vocab_size, "it has {} ids, the store {}", ids,
            from.info().vocab_size);
    return from.info().tokenizer;
  } catch (const Error& error) {
    log::warn("{}: its tokenizer is left out of the notes: {}", from.path(), error.what());
    return {};
  }
}

void append_notes(const TokenStore& from, TokenFormat format, Spool& file) {
  const StoreInfo& info = from.info();
  TokenNotes notes{known_tokenizer(from), info.vocab_size, info.end_of_text, info.text_bytes, ""};
  if (format != TokenFormat::megatron && info.end_of_text >= 0)
    notes.end_of_text_at = begins_documents(from) ? "begin" : "end";
  append_bytes(file, notes_json(notes));
}

void write_foreign(const TokenStore& from, const std::string& output, TokenFormat format,
                   ExistingFile existing) {
  const std::string stem = stem_of(output);
  const std::string target =
      file_target(format == TokenFormat::megatron ? stem + ".bin" : output, existing);
  const std::string partial = unique_stem(target);
  Spool tokens(partial + ".tokens"), notes(partial + ".notes");
  append_notes(from, format, notes);
  if (format == TokenFormat::megatron) {
    const formats::TokenType type =
        ids_in(from) < kMegatronNarrow ? formats::TokenType::u16 : formats::TokenType::i32;
    Spool index(partial + ".index");
    append_tokens(from, type, tokens);
    write_index(from, type, index);
    tokens.publish(target, existing);
    index.publish(file_target(stem + ".idx", existing), existing);
  } else {
    const formats::TokenType type = format == TokenFormat::llmc && ids_in(from) > kNarrowIds
                                        ? formats::TokenType::u32
                                        : formats::TokenType::u16;
    if (format == TokenFormat::llmc)
      append_bytes(tokens, formats::shard_header({type, from.info().tokens}));
    append_tokens(from, type, tokens);
    tokens.publish(target, existing);
  }
  notes.publish(file_target(notes_path(stem), existing), existing);
}

// Where end_of_text alone tells of documents, those without it and those with it inside come back
// otherwise.
void compare_documents(const TokenStore& from, const TokenStore& made) {
  const auto before = from.documents(), after = made.documents();
  if (std::equal(before.begin(), before.end(), after.begin(), after.end())) return;
  const int64_t end = from.info().end_of_text;
  log::warn(
      "{} has {} documents, but {} will be read as {}: its format knows documents by end_of_text "
      "alone, {}; megatron and native keep them",
      from.path(), before.size() - 1, made.path(), after.size() - 1,
      end < 0 ? "which is unknown here"
              : fmt::format("and {} does not stand at one side of each and nowhere else", end));
}

}  // namespace

std::vector<std::string> converted_files(const std::string& output, TokenFormat format) {
  if (format == TokenFormat::native) return {output};
  const std::string stem = stem_of(output);
  if (format == TokenFormat::megatron) return {stem + ".bin", stem + ".idx", notes_path(stem)};
  require(output.ends_with(".bin"),
          "output.path is {}; token files of this format are known by the suffix .bin", output);
  std::error_code ignored;
  require(!std::filesystem::exists(stem + ".idx", ignored),
          "output.path is {}, but there is a {}.idx: the two would be taken for a data set of "
          "Megatron-LM",
          output, stem);
  return {output, notes_path(stem)};
}

StoreInfo convert_tokens(const TokenStore& from, const std::string& output, TokenFormat format,
                         ExistingFile existing) {
  for (const std::string& file : converted_files(output, format)) file_target(file, existing);
  require(format != TokenFormat::llmc || from.info().tokens <= formats::kMostShardTokens,
          "{} holds {} tokens; a file of llm.c holds at most {}", from.path(), from.info().tokens,
          formats::kMostShardTokens);
  if (format == TokenFormat::native)
    write_native(from, output, existing);
  else
    write_foreign(from, output, format, existing);
  const TokenStore made(output);
  if (format == TokenFormat::nanogpt || format == TokenFormat::llmc) compare_documents(from, made);
  return made.info();
}

}  // namespace skein::data
