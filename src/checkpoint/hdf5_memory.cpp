#include "hdf5_memory.h"

#include <atomic>
#include <cstring>

#include "skein/core/error.h"

namespace skein::checkpoint {
namespace {

constexpr size_t kGrowth = size_t{1} << 16;

// The library hands over its file only through these: it asks for memory here and leaves it here at
// close.
void* grow_image(void* /*old*/, size_t size, H5FD_file_image_op_t /*why*/, void* owner) {
  auto* image = static_cast<Bytes*>(owner);
  try {
    image->resize(size);
    return image->data();
  } catch (...) {
    return nullptr;  // an exception must not pass through C
  }
}

void* borrow_image(size_t size, H5FD_file_image_op_t /*why*/, void* owner) {
  auto* image = static_cast<Bytes*>(owner);
  return std::cmp_less_equal(size, image->size()) ? image->data() : nullptr;
}

void* copy_nothing(void* to, const void* from, size_t size, H5FD_file_image_op_t /*why*/,
                   void* /*owner*/) {
  if (to != from) std::memcpy(to, from, size);
  return to;
}

Hdf5Handle memory_access(Bytes& image) {
  Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "prepare a file in memory");
  H5FD_file_image_callbacks_t callbacks{};
  callbacks.image_malloc = borrow_image;
  callbacks.image_memcpy = copy_nothing;
  callbacks.image_realloc = grow_image;
  callbacks.image_free = [](void*, H5FD_file_image_op_t, void*) { return herr_t{0}; };
  callbacks.udata_copy = [](void* owner) { return owner; };
  callbacks.udata_free = [](void*) { return herr_t{0}; };
  callbacks.udata = &image;
  hdf5_check(H5Pset_fapl_core(access, kGrowth, 0), "choose memory as storage");
  hdf5_check(H5Pset_file_image_callbacks(access, &callbacks), "choose the memory");
  return access;
}

// Below a file there can be no file: a name like this never exists, whatever the working directory
// holds.
std::string impossible_name() {
  static std::atomic<uint64_t> next{0};
  return fmt::format("/dev/null/skein-image-{}", next++);
}

}  // namespace

Hdf5Handle::Hdf5Handle(hid_t id, herr_t (*close)(hid_t), const std::string& deed)
    : data::Hdf5Id(id, close) {
  hdf5_check(valid() ? 0 : -1, deed);
}

void Hdf5Handle::close(const std::string& deed) {
  hdf5_check(data::Hdf5Id::close() ? 0 : -1, deed);
}

void hdf5_check(herr_t status, const std::string& deed) {
  if (status < 0) fail("cannot {}: {}", deed, data::hdf5_reason());
}

hid_t stored_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return H5T_IEEE_F32LE;
    case DType::f64: return H5T_IEEE_F64LE;
    case DType::bf16:
    case DType::f16: return H5T_STD_U16LE;
    case DType::i32: return H5T_STD_I32LE;
    case DType::i64: return H5T_STD_I64LE;
    case DType::u8: return H5T_STD_U8LE;
  }
  SKEIN_CHECK(false);
  return -1;
}

// The latest format is the one whose metadata carries checksums.
Hdf5Handle create_in_memory(Bytes& image) {
  const Hdf5Handle access = memory_access(image);
  hdf5_check(H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST),
             "choose the latest format");
  return {H5Fcreate(impossible_name().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose,
          "create a file in memory"};
}

// The library grows its memory in steps; the superblock knows where the file ends (bytes 28 to 35).
void finish_image(Bytes& image) {
  constexpr int64_t kSuperblockBytes = 48, kEndField = 28;
  SKEIN_CHECK(image.size() >= kSuperblockBytes);
  uint64_t end = 0;
  for (int i = 7; i >= 0; --i)
    end = end << 8 | std::to_integer<uint64_t>(image.data()[kEndField + i]);
  SKEIN_CHECK(end >= kSuperblockBytes && std::cmp_less_equal(end, image.size()));
  image.resize(end);
}

}  // namespace skein::checkpoint
