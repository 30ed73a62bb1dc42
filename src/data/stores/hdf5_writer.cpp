#include "skein/data/stores/hdf5_writer.h"

#include <algorithm>

#include "skein/core/error.h"

namespace skein::data {
namespace {

constexpr hsize_t kAlignment = 64;

hid_t file_type(const Hdf5Type& type) {
  if (type.kind == Hdf5Type::Kind::real)
    return type.bytes == 8 ? H5T_IEEE_F64LE : type.bytes == 4 ? H5T_IEEE_F32LE : H5I_INVALID_HID;
  if (type.kind != Hdf5Type::Kind::integer) return H5I_INVALID_HID;
  switch (type.bytes) {
    case 1: return type.is_signed ? H5T_STD_I8LE : H5T_STD_U8LE;
    case 2: return type.is_signed ? H5T_STD_I16LE : H5T_STD_U16LE;
    case 4: return type.is_signed ? H5T_STD_I32LE : H5T_STD_U32LE;
    case 8: return type.is_signed ? H5T_STD_I64LE : H5T_STD_U64LE;
    default: return H5I_INVALID_HID;
  }
}

}  // namespace

template <class Status>
Status Hdf5Writer::sound(Status status) const {
  if (status < 0) fail("cannot write {}: {} (HDF5)", path_, hdf5_reason());
  return status;
}

Hdf5Writer::Hdf5Writer(const std::string& path) : path_(path), file_(create_file()) {}

Hdf5Id Hdf5Writer::create_file() const {
  const Hdf5Id access(sound(H5Pcreate(H5P_FILE_ACCESS)), H5Pclose);
  sound(H5Pset_libver_bounds(access.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST));
  sound(H5Pset_alignment(access.get(), 1, kAlignment));
  sound(H5Pset_file_locking(access.get(), false, true));
  const Hdf5Id plan(sound(H5Pcreate(H5P_FILE_CREATE)), H5Pclose);
  sound(H5Pset_obj_track_times(plan.get(), false));
  return Hdf5Id(sound(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, plan.get(), access.get())), H5Fclose);
}

void Hdf5Writer::add_group(const std::string& name) const {
  const Hdf5Id plan(sound(H5Pcreate(H5P_GROUP_CREATE)), H5Pclose);
  sound(H5Pset_obj_track_times(plan.get(), false));
  const Hdf5Id made(
      sound(H5Gcreate2(file_.get(), name.c_str(), H5P_DEFAULT, plan.get(), H5P_DEFAULT)), H5Gclose);
}

Hdf5Id Hdf5Writer::opened(const std::string& group) const {
  return Hdf5Id(sound(H5Oopen(file_.get(), group.empty() ? "/" : group.c_str(), H5P_DEFAULT)),
                H5Oclose);
}

void Hdf5Writer::put_text(const std::string& group, const char* name,
                          const std::string& value) const {
  const Hdf5Id type(sound(H5Tcopy(H5T_C_S1)), H5Tclose);
  sound(H5Tset_size(type.get(), value.size() + 1));
  sound(H5Tset_strpad(type.get(), H5T_STR_NULLTERM));
  sound(H5Tset_cset(type.get(), H5T_CSET_UTF8));
  put_attribute(group, name, type.get(), type.get(), value.c_str());
}

void Hdf5Writer::put_integer(const std::string& group, const char* name, int64_t value) const {
  put_attribute(group, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

void Hdf5Writer::put_sum(const std::string& group, const char* name, uint64_t sum) const {
  put_attribute(group, name, H5T_STD_U64LE, H5T_NATIVE_UINT64, &sum);
}

void Hdf5Writer::put_attribute(const std::string& group, const char* name, hid_t file_type,
                               hid_t memory_type, const void* value) const {
  const Hdf5Id place = opened(group);
  const Hdf5Id space(sound(H5Screate(H5S_SCALAR)), H5Sclose);
  const Hdf5Id made(
      sound(H5Acreate2(place.get(), name, file_type, space.get(), H5P_DEFAULT, H5P_DEFAULT)),
      H5Aclose);
  sound(H5Awrite(made.get(), memory_type, value));
}

uint64_t Hdf5Writer::add_dataset(const std::string& path, const Hdf5Type& type,
                                 const std::vector<uint64_t>& dims) const {
  const hid_t stored = file_type(type);
  SKEIN_CHECK(stored >= 0);
  const Hdf5Id plan(sound(H5Pcreate(H5P_DATASET_CREATE)), H5Pclose);
  sound(H5Pset_obj_track_times(plan.get(), false));
  sound(H5Pset_layout(plan.get(), H5D_CONTIGUOUS));
  sound(H5Pset_alloc_time(plan.get(), H5D_ALLOC_TIME_EARLY));
  sound(H5Pset_fill_time(plan.get(), H5D_FILL_TIME_NEVER));
  const std::vector<hsize_t> extent(dims.begin(), dims.end());
  const Hdf5Id space(sound(H5Screate_simple(static_cast<int>(dims.size()), extent.data(), nullptr)),
                     H5Sclose);
  const Hdf5Id set(sound(H5Dcreate2(file_.get(), path.c_str(), stored, space.get(), H5P_DEFAULT,
                                    plan.get(), H5P_DEFAULT)),
                   H5Dclose);
  if (std::ranges::count(dims, 0u) > 0) return 0;
  const haddr_t at = H5Dget_offset(set.get());
  if (at == HADDR_UNDEF) fail("cannot write {}: HDF5 made no room for /{}", path_, path);
  return at;
}

void Hdf5Writer::close() {
  if (!file_.close()) fail("cannot write {}: {} (HDF5)", path_, hdf5_reason());
}

}  // namespace skein::data
