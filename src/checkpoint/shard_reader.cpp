#include "skein/checkpoint/shard.h"
#include "skein/core/error.h"
#include "skein/core/excerpt.h"

#include <optional>
#include <utility>

#include "hdf5_memory.h"

namespace skein {
namespace {

Hdf5Handle open_attribute(hid_t object, const char* name) {
  return {H5Aopen(object, name, H5P_DEFAULT), H5Aclose, fmt::format("open attribute {}", name)};
}

std::vector<int64_t> read_integers(hid_t object, const char* name) {
  const std::string deed = fmt::format("read attribute {}", name);
  const Hdf5Handle attribute = open_attribute(object, name);
  const Hdf5Handle space(H5Aget_space(attribute), H5Sclose, deed);
  const Hdf5Handle type(H5Aget_type(attribute), H5Tclose, deed);
  const hssize_t count = H5Sget_simple_extent_npoints(space);
  if (count < 0 || count > H5S_MAX_RANK || H5Tget_class(type) != H5T_INTEGER)
    fail("attribute {} holds no short list of integers", name);
  std::vector<int64_t> values(static_cast<size_t>(count));
  if (count > 0) hdf5_check(H5Aread(attribute, H5T_NATIVE_INT64, values.data()), deed);
  return values;
}

int64_t read_integer(hid_t object, const char* name) {
  const std::vector<int64_t> values = read_integers(object, name);
  if (values.size() != 1) fail("attribute {} holds {} integers instead of one", name, values.size());
  return values.front();
}

std::string read_text(hid_t object, const char* name) {
  const std::string deed = fmt::format("read attribute {}", name);
  const Hdf5Handle attribute = open_attribute(object, name);
  const Hdf5Handle type(H5Aget_type(attribute), H5Tclose, deed);
  const Hdf5Handle space(H5Aget_space(attribute), H5Sclose, deed);
  const size_t bytes = H5Tget_size(type);
  if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0 || bytes > 64 ||
      H5Sget_simple_extent_npoints(space) != 1)
    fail("attribute {} holds no short text", name);
  std::string text(bytes, '\0');
  hdf5_check(H5Aread(attribute, type, text.data()), deed);
  return text;
}

void expect(hid_t object, const char* name, int64_t expected) {
  const int64_t found = read_integer(object, name);
  if (found != expected) fail("it is of {} {}, not {}", name, found, expected);
}

// Those of programs that knew no ids have none, in the manifest either.
void expect_run(hid_t root, const std::string& expected) {
  if (expected.empty()) return;
  const std::string found = H5Aexists(root, "run") > 0 ? read_text(root, "run") : "";
  if (found != expected)
    fail("it is of {}, not of the run {}", found.empty() ? "no run" : "the run " + excerpt(found),
         expected);
}

void check_root(hid_t file, const ShardHeader& expected) {
  const Hdf5Handle root(H5Gopen2(file, "/", H5P_DEFAULT), H5Gclose, "open the root");
  const std::string format = read_text(root, "format");
  if (format != kCheckpointFormat) fail("its format is '{}', not '{}'", format, kCheckpointFormat);
  expect(root, "version", kCheckpointVersion);
  expect(root, "step", expected.step);
  expect(root, "generation", expected.generation);
  expect(root, "rank", expected.rank);
  expect(root, "ranks", expected.ranks);
  expect_run(root, expected.run);
}

void check_part(hid_t dataset, DType dtype, const std::vector<int64_t>& shape, const Region& region) {
  const std::string stored = read_text(dataset, "dtype");
  const Hdf5Handle type(H5Dget_type(dataset), H5Tclose, "read the element type");
  if (stored != name_of(dtype) || H5Tequal(type, stored_type(dtype)) <= 0)
    fail("it holds {}, not {}", stored, name_of(dtype));
  if (read_integers(dataset, "global_shape") != shape) fail("it belongs to a tensor of another shape");
  const Region held{read_integers(dataset, "box_start"), read_integers(dataset, "box_extent"),
                    read_integer(dataset, "begin"), read_integer(dataset, "end")};
  if (held != region) fail("it holds another part of the tensor than the manifest says");
}

// Where the elements lie in the image; nothing of what the file says is believed unchecked.
int64_t offset_of(hid_t dataset, int64_t bytes, int64_t image_bytes) {
  const Hdf5Handle list(H5Dget_create_plist(dataset), H5Pclose, "read the layout");
  if (H5Pget_layout(list) != H5D_CONTIGUOUS) fail("its elements are not stored in one run");
  const hsize_t stored = H5Dget_storage_size(dataset);
  if (stored != static_cast<hsize_t>(bytes)) fail("it holds {} bytes instead of {}", stored, bytes);
  const haddr_t offset = H5Dget_offset(dataset);
  if (offset == HADDR_UNDEF || bytes > image_bytes || offset > static_cast<haddr_t>(image_bytes - bytes))
    fail("its elements lie outside the file");
  return static_cast<int64_t>(offset);
}

}  // namespace

struct ShardReader::Impl {
  Bytes image;
  std::string origin;
  std::optional<Hdf5Handle> file;
};

ShardReader::ShardReader(Bytes image, const ShardHeader& expected, const std::string& origin)
    : impl_(std::make_unique<Impl>()) {
  impl_->image = std::move(image);
  impl_->origin = origin;
  const Hdf5Lock lock;
  try {
    impl_->file.emplace(open_in_memory(impl_->image, origin));
    check_root(*impl_->file, expected);
  } catch (const Error& error) {
    impl_->file.reset();
    fail_usage("{} is not the shard that its manifest lists: {}", origin, error.what());
  }
}

ShardReader::~ShardReader() {
  const Hdf5Lock lock;
  impl_->file.reset();
}

void ShardReader::let_go(const std::byte* elements, int64_t bytes) const { impl_->image.let_go(elements, bytes); }

const std::byte* ShardReader::elements(const std::string& name, DType dtype,
                                       const std::vector<int64_t>& shape, const Region& region) const {
  const Hdf5Lock lock;
  try {
    const Hdf5Handle dataset(H5Dopen2(*impl_->file, name.c_str(), H5P_DEFAULT), H5Dclose, "open it");
    check_part(dataset, dtype, shape, region);
    return impl_->image.data() + offset_of(dataset, region.size() * size_of(dtype), impl_->image.size());
  } catch (const Error& error) {
    fail_usage("{}: dataset {} is not what the manifest lists: {}", impl_->origin, name,
               error.what());
  }
}

}  // namespace skein
