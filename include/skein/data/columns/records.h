// Records: samples with named columns, each of one row a record or of any number of rows.
//
//   const Records pairs("train.h5");
//   const size_t source = pairs.column("source");
//   const std::vector<int32_t> ids = pairs.tokens(source, 0);
//
// Layout of the HDF5 files (docs/record-store.md): attributes on the root
//   format "skein-records", version 1, count (of records)
// and a group a column, whose name it bears, with
//   values   its rows end to end, 1-D of numbers, or of more dims that are the shape of a row;
//            contiguous
//   starts   u64 [count + 1], only where records have any number of rows: where each record's begin
//            in values; the last is the number of rows. Without it each record has one row.
//   attributes meaning (what the numbers are), xxh3 of the bytes of values, starts_xxh3 of those of
//            starts, and what the meaning needs besides:
//   meaning "numbers": nothing; "tokens": tokenizer (its JSON), vocab_size, text_bytes (UTF-8 bytes
//            the tokens came from), prefix (what stands before each text); values are 1-D unsigned;
//            "image": mean and deviation of each channel's values / 255 (JSON lists of numbers);
//            values are u8 [count,channels,height,width]; "categories": names of the numbers 0, 1,
//            ... (a JSON list of texts); values are 1-D unsigned
//
// The same are made in memory, of small files: RecordBuilder (record_sink.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "skein/data/files/store_kind.h"
#include "skein/data/files/summed_file.h"
#include "skein/data/stores/hdf5_view.h"
#include "skein/text/tokenizer.h"

namespace skein::data {

inline constexpr StoreKind kRecordStore{"record store", "skein-records",
                                        "`skein-data pairs`, `images`, `graphs` or `stories`",
                                        "docs/record-store.md"};

// The columns of pairs of texts: ragged, of tokens.
inline constexpr const char *kSourceColumn = "source", *kTargetColumn = "target";

// What the numbers of a column are.
struct PlainMeaning {
  // Of what numbers stand for, where that differs from store to store; 0: it does not.
  int64_t numbering = 0;
};
struct TokenMeaning {
  text::StoredTokenizer tokenizer{};
  int64_t vocab_size = 0;  // every token is below it
  int64_t text_bytes = 0;
  std::string prefix{};
};
struct ImageMeaning {
  // of each channel, over all images, in units of 255; a deviation is above 0
  std::vector<double> mean{}, deviation{};
};
struct CategoryMeaning {
  std::vector<std::string> names{};  // of the numbers 0, 1, ...
};
using ColumnMeaning = std::variant<PlainMeaning, TokenMeaning, ImageMeaning, CategoryMeaning>;
// As stores say it: "tokens".
const char* name_of(const ColumnMeaning& meaning);

struct ColumnInfo {
  std::string name;
  ColumnMeaning meaning;
  bool ragged = false;              // any number of rows a record
  Hdf5Type type;                    // of a number
  std::vector<uint64_t> row_shape;  // none: a row is a number
};
// Numbers of a row.
uint64_t row_size(const ColumnInfo& column);

// A ragged column of tokens, of the smallest unsigned type that holds the vocabulary.
ColumnInfo token_column(const std::string& name, const text::Tokenizer& tokenizer,
                        const std::string& prefix = "");
// A column of one number a record, or of any number of them, which are below the number of names.
ColumnInfo category_column(const std::string& name, const std::vector<std::string>& names,
                           bool ragged = false);
// A column of f32, `width` a row.
ColumnInfo number_column(const std::string& name, int64_t width, bool ragged);

// A column and where its numbers lie.
struct Column {
  ColumnInfo info;
  const std::byte* values = nullptr;  // at any address
  std::span<const uint64_t> starts;   // empty for one row a record
  uint64_t rows = 0;
  uint64_t sum = 0, starts_sum = 0;  // XXH3-64
};

// Any thread may read at any time.
class Records : public SummedFile {
 public:
  // Maps a store. A usage error naming the path when the file is missing, truncated, not HDF5 or
  // no record store (with what it is instead), when columns are not of `count` records each,
  // when starts do not ascend, and for a meaning that this build does not know. verify = true also
  // compares all sums.
  explicit Records(const std::string& path, bool verify = false);
  ~Records() override;
  Records(Records&&) noexcept;

  // The path, or what made them in memory.
  const std::string& name() const;
  int64_t count() const;
  // Sorted by name.
  std::span<const Column> columns() const;
  // Its number. A usage error naming those that there are.
  size_t column(const std::string& name) const;
  int64_t rows(size_t column, int64_t record) const;
  // Its numbers, as they are stored.
  std::span<const std::byte> values(size_t column, int64_t record) const;
  // Of a column of tokens. A usage error when one is outside of the vocabulary.
  std::vector<int32_t> tokens(size_t column, int64_t record) const;
  // Of a column of categories. A usage error when one is none of the names.
  std::vector<int32_t> categories(size_t column, int64_t record) const;
  // Where there is one a record.
  int32_t category(size_t column, int64_t record) const;

  // Of names, types and sums: costs nothing.
  uint64_t fingerprint() const;
  // Of all values and starts.
  int64_t bytes() const;
  // Of all columns. Those in memory have no file, and nothing is read.
  void verify_sum(const std::function<bool()>& go_on = {}) const override;

 private:
  friend class RecordBuilder;
  struct Content;
  explicit Records(std::shared_ptr<const Content> content);
  std::shared_ptr<const Content> content_;
};

// Whether a file calls itself a record store; false where it cannot be read.
bool is_record_store(const std::string& path);

}  // namespace skein::data
