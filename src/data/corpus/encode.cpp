#include "skein/data/corpus/encode.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/philox.h"
#include "skein/data/files/byte_source.h"
#include "skein/data/files/line_reader.h"

#include "batches.h"
#include "data/files/ordered_workers.h"

namespace skein::data {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kDivisionSearch = int64_t{64} << 10;

struct EncodedPiece {
  std::vector<int32_t> tokens;
  std::vector<size_t> sentence_ends;  // in tokens; empty where sentences are not wanted
  int64_t text_bytes;
  int64_t document;
  bool continues;
};

using EncodedPieces = std::vector<EncodedPiece>;

EncodedPiece encode_piece(const text::Tokenizer& tokenizer, const CorpusPiece& piece,
                          text::SentenceRule rule) {
  EncodedPiece encoded{{}, {}, std::ssize(piece.text), piece.document, piece.continues};
  const auto ids_of_part = [&](std::string_view part, bool first) {
    return first ? tokenizer.encode(part) : tokenizer.encode_within(part);
  };
  if (rule == text::SentenceRule::none) {
    encoded.tokens = ids_of_part(piece.text, piece.begins);
    return encoded;
  }
  size_t begin = 0;
  for (const size_t end : sentence_ends(piece.text, rule)) {
    const auto ids = ids_of_part(std::string_view(piece.text).substr(begin, end - begin),
                                 piece.begins && begin == 0);
    encoded.tokens.insert(encoded.tokens.end(), ids.begin(), ids.end());
    encoded.sentence_ends.push_back(encoded.tokens.size());
    begin = end;
  }
  return encoded;
}

EncodedPieces encode_batch(const text::Tokenizer& tokenizer, const PieceBatch& batch,
                           text::SentenceRule rule) {
  EncodedPieces encoded;
  encoded.reserve(batch.size());
  for (const CorpusPiece& piece : batch) encoded.push_back(encode_piece(tokenizer, piece, rule));
  return encoded;
}

void check_outputs(const std::vector<std::string>& files, const EncodeConfig& config) {
  check_output("output.path", config.output, files, existing(config.replace));
  if (config.validation.empty()) return;
  auto taken = files;
  taken.push_back(config.output);
  check_output("output.validation", config.validation, taken, existing(config.replace));
  require(config.validation_fraction > 0 && config.validation_fraction < 1,
          "data.validation_fraction is {}; it must lie between 0 and 1, both excluded",
          config.validation_fraction);
}

bool single_document(const std::vector<std::string>& files, const CorpusOptions& corpus) {
  return files.size() == 1 && corpus.document_separator.empty() && corpus.blank_lines == 0 &&
         format_of(files[0], corpus.format) == CorpusFormat::text;
}

int64_t text_bytes_of(const std::string& path) {
  const auto source = open_source(path);
  if (source->plain() && fs::is_regular_file(path)) return fs::file_size(path);
  std::vector<char> buffer(size_t{1} << 18);
  int64_t total = 0;
  while (const size_t got = source->read(buffer.data(), buffer.size())) total += got;
  return total;
}

// A source at its byte `begin`.
std::unique_ptr<ByteSource> source_from(const std::string& path, int64_t begin) {
  std::unique_ptr<ByteSource> source = open_source(path);
  if (source->seek(begin, SEEK_SET) == begin) return source;
  std::vector<char> passed(size_t{1} << 18);
  while (begin > 0) {
    const size_t got = source->read(passed.data(), std::min<size_t>(begin, passed.size()));
    if (got == 0) break;
    begin -= static_cast<int64_t>(got);
  }
  return source;
}

// The first line that follows a blank one, if it begins in the first tenth of what is held out and
// within 64 KiB of `place`, else the first that begins at `place` or behind it. `place` itself
// where there is none.
int64_t division_at(const std::string& path, int64_t place, int64_t bytes) {
  const int64_t begin = std::max<int64_t>(0, place - kDivisionSearch),
                last = place + std::min(kDivisionSearch, (bytes - place) / 10);
  LineReader lines(source_from(path, begin), kDivisionSearch);
  std::optional<int64_t> first;
  bool after_blank = false;
  for (std::string_view line; lines.next(line);) {
    const int64_t at = begin + lines.offset();
    if (first && at > last) break;
    if (lines.begins_line() && at >= place) {
      if (!first) first = at;
      if (after_blank && at <= last) return at;
    }
    after_blank = (at > begin || begin == 0) && blank(line);
  }
  return first.value_or(place);
}

int64_t division_of(const std::string& path, double fraction) {
  require(
      path != "-" && fs::is_regular_file(path),
      "the last part of {} cannot be held out, because its length is not known beforehand; put it "
      "into a file, or divide it into documents with data.document_separator or data.blank_lines",
      input_name(path));
  const int64_t bytes = text_bytes_of(path);
  return division_at(path, std::llround(static_cast<double>(bytes) * (1 - fraction)), bytes);
}

// One store under construction.
struct Part {
  Part(const std::string& path, const text::Tokenizer& tokenizer, const EncodeConfig& config)
      : writer(path, tokenizer.vocab_size(), tokenizer.end_of_text(), tokenizer.to_json(),
               config.corpus.sentences != text::SentenceRule::none, existing(config.replace)),
        before_(config.before) {}

  void add(const EncodedPiece& piece) {
    std::span<const int32_t> rest = piece.tokens;
    if (held_ == 0 && !rest.empty()) writer.append(before_, 0);
    for (const size_t end : piece.sentence_ends) {
      const size_t taken = end - (piece.tokens.size() - rest.size());
      writer.append(rest.first(taken), 0);
      writer.end_sentence();
      rest = rest.subspan(taken);
    }
    held_ += std::ssize(piece.tokens);
    if (piece.continues) return writer.append(rest, piece.text_bytes);
    // The token that ends a document is none without others.
    if (std::exchange(held_, 0) == 0) {
      ++left_out;
      return;
    }
    writer.add_document(rest, piece.text_bytes);
    ++documents;
  }

  TokenStoreWriter writer;
  int64_t documents = 0, left_out = 0;

 private:
  const std::vector<int32_t>& before_;
  int64_t held_ = 0;  // tokens of the document that is not yet complete
};

class Encoding {
 public:
  Encoding(const std::vector<std::string>& inputs, const text::Tokenizer& tokenizer,
           EncodeConfig config)
      : tokenizer_(tokenizer), config_(std::move(config)) {
    const auto files = expand_inputs(inputs);
    check_outputs(files, config_);
    divided_ = !config_.validation.empty() && single_document(files, config_.corpus);
    // Its end is looked for before it is read; stdin cannot be opened twice.
    if (divided_ && fs::is_regular_file(files[0])) divided_ = holds_one_text(files[0]);
    if (divided_) config_.corpus.divide_at = division_of(files[0], config_.validation_fraction);
    reader_.emplace(inputs, config_.corpus);
    training_.emplace(config_.output, tokenizer, config_);
    if (!config_.validation.empty()) validation_.emplace(config_.validation, tokenizer, config_);
  }

  EncodeSummary run(const ProgressCall& call) {
    const ProgressReport report(*reader_, call);
    OrderedWorkers<PieceBatch, EncodedPieces> workers(
        worker_threads(config_.threads), [this](int, const PieceBatch& batch) {
          return encode_batch(tokenizer_, batch, config_.corpus.sentences);
        });
    workers.drive([this](PieceBatch& batch) { return read_batch(*reader_, batch); },
                  [&](const EncodedPieces& batch) {
                    for (const EncodedPiece& piece : batch) add(piece);
                    report.tell(documents(), tokens_);
                  });
    check_parts();
    EncodeSummary summary;
    summary.training = training_->writer.finish();
    if (validation_) summary.validation = validation_->writer.finish();
    summary.bad_lines = reader_->bad_lines();
    summary.without_tokens = training_->left_out + (validation_ ? validation_->left_out : 0);
    summary.seconds = report.seconds();
    return summary;
  }

 private:
  int64_t documents() const {
    return training_->documents + (validation_ ? validation_->documents : 0);
  }

  bool held_out_here(int64_t document) const {
    if (!validation_) return false;
    return divided_ ? document > 0 : held_out(config_.seed, document, config_.validation_fraction);
  }

  void add(const EncodedPiece& piece) {
    tokens_ += std::ssize(piece.tokens);
    (held_out_here(piece.document) ? *validation_ : *training_).add(piece);
  }

  void check_parts() const {
    require(documents() > 0, "the inputs hold no text ({} files, {} bad lines)",
            reader_->files().size(), reader_->bad_lines());
    if (!validation_) return;
    require(!divided_ || validation_->documents > 0,
            "no line of {} begins in the last {} of it, so nothing can be held out; break it into "
            "lines or raise data.validation_fraction",
            reader_->files()[0], config_.validation_fraction);
    require(
        validation_->documents > 0 && training_->documents > 0,
        "of {} documents {} would be held out and {} left; each part needs one: change "
        "data.validation_fraction ({}) or data.seed ({}), or divide the text into more documents",
        documents(), validation_->documents, training_->documents, config_.validation_fraction,
        config_.seed);
  }

  const text::Tokenizer& tokenizer_;
  EncodeConfig config_;
  bool divided_ = false;
  std::optional<CorpusReader> reader_;
  std::optional<Part> training_, validation_;
  int64_t tokens_ = 0;
};

}  // namespace

EncodeSummary encode_corpus(const std::vector<std::string>& inputs,
                            const text::Tokenizer& tokenizer, const EncodeConfig& config,
                            const ProgressCall& progress) {
  return Encoding(inputs, tokenizer, config).run(progress);
}

bool held_out(uint64_t seed, int64_t document, double fraction) {
  const PhiloxBlock bits = philox(derive_key(seed, "held-out documents"), 0, document);
  return uniform_double(bits[0], bits[1]) < fraction;
}

int worker_threads(int wanted) {
  require(wanted >= 0 && wanted <= 1024,
          "run.threads is {}; it must lie between 0 (all processors) and 1024", wanted);
  if (wanted > 0) return wanted;
  return std::clamp<int>(std::thread::hardware_concurrency(), 1, 1024);
}

}  // namespace skein::data
