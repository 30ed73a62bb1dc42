// Lays out the HDF5 files of stores: groups, attributes, and room for datasets whose values are
// written into the file afterwards. Equal contents give equal files: no times are stored.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skein/data/stores/hdf5.h"
#include "skein/data/stores/hdf5_view.h"

namespace skein::data {

class Hdf5Writer {
 public:
  // Fills the empty file `path`, which its maker made exclusively. Here and below: Error(failure)
  // naming the path and HDF5's reason.
  explicit Hdf5Writer(const std::string& path);

  void add_group(const std::string& name) const;
  // Attributes of a group, or of the root for "".
  void put_text(const std::string& group, const char* name, const std::string& value) const;
  void put_integer(const std::string& group, const char* name, int64_t value) const;
  void put_sum(const std::string& group, const char* name, uint64_t sum) const;
  // A dataset in one run, with '/' after its group. Returns where in the file it lies; 0 where a
  // dim is 0. type: an integer or a real number.
  uint64_t add_dataset(const std::string& path, const Hdf5Type& type,
                       const std::vector<uint64_t>& dims) const;
  // To be called last; only then the file is whole.
  void close();

 private:
  Hdf5Id create_file() const;
  Hdf5Id opened(const std::string& group) const;
  void put_attribute(const std::string& group, const char* name, hid_t file_type, hid_t memory_type,
                     const void* value) const;
  // Ids are never negative, nor is the status of a call that worked.
  template <class Status>
  Status sound(Status status) const;

  Hdf5Lock lock_;
  std::string path_;
  Hdf5Id file_;
};

}  // namespace skein::data
