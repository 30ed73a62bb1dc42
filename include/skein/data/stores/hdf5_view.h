// Reads the HDF5 files of token stores and checkpoints from memory, without the HDF5 library: the
// library follows links out of a file, waits for ever in damaged heaps, and some metadata whose
// checksums are right make it crash. Here nothing but the given bytes is looked at, and each block
// of metadata is compared with its checksum first.
//
//   const Hdf5View file(bytes);
//   const Hdf5Dataset tokens = file.object("tokens").dataset();
//   const auto values = bytes.subspan(tokens.at.value(), tokens.bytes);
//
// What is read of the "HDF5 File Format Specification Version 3.0" (its sections stand in the
// sources): superblocks 2 and 3, object headers 2, which is what libver="latest" writes; groups and
// attributes that lie in headers or in fractal heaps; hard links; little-endian numbers and texts;
// contiguous datasets. All else is a usage Error that says what it is, as are parts of metadata
// that overlap, and more than 2^19 links and attributes: reading takes time and memory in
// proportion to the file. Errors do not name the file: who reads it does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace skein::data {

struct Hdf5Type {
  enum class Kind {
    integer,
    real,
    text,
    variable_text,
    other
  };  // real: IEEE; numbers are little-endian
  Kind kind = Kind::other;
  uint64_t bytes = 0;  // of one element
  bool is_signed = false;
};
constexpr Hdf5Type kHdf5U32{Hdf5Type::Kind::integer, 4}, kHdf5U64{Hdf5Type::Kind::integer, 8};

struct Hdf5Attribute {
  Hdf5Type type;
  std::vector<uint64_t> dims;       // none: one value
  std::span<const std::byte> data;  // of the file

  uint64_t count() const;
  // Of type integer: its values; those above 2^63 as negative ones. A usage Error for another type.
  std::vector<int64_t> integers() const;
};

struct Hdf5Dataset {
  Hdf5Type type;
  std::vector<uint64_t> dims;
  // Where its elements lie in the file. Nothing where they are chunked, compact, virtual, filtered,
  // in other files or not written. They may reach beyond the file's end.
  std::optional<uint64_t> at;
  uint64_t bytes = 0;
};

class Hdf5Object;
struct Hdf5Parsed;

class Hdf5View {
 public:
  // The bytes of a whole file, which must outlive the view. A usage Error when they do not begin
  // with a superblock of version 2 or 3.
  explicit Hdf5View(std::span<const std::byte> file);
  ~Hdf5View();
  Hdf5View(const Hdf5View&) = delete;
  Hdf5View& operator=(const Hdf5View&) = delete;

  // The root for "", else what names with '/' between them lead to by hard links. A usage Error for
  // other links, and where there is no such name.
  Hdf5Object object(const std::string& path) const;

 private:
  friend class Hdf5Object;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class Hdf5Object {
 public:
  // Nothing where it has none of that name.
  std::optional<Hdf5Attribute> attribute(const std::string& name) const;
  // The one text of an attribute, fixed or of variable length, without padding. A usage Error for
  // another type or more texts.
  std::string text(const Hdf5Attribute& attribute) const;
  // A usage Error where it is a group.
  Hdf5Dataset dataset() const;
  // Of a group: whether it holds a link, of any kind, of that name; and the names of all, sorted.
  bool holds(const std::string& name) const;
  std::vector<std::string> names() const;

 private:
  friend class Hdf5View;
  Hdf5Object(const Hdf5View& view, std::shared_ptr<const Hdf5Parsed> parsed);

  const Hdf5View& view_;
  std::shared_ptr<const Hdf5Parsed> parsed_;
};

// The checksum of HDF5's metadata: Bob Jenkins's lookup3 with a start value of 0
// (H5_checksum_lookup3).
uint32_t hdf5_sum(std::span<const std::byte> bytes);

}  // namespace skein::data
