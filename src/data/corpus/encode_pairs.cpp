#include "skein/data/corpus/encode_pairs.h"

#include <algorithm>
#include <utility>

#include "skein/core/clock.h"
#include "skein/core/error.h"
#include "skein/core/strings.h"
#include "skein/data/corpus/corpus.h"
#include "skein/data/corpus/encode.h"
#include "skein/data/files/left_out.h"
#include "skein/data/stores/data_file.h"
#include "skein/data/stores/store_fields.h"

#include "batches.h"
#include "data/files/ordered_workers.h"

namespace skein::data {
namespace {

constexpr size_t kMostPairs = size_t{1} << 14;

struct EncodedSide {
  std::vector<int32_t> tokens;
  int64_t text_bytes = 0;
};

struct EncodedPair {
  EncodedSide source, target;
  std::string refusal;  // why it cannot be used; "": it can
  TextPair text;        // where it is asked for
};

using TextBatch = std::vector<TextPair>;
using EncodedPairs = std::vector<EncodedPair>;

bool read_batch(PairReader& reader, TextBatch& batch) {
  batch.clear();
  size_t bytes = 0;
  for (TextPair pair; bytes < kBatchBytes && batch.size() < kMostPairs && reader.next(pair);) {
    bytes += pair.source.size() + pair.target.size();
    batch.push_back(std::move(pair));
    pair = TextPair();
  }
  return !batch.empty();
}

class PairEncoder {
 public:
  PairEncoder(const PairsConfig& config, const PairTokenizers& tokenizers)
      : config_(config), tokenizers_(tokenizers) {}

  EncodedPair encode(const TextPair& pair) const {
    EncodedPair made;
    made.refusal = refusal_of([&] {
      check_sides(pair, config_);
      made.source = side(pair, *tokenizers_.source, config_.prefix + pair.source, "source");
      made.target = side(pair, *tokenizers_.target, pair.target, "target");
    });
    return made;
  }

 private:
  EncodedSide side(const TextPair& pair, const text::Tokenizer& tokenizer, const std::string& text,
                   const char* name) const {
    EncodedSide made{tokenizer.encode(text), std::ssize(text)};
    require(!made.tokens.empty(), "{}: the tokenizer makes no token of the {} \"{}\"",
            where_of(pair, config_), name, excerpt(text));
    return made;
  }

  const PairsConfig& config_;
  const PairTokenizers& tokenizers_;
};

std::vector<std::string> all_files(const PairsConfig& config) {
  std::vector<std::string> files = config.files;
  files.insert(files.end(), config.targets.begin(), config.targets.end());
  return files;
}

// What messages need of a column of tokens.
const TokenMeaning& tokens_of(const Records& records, const char* column) {
  const ColumnInfo& info = records.columns()[records.column(column)].info;
  const auto* tokens = std::get_if<TokenMeaning>(&info.meaning);
  require(tokens != nullptr && info.ragged,
          "{} is no store of pairs: its column \"{}\" holds {}, not a run of tokens a record",
          records.name(), column, name_of(info.meaning));
  return *tokens;
}

void check_tokenizer(const Records& records, const char* column, const text::Tokenizer& wanted) {
  const TokenMeaning& tokens = tokens_of(records, column);
  require(same_tokenizer(tokens.tokenizer, text::StoredTokenizer(wanted.to_json())),
          "the {}s of {} were made by another tokenizer ({} ids) than the one they are to be read "
          "with ({} ids); make the store again with it (`skein-data pairs`)",
          column, records.name(), tokens.vocab_size, wanted.vocab_size());
}

void check_store(const Records& records, const PairsConfig& config,
                 const PairTokenizers& tokenizers) {
  check_pair_store(records);
  check_tokenizer(records, kSourceColumn, *tokenizers.source);
  check_tokenizer(records, kTargetColumn, *tokenizers.target);
  const std::string& prefix = tokens_of(records, kSourceColumn).prefix;
  require(prefix == config.prefix,
          "{} was made with the prefix \"{}\", but task.prefix is \"{}\"; give the same, or make "
          "the store again with it",
          records.name(), excerpt(prefix), excerpt(config.prefix));
}

}  // namespace

std::vector<ColumnInfo> pair_columns(const PairTokenizers& tokenizers, const std::string& prefix) {
  return {token_column(kSourceColumn, *tokenizers.source, prefix),
          token_column(kTargetColumn, *tokenizers.target)};
}

PairCounts encode_pairs(const PairsConfig& config, const PairTokenizers& tokenizers, int threads,
                        RecordSink& sink, const ProgressCall& progress, const PairCall& used) {
  const double begun = steady_seconds();
  const int64_t total = stored_bytes(all_files(config));
  const PairEncoder encoder(config, tokenizers);
  PairReader reader(config);
  PairCounts counts;
  const auto seconds = [&] { return steady_seconds() - begun; };
  const auto add = [&](const EncodedPair& pair) {
    sink.add_tokens(0, pair.source.tokens, pair.source.text_bytes);
    sink.add_tokens(1, pair.target.tokens, pair.target.text_bytes);
    sink.end_record();
    ++counts.pairs;
    counts.source_tokens += std::ssize(pair.source.tokens);
    counts.target_tokens += std::ssize(pair.target.tokens);
    if (used) used(pair.text);
  };
  OrderedWorkers<TextBatch, EncodedPairs> workers(worker_threads(threads),
                                                  [&](int, const TextBatch& batch) {
                                                    EncodedPairs encoded;
                                                    for (const TextPair& pair : batch) {
                                                      encoded.push_back(encoder.encode(pair));
                                                      if (used) encoded.back().text = pair;
                                                    }
                                                    return encoded;
                                                  });
  workers.drive([&](TextBatch& batch) { return read_batch(reader, batch); },
                [&](const EncodedPairs& batch) {
                  for (const EncodedPair& pair : batch)
                    if (use_or_leave_out(config.bad_records, counts.left_out, [&] {
                          require(pair.refusal.empty(), "{}", pair.refusal);
                        }).empty())
                      add(pair);
                  if (progress)
                    progress({reader.bytes_read(), total, counts.pairs,
                              counts.source_tokens + counts.target_tokens, seconds(), "pairs"});
                });
  tell_more_left_out(counts.left_out);
  require(counts.pairs > 0, "{} hold no pair that can be used ({} left out)",
          listed(all_files(config)), counts.left_out);
  counts.seconds = seconds();
  return counts;
}

PairCounts write_pair_store(const PairStoreConfig& config, const PairTokenizers& tokenizers,
                            const ProgressCall& progress) {
  const ExistingFile wanted = existing(config.replace);
  check_output("output.path", config.output, all_files(config.pairs), wanted);
  RecordWriter writer(config.output, pair_columns(tokenizers, config.pairs.prefix), wanted);
  const PairCounts counts =
      encode_pairs(config.pairs, tokenizers, config.threads, writer, progress);
  writer.finish();
  return counts;
}

Records pair_records(const PairsConfig& config, const PairTokenizers& tokenizers, int threads,
                     const PairCall& used) {
  RecordBuilder builder(listed(config.files), pair_columns(tokenizers, config.prefix));
  encode_pairs(config, tokenizers, threads, builder, {}, used);
  return builder.finish();
}

PairBlend open_pairs(const std::vector<std::string>& entries, const PairsConfig& config,
                     const PairTokenizers& tokenizers, bool texts) {
  require(!entries.empty(), "no pairs were given; name a file or a store, as data.train=pairs.tsv");
  PairBlend blend;
  for (const std::string& text : entries) {
    const DataEntry entry = data_entry(text);
    PairsConfig one = config;
    one.files = {entry.path};
    const bool stored = is_hdf5(entry.path);
    std::vector<TextPair>& kept = blend.texts.emplace_back();
    PairCall used;
    if (texts) used = [&](const TextPair& pair) { kept.push_back(pair); };
    blend.parts.push_back(std::make_shared<const Records>(
        stored ? Records(entry.path) : pair_records(one, tokenizers, 0, used)));
    if (stored) check_store(*blend.parts.back(), config, tokenizers);
    blend.paths.push_back(entry.path);
    blend.weights.push_back(entry.weight);
  }
  return blend;
}

PairTokenizers tokenizers_of(const Records& records) {
  check_pair_store(records);
  const auto read = [&](const char* column) {
    return with_origin(
        fmt::format("{}: the tokenizer of its {}s cannot be used", records.name(), column),
        [&] { return tokens_of(records, column).tokenizer.value(); });
  };
  return {read(kSourceColumn), read(kTargetColumn)};
}

std::vector<DataFile> pair_files(const std::string& option, const PairBlend& blend) {
  std::vector<DataFile> files;
  for (size_t i = 0; i < blend.parts.size(); ++i) {
    const std::string& path = blend.paths[i];
    if (is_hdf5(path))
      files.push_back(store_file(option, path, blend.parts[i]->bytes(),
                                 blend.parts[i]->fingerprint(), blend.parts[i]));
    else
      std::ranges::move(record_files({{option, {path}}}), std::back_inserter(files));
  }
  return files;
}

void check_pair_store(const Records& records) {
  for (const char* name : {kSourceColumn, kTargetColumn}) tokens_of(records, name);
  for (const char* name : {kSourceColumn, kTargetColumn}) {
    const std::span<const uint64_t> starts = records.columns()[records.column(name)].starts;
    const auto empty = std::ranges::adjacent_find(starts);
    require(empty == starts.end(), "{}: the {} of pair {} is empty", records.name(), name,
            empty - starts.begin());
  }
}

}  // namespace skein::data
