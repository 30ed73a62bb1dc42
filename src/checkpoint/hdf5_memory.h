// HDF5 behind owned handles. Files are made here, and only in memory: the library does no I/O. What
// reads them is skein/data/stores/hdf5_view.h.
#pragma once

#include <hdf5.h>
#include <string>

#include "skein/core/files/files.h"
#include "skein/data/stores/hdf5.h"
#include "skein/tensor/dtype.h"

namespace skein::checkpoint {

// Closes what it holds. A negative id is an Error(failure) "cannot `deed`: reason".
class Hdf5Handle : public data::Hdf5Id {
 public:
  Hdf5Handle(hid_t id, herr_t (*close)(hid_t), const std::string& deed);

  operator hid_t() const { return get(); }
  // Closes now and reports a failure.
  void close(const std::string& deed);
};

// Error(failure) "cannot `deed`: reason" when the library returned a negative status.
void hdf5_check(herr_t status, const std::string& deed);

// The type elements are stored as; bf16 and f16 as their 16 bits.
hid_t stored_type(DType dtype);

// An empty file in memory. `image` is filled as the file is written, and holds all of it once the
// file is closed; it must outlive the handle. finish_image cuts it to the file's length afterwards.
Hdf5Handle create_in_memory(Bytes& image);
void finish_image(Bytes& image);

}  // namespace skein::checkpoint
