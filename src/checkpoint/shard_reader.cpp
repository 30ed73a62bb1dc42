#include <mutex>
#include <optional>
#include <utility>

#include "skein/checkpoint/shard.h"
#include "skein/core/error.h"
#include "skein/core/strings.h"
#include "skein/data/stores/hdf5_view.h"

namespace skein::checkpoint {
namespace {

constexpr uint64_t kMostIntegers = 32, kLongestText = 64;

std::vector<int64_t> read_integers(const data::Hdf5Object& object, const char* name) {
  const auto attribute = object.attribute(name);
  const bool suits = attribute && attribute->type.kind == data::Hdf5Type::Kind::integer &&
                     attribute->count() <= kMostIntegers;
  if (!suits) fail("attribute {} is missing or holds no short list of integers", name);
  return attribute->integers();
}

int64_t read_integer(const data::Hdf5Object& object, const char* name) {
  const std::vector<int64_t> values = read_integers(object, name);
  if (values.size() != 1)
    fail("attribute {} holds {} integers instead of one", name, values.size());
  return values.front();
}

std::string read_text(const data::Hdf5Object& object, const char* name) {
  const auto attribute = object.attribute(name);
  const bool suits = attribute && attribute->type.kind == data::Hdf5Type::Kind::text &&
                     attribute->type.bytes <= kLongestText;
  if (!suits) fail("attribute {} is missing or holds no short text", name);
  return object.text(*attribute);
}

void expect(const data::Hdf5Object& object, const char* name, int64_t expected) {
  const int64_t found = read_integer(object, name);
  if (found != expected) fail("it is of {} {}, not {}", name, found, expected);
}

// Those of programs that knew no ids have none, in the manifest either.
void expect_run(const data::Hdf5Object& root, const std::string& expected) {
  if (expected.empty()) return;
  const std::string found = root.attribute("run") ? read_text(root, "run") : "";
  if (found != expected)
    fail("it is of {}, not of the run {}", found.empty() ? "no run" : "the run " + excerpt(found),
         expected);
}

void check_root(const data::Hdf5Object& root, const ShardHeader& expected) {
  const std::string format = read_text(root, "format");
  if (format != kCheckpointFormat) fail("its format is '{}', not '{}'", format, kCheckpointFormat);
  expect(root, "version", kCheckpointVersion);
  expect(root, "step", expected.step);
  expect(root, "generation", expected.generation);
  expect(root, "rank", expected.rank);
  expect(root, "ranks", expected.ranks);
  expect_run(root, expected.run);
}

// As stored_type: bf16 and f16 are stored as their 16 bits.
bool is_stored_as(const data::Hdf5Type& type, DType dtype) {
  const bool real = dtype == DType::f32 || dtype == DType::f64,
             is_signed = dtype == DType::i32 || dtype == DType::i64;
  const auto kind = real ? data::Hdf5Type::Kind::real : data::Hdf5Type::Kind::integer;
  return type.kind == kind && std::cmp_equal(type.bytes, size_of(dtype)) &&
         type.is_signed == is_signed;
}

void check_part(const data::Hdf5Object& object, const data::Hdf5Dataset& dataset, DType dtype,
                const std::vector<int64_t>& shape, const Region& region) {
  const std::string stored = read_text(object, "dtype");
  if (stored != name_of(dtype) || !is_stored_as(dataset.type, dtype))
    fail("it holds {}, not {}", stored, name_of(dtype));
  if (read_integers(object, "global_shape") != shape)
    fail("it belongs to a tensor of another shape");
  const Region held{read_integers(object, "box_start"), read_integers(object, "box_extent"),
                    read_integer(object, "begin"), read_integer(object, "end")};
  if (held != region) fail("it holds another part of the tensor than the manifest says");
}

// Where the elements lie in the image; nothing of what the file says is believed unchecked.
uint64_t offset_of(const data::Hdf5Dataset& dataset, uint64_t bytes, uint64_t image_bytes) {
  if (!dataset.at) fail("its elements are not stored in one run");
  if (dataset.bytes != bytes) fail("it holds {} bytes instead of {}", dataset.bytes, bytes);
  if (bytes > image_bytes || *dataset.at > image_bytes - bytes)
    fail("its elements lie outside the file");
  return *dataset.at;
}

}  // namespace

struct ShardReader::Impl {
  Bytes memory;                              // of one that was read
  std::unique_ptr<const MappedFile> mapped;  // of one that was not
  std::span<const std::byte> image;
  std::string origin;
  std::optional<data::Hdf5View> file;
  std::mutex mutex;  // a view keeps what it has found
};

ShardReader::ShardReader(Bytes image, const ShardHeader& expected, const std::string& origin)
    : impl_(std::make_unique<Impl>()) {
  impl_->memory = std::move(image);
  open(impl_->memory.span(), expected, origin);
}

ShardReader::ShardReader(std::unique_ptr<const MappedFile> file, const ShardHeader& expected,
                         const std::string& origin)
    : impl_(std::make_unique<Impl>()) {
  impl_->mapped = std::move(file);
  open(impl_->mapped->whole(), expected, origin);
}

void ShardReader::open(std::span<const std::byte> image, const ShardHeader& expected,
                       const std::string& origin) {
  impl_->image = image;
  impl_->origin = origin;
  try {
    impl_->file.emplace(impl_->image);
    check_root(impl_->file->object(""), expected);
  } catch (const Error& error) {
    fail_usage("{} is not the shard that its manifest lists: {}", origin, error.what());
  }
}

ShardReader::~ShardReader() = default;

void ShardReader::let_go(const std::byte* elements, int64_t bytes) const {
  if (impl_->mapped) impl_->mapped->let_go(elements, bytes);
}

const std::byte* ShardReader::elements(const std::string& name, DType dtype,
                                       const std::vector<int64_t>& shape,
                                       const Region& region) const {
  const std::lock_guard lock(impl_->mutex);
  try {
    const data::Hdf5Object object = impl_->file->object(name);
    const data::Hdf5Dataset dataset = object.dataset();
    check_part(object, dataset, dtype, shape, region);
    const auto bytes = static_cast<uint64_t>(region.size() * size_of(dtype));
    return impl_->image.data() + offset_of(dataset, bytes, impl_->image.size());
  } catch (const Error& error) {
    fail_usage("{}: dataset {} is not what the manifest lists: {}", impl_->origin, name,
               error.what());
  }
}

}  // namespace skein::checkpoint
