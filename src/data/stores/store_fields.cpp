#include "skein/data/stores/store_fields.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>

#include "skein/core/error.h"
#include "skein/core/strings.h"

#include "data/files/token_file.h"
#include "hdf5_bytes.h"

namespace skein::data {
namespace {

constexpr size_t kSuperblock = 48;
constexpr size_t kSuperblockVersion = 8;
constexpr size_t kSuperblockEnd = 28;  // where the file's own idea of its size stands

}  // namespace

bool is_hdf5(const std::string& path) {
  if (!is_regular_file(path)) return false;
  std::array<char, kHdf5Signature.size()> head{};
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), head.size());
  if (!file.is_open() || file.bad())
    fail("cannot read {}: {}", path, std::generic_category().message(errno));
  return std::string_view(head.data(), head.size()) == kHdf5Signature;
}

void check_superblock(const std::string& path, const MappedFile& file, const StoreKind& kind) {
  const std::string_view head = file.head(64);
  require(head.starts_with(kHdf5Signature),
          "{} is not an HDF5 file; it looks like {} ({} makes {}s)", path, what_it_looks_like(head),
          kind.maker, kind.name);
  require(head.size() >= kSuperblock,
          "{} is truncated: it has {} bytes and its header alone takes {}", path, file.bytes(),
          kSuperblock);
  const int version = head[kSuperblockVersion] & 0xFF;
  require(version >= 2,
          "{} has version {} of HDF5's file format, without checksums; write it with at least "
          "version 2 (h5py: libver=\"latest\")",
          path, version);
  uint64_t end = 0;
  std::memcpy(&end, head.data() + kSuperblockEnd, sizeof end);
  require(end <= file.bytes(),
          "{} is truncated: it has {} of {} bytes; copy it again or make it again with {}", path,
          file.bytes(), end, kind.maker);
}

int unsigned_width(const Hdf5Type& type) {
  const bool suits = type.kind == Hdf5Type::Kind::integer && !type.is_signed;
  return suits ? static_cast<int>(type.bytes) : 0;
}

StoreFields::StoreFields(const Hdf5View& file, uint64_t file_bytes, const StoreKind& kind,
                         const std::string& group)
    : file_(file),
      file_bytes_(file_bytes),
      kind_(kind),
      group_(group),
      object_(file.object(group)) {}

std::string StoreFields::path(const std::string& name) const {
  return group_.empty() ? name : group_ + "/" + name;
}

Hdf5Attribute StoreFields::attribute(const char* name) const {
  const auto found = object_.attribute(name);
  require(found.has_value(),
          "it is an HDF5 file but not a {}: attribute {} is missing; {} makes stores", kind_.name,
          path(name), kind_.maker);
  require(found->count() == 1, "attribute {} holds {} values, not 1", path(name), found->count());
  return *found;
}

bool StoreFields::has_attribute(const char* name) const {
  return object_.attribute(name).has_value();
}

int64_t StoreFields::integer(const char* name) const {
  const Hdf5Attribute found = attribute(name);
  require(found.type.kind == Hdf5Type::Kind::integer,
          "attribute {} is not an integer, or not a little-endian one", path(name));
  return found.integers().front();
}

std::string StoreFields::text(const char* name) const {
  const Hdf5Attribute found = attribute(name);
  const bool suits =
      found.type.kind == Hdf5Type::Kind::text || found.type.kind == Hdf5Type::Kind::variable_text;
  require(suits, "attribute {} is not a string", path(name));
  return object_.text(found);
}

void StoreFields::check_format(int64_t version) const {
  const std::string format = text("format");
  require(format == kind_.format, "it is not a {}: its format is \"{}\", not \"{}\"", kind_.name,
          excerpt(format), kind_.format);
  const int64_t found = integer("version");
  require(found == version, "it has version {} of the {} format; this build reads version {}",
          found, kind_.name, version);
}

bool StoreFields::holds(const std::string& name) const { return object_.holds(name); }

Hdf5Dataset StoreFields::dataset(const std::string& name) const {
  require(holds(name), "it is an HDF5 file but not a {}: dataset /{} is missing", kind_.name,
          path(name));
  return file_.object(path(name)).dataset();
}

StoredRun StoreFields::run(const std::string& name, const Hdf5Dataset& dataset) const {
  const Hdf5Type::Kind kind = dataset.type.kind;
  require(
      (kind == Hdf5Type::Kind::integer || kind == Hdf5Type::Kind::real) && dataset.type.bytes > 0,
      "dataset /{} does not hold little-endian numbers", path(name));
  return located(name, dataset);
}

StoredRun StoreFields::text_run(const std::string& name, const Hdf5Dataset& dataset) const {
  require(dataset.type.kind == Hdf5Type::Kind::text && dataset.type.bytes > 0,
          "dataset /{} does not hold texts of fixed length", path(name));
  return located(name, dataset);
}

StoredRun StoreFields::located(const std::string& name, const Hdf5Dataset& dataset) const {
  const auto count = hdf5_product(dataset.dims);
  StoredRun run{dataset.type, dataset.dims, dataset.at.value_or(0), count.value_or(0)};
  if (count == 0) return run;
  require(dataset.at.has_value(),
          "dataset /{} is chunked, compact, virtual, external or unwritten; it must be contiguous",
          path(name));
  const uint64_t room = run.at <= file_bytes_ ? (file_bytes_ - run.at) / run.type.bytes : 0;
  require(count && *count <= room,
          "it is truncated: /{} has {} values of {} bytes from byte {} on, but the file has {} "
          "bytes",
          path(name), fmt::join(dataset.dims, " x "), run.type.bytes, run.at, file_bytes_);
  return run;
}

}  // namespace skein::data
