#include <deque>
#include <fcntl.h>

#include "skein/core/error.h"
#include "skein/data/columns/record_sink.h"

#include "data/files/spool.h"
#include "record_layout.h"

namespace skein::data {
struct RecordWriter::Impl {
  Impl(const std::string& target, size_t columns, ExistingFile wanted)
      : path(file_target(target, wanted)), existing(wanted), stem(unique_stem(path, ".values-0")) {
    for (size_t i = 0; i < columns; ++i) {
      values.emplace_back(fmt::format("{}.values-{}", stem, i));
      starts.emplace_back(fmt::format("{}.starts-{}", stem, i));
    }
  }

  void note_start(size_t column, uint64_t rows) {
    starts[column].append(std::as_bytes(std::span(&rows, 1)));
  }

  void assemble(RecordLayout& layout) {
    // Made here first: HDF5 would follow a link of that name.
    const FileDescriptor file(stem, O_WRONLY | O_CREAT | O_EXCL);
    const RemovedAtEnd partial(stem);
    write_record_layout(partial.path(), layout);
    for (size_t i = 0; i < layout.columns.size(); ++i) {
      values[i].copy_to(file, layout.columns[i].values_at);
      if (layout.columns[i].info.ragged) starts[i].copy_to(file, layout.columns[i].starts_at);
    }
    file.sync();
    publish(partial.path(), path, existing);
    sync_parent(path);
  }

  std::string path;
  ExistingFile existing;
  std::string stem;
  std::deque<SummedSpool> values, starts;
  bool finished = false;
};

RecordWriter::RecordWriter(const std::string& path, std::vector<ColumnInfo> columns,
                           ExistingFile existing)
    : RecordSink(path, std::move(columns)),
      impl_(std::make_unique<Impl>(path, columns_.size(), existing)) {
  for (size_t i = 0; i < columns_.size(); ++i)
    if (columns_[i].ragged) impl_->note_start(i, 0);
}

RecordWriter::~RecordWriter() = default;

void RecordWriter::store(size_t column, std::span<const std::byte> bytes) {
  SKEIN_CHECK(!impl_->finished);
  impl_->values[column].append(bytes);
}

void RecordWriter::store_start(size_t column, uint64_t rows) { impl_->note_start(column, rows); }

void RecordWriter::finish() {
  SKEIN_CHECK(!impl_->finished);
  require(count_ > 0, "{} would hold no record: was the input empty?", impl_->path);
  impl_->finished = true;
  settle_meanings();
  RecordLayout layout{count_, {}};
  uint64_t needed = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    layout.columns.push_back({.info = columns_[i],
                              .rows = rows_[i],
                              .values_at = 0,
                              .starts_at = 0,
                              .sum = impl_->values[i].sum(),
                              .starts_sum = impl_->starts[i].sum()});
    needed += impl_->values[i].size() + impl_->starts[i].size();
    if (const auto* tokens = std::get_if<TokenMeaning>(&columns_[i].meaning))
      needed += tokens->tokenizer.text().size();
  }
  check_free_space(impl_->path, needed);
  impl_->assemble(layout);
}

}  // namespace skein::data
