// Pairs of texts as records of tokens, with two ragged columns, "source" and "target": reads,
// encodes on all threads and hands them on in the order of the input. The records depend on the
// input and the tokenizers only, not on the number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "skein/data/columns/record_sink.h"
#include "skein/data/columns/records.h"
#include "skein/data/files/progress.h"
#include "skein/data/records/text_pairs.h"
#include "skein/data/stores/data_file.h"
#include "skein/text/tokenizer.h"

namespace skein::data {

// One tokenizer for both sides, or one for each.
struct PairTokenizers {
  std::shared_ptr<const text::Tokenizer> source, target;
};

struct PairCounts {
  int64_t pairs = 0;
  int64_t left_out = 0;
  int64_t source_tokens = 0, target_tokens = 0;
  double seconds = 0;
};

// The columns of such records, source first.
std::vector<ColumnInfo> pair_columns(const PairTokenizers& tokenizers, const std::string& prefix);

// What is told of each pair that is used, in order.
using PairCall = std::function<void(const TextPair& pair)>;

// Into a sink of pair_columns. A pair cannot be used when a side is empty or
// has no tokens. A usage error for one of those beyond config.bad_records,
// and as PairReader; for inputs without any pair. threads: 0 for one a processor.
PairCounts encode_pairs(const PairsConfig& config, const PairTokenizers& tokenizers, int threads,
                        RecordSink& sink, const ProgressCall& progress = {},
                        const PairCall& used = {});

struct PairStoreConfig {
  PairsConfig pairs;
  std::string output;
  bool replace = false;  // a store that is there already
  int threads = 0;
};

// A store of pairs, in bounded memory. A usage error as check_output and as encode_pairs; nothing
// is then left behind or changed.
PairCounts write_pair_store(const PairStoreConfig& config, const PairTokenizers& tokenizers,
                            const ProgressCall& progress = {});

// The same in memory.
Records pair_records(const PairsConfig& config, const PairTokenizers& tokenizers, int threads = 0,
                     const PairCall& used = {});

// Pairs that are trained on together, and how often each. Records of files are in memory.
struct PairBlend {
  std::vector<std::string> paths;
  std::vector<std::shared_ptr<const Records>> parts;
  std::vector<double> weights;
  // of each part, where they were asked for, what its pairs were made of; none for a store
  std::vector<std::vector<TextPair>> texts;
};

// entries: "path" or "weight:path", each a store of pairs or a file of pairs, which is encoded with
// the tokenizers. A usage error for a store whose tokenizers or prefix are others, and as
// check_pair_store. config.files: not used. texts: whether they are kept, too.
PairBlend open_pairs(const std::vector<std::string>& entries, const PairsConfig& config,
                     const PairTokenizers& tokenizers, bool texts = false);

// What a run's checkpoints remember of them.
std::vector<DataFile> pair_files(const std::string& option, const PairBlend& blend);

// Of a store of pairs. A usage error as check_pair_store, and for what is no tokenizer.
PairTokenizers tokenizers_of(const Records& records);

// A usage error, naming what there is, unless records have the two columns of tokens; and naming
// the first of them where a side of a pair is empty.
void check_pair_store(const Records& records);

}  // namespace skein::data
