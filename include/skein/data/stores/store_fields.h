// What the HDF5 file of a store says of itself: attributes and datasets by name, each checked
// before it is used.
#pragma once

#include <cstdint>
#include <string>

#include "skein/core/files/mapped_file.h"
#include "skein/data/files/store_kind.h"
#include "skein/data/stores/hdf5_view.h"

namespace skein::data {

// By the first bytes of a regular file; false for all else, so that no pipe is waited for.
// Error(failure) where the system refuses it.
bool is_hdf5(const std::string& path);

// The superblock (HDF5 File Format Specification, II.A), for errors that name the file and say what
// to do: no HDF5 file, one that was cut short, one of a version without checksums.
void check_superblock(const std::string& path, const MappedFile& file, const StoreKind& kind);

// Values of a dataset, one after the other in the file.
struct StoredRun {
  Hdf5Type type;
  std::vector<uint64_t> dims;
  uint64_t at = 0;     // in bytes
  uint64_t count = 0;  // of all dims
  uint64_t bytes() const { return count * type.bytes; }
};

// Every function throws a usage Error that does not name the file.
class StoreFields {
 public:
  // Of the root for "", else of a group. The bytes of the file, and its view, outlive this.
  StoreFields(const Hdf5View& file, uint64_t file_bytes, const StoreKind& kind,
              const std::string& group = "");

  bool has_attribute(const char* name) const;
  int64_t integer(const char* name) const;
  std::string text(const char* name) const;
  // As `format` and `version` say it.
  void check_format(int64_t version) const;
  bool holds(const std::string& name) const;
  // Its type and shape. An error where there is none.
  Hdf5Dataset dataset(const std::string& name) const;
  // Where it lies. An error unless that is in one run inside of the file, or where it holds no
  // numbers.
  StoredRun run(const std::string& name, const Hdf5Dataset& dataset) const;
  // The same of texts of fixed length.
  StoredRun text_run(const std::string& name, const Hdf5Dataset& dataset) const;
  // The path of a name from the root, as messages have it: "source/values".
  std::string path(const std::string& name) const;

 private:
  Hdf5Attribute attribute(const char* name) const;
  StoredRun located(const std::string& name, const Hdf5Dataset& dataset) const;

  const Hdf5View& file_;
  uint64_t file_bytes_;
  const StoreKind& kind_;
  std::string group_;
  Hdf5Object object_;
};

// Bytes of an unsigned integer; 0 for other types.
int unsigned_width(const Hdf5Type& type);

}  // namespace skein::data
