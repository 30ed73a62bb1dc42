// What takes records one after the other: a store that is written, or memory.
//
//   const std::vector<Column> columns{token_column("source", english),
//                                     token_column("target", german)};
//   RecordWriter writer("train.h5", columns);
//   writer.add_tokens(0, ids, text.size());
//   writer.add_tokens(1, others, other_text.size());
//   writer.end_record();
//   writer.finish();
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "skein/core/files/output_target.h"
#include "skein/data/columns/records.h"

namespace skein::data {

class RecordSink {
 public:
  virtual ~RecordSink() = default;
  RecordSink(const RecordSink&) = delete;
  RecordSink& operator=(const RecordSink&) = delete;

  // Sorted by name, as Records has them.
  const std::vector<ColumnInfo>& columns() const { return columns_; }
  int64_t count() const { return count_; }
  // Tokens of the record under way, behind those that it has; text_bytes they came from. A usage
  // error for an id outside of the vocabulary.
  void add_tokens(size_t column, std::span<const int32_t> ids, int64_t text_bytes);
  // The values of an image [channels,height,width].
  void add_image(size_t column, std::span<const uint8_t> values);
  // id: below the number of names.
  void add_category(size_t column, int32_t id);
  // Whole rows of it, as they are stored.
  void add_rows(size_t column, std::span<const std::byte> rows);
  // Each column that is not ragged must have got one row.
  void end_record();

 protected:
  // name: of what takes them, for messages. At least one column, each of another name.
  RecordSink(std::string name, std::vector<ColumnInfo> columns);
  // Once all records are there: what their sums make of the meanings of columns.
  void settle_meanings();

  std::string name_;
  std::vector<ColumnInfo> columns_;
  std::vector<uint64_t> rows_;  // of each column so far
  int64_t count_ = 0;

 private:
  // Of the values of one channel of a column of images, exact up to 2^48 pixels.
  struct ChannelSums {
    uint64_t values = 0, squares = 0;
  };
  std::vector<std::vector<ChannelSums>> sums_;  // by column

  virtual void store(size_t column, std::span<const std::byte> bytes) = 0;
  // The rows before the next record.
  virtual void store_start(size_t column, uint64_t rows) = 0;
};

// In bounded memory: values and starts stream to temporary files beside `path`; finish() lays out
// the HDF5 file, moves them in and renames it into place. Nothing is left behind when it is
// destroyed before finish(). Every failing write is an Error(failure) naming the path and the
// cause.
class RecordWriter : public RecordSink {
 public:
  // A usage error as file_target.
  RecordWriter(const std::string& path, std::vector<ColumnInfo> columns,
               ExistingFile existing = ExistingFile::replace);
  ~RecordWriter() override;

  // A usage error when there is no record.
  void finish();

 private:
  void store(size_t column, std::span<const std::byte> bytes) override;
  void store_start(size_t column, uint64_t rows) override;

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class RecordBuilder : public RecordSink {
 public:
  RecordBuilder(const std::string& name, std::vector<ColumnInfo> columns);
  ~RecordBuilder() override;

  // At least one record. Nothing can be added afterwards.
  Records finish();

 private:
  void store(size_t column, std::span<const std::byte> bytes) override;
  void store_start(size_t column, uint64_t rows) override;

  std::shared_ptr<Records::Content> content_;
};

}  // namespace skein::data
