#include "store_layout.h"

#include "skein/core/error.h"
#include "skein/data/hdf5.h"

#include <limits>
#include <vector>

namespace skein {
namespace {

constexpr const char* kFormat = "skein-tokens";
constexpr int64_t kVersion = 1;
constexpr int64_t kLargestVocabulary = std::numeric_limits<int32_t>::max();
constexpr hsize_t kAlignment = 64;

struct Extent {
  uint64_t at = 0;
  uint64_t count = 0;
  int width = 0;
};

int unsigned_width(hid_t type) {
  if (H5Tequal(type, H5T_STD_U8LE) > 0) return 1;
  if (H5Tequal(type, H5T_STD_U16LE) > 0) return 2;
  if (H5Tequal(type, H5T_STD_U32LE) > 0) return 4;
  if (H5Tequal(type, H5T_STD_U64LE) > 0) return 8;
  return 0;
}

class LayoutReader {
 public:
  LayoutReader(const std::string& path, uint64_t file_bytes)
      : path_(path), file_bytes_(file_bytes), file_(open_file()) {}
  StoreLayout read() const;

 private:
  Hdf5Id open_file() const;
  Hdf5Id attribute(const char* name) const;
  template <class T>
  T integer(const char* name, hid_t memory_type) const;
  std::string text(const char* name) const;
  std::string fixed_text(const Hdf5Id& attribute, const Hdf5Id& type, const char* name) const;
  std::string variable_text(const Hdf5Id& attribute, const Hdf5Id& type, const char* name) const;
  Extent dataset(const char* name) const;
  Extent starts(const char* name, const char* thing) const;
  hsize_t length_of(const Hdf5Id& set, const char* name) const;
  void check_inside_file(const Extent& extent, const char* name) const;
  StoreInfo read_info() const;
  [[noreturn]] void damaged(const char* what) const;

  const std::string& path_;
  uint64_t file_bytes_;
  Hdf5Id file_;
};

void LayoutReader::damaged(const char* what) const {
  fail_usage("{} is damaged: HDF5 cannot read {} ({}); make the store again with `skein-data encode`", path_,
             what, hdf5_reason());
}

Hdf5Id LayoutReader::open_file() const {
  const Hdf5Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  // A finished store never changes, and parallel file systems often refuse locks.
  H5Pset_file_locking(access.get(), false, true);
  Hdf5Id file(H5Fopen(path_.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
  if (!file.valid()) damaged("it");
  return file;
}

Hdf5Id LayoutReader::attribute(const char* name) const {
  require(
      H5Aexists(file_.get(), name) > 0,
      "{} is an HDF5 file but not a token store: attribute {} is missing; `skein-data encode` makes stores "
      "(docs/token-store.md)",
      path_, name);
  Hdf5Id opened(H5Aopen(file_.get(), name, H5P_DEFAULT), H5Aclose);
  if (!opened.valid()) damaged(name);
  const Hdf5Id space(H5Aget_space(opened.get()), H5Sclose);
  const hssize_t points = space.valid() ? H5Sget_simple_extent_npoints(space.get()) : -1;
  require(points == 1, "{}: attribute {} holds {} values, not 1 (docs/token-store.md)", path_, name, points);
  return opened;
}

template <class T>
T LayoutReader::integer(const char* name, hid_t memory_type) const {
  const Hdf5Id opened = attribute(name);
  const Hdf5Id type(H5Aget_type(opened.get()), H5Tclose);
  require(type.valid() && H5Tget_class(type.get()) == H5T_INTEGER,
          "{}: attribute {} is not an integer (docs/token-store.md)", path_, name);
  T value{};
  if (H5Aread(opened.get(), memory_type, &value) < 0) damaged(name);
  return value;
}

std::string LayoutReader::text(const char* name) const {
  const Hdf5Id opened = attribute(name);
  const Hdf5Id type(H5Aget_type(opened.get()), H5Tclose);
  require(type.valid() && H5Tget_class(type.get()) == H5T_STRING,
          "{}: attribute {} is not a string (docs/token-store.md)", path_, name);
  return H5Tis_variable_str(type.get()) > 0 ? variable_text(opened, type, name)
                                            : fixed_text(opened, type, name);
}

std::string LayoutReader::fixed_text(const Hdf5Id& attribute, const Hdf5Id& type, const char* name) const {
  const size_t bytes = H5Tget_size(type.get());
  require(bytes <= file_bytes_, "{} is damaged: attribute {} claims {} bytes, the file has {}", path_, name,
          bytes, file_bytes_);
  std::string value(bytes, '\0');
  if (H5Aread(attribute.get(), type.get(), value.data()) < 0) damaged(name);
  value.resize(value.find_last_not_of('\0') + 1);
  return value;
}

std::string LayoutReader::variable_text(const Hdf5Id& attribute, const Hdf5Id& type, const char* name) const {
  char* text = nullptr;
  if (H5Aread(attribute.get(), type.get(), &text) < 0) damaged(name);
  std::string value = text ? text : "";
  H5free_memory(text);
  return value;
}

hsize_t LayoutReader::length_of(const Hdf5Id& set, const char* name) const {
  const Hdf5Id space(H5Dget_space(set.get()), H5Sclose);
  const int dims = space.valid() ? H5Sget_simple_extent_ndims(space.get()) : -1;
  require(dims == 1, "{}: dataset /{} has {} dimensions, not 1 (docs/token-store.md)", path_, name, dims);
  hsize_t length = 0;
  if (H5Sget_simple_extent_dims(space.get(), &length, nullptr) < 0) damaged(name);
  return length;
}

Extent LayoutReader::dataset(const char* name) const {
  require(H5Lexists(file_.get(), name, H5P_DEFAULT) > 0,
          "{} is an HDF5 file but not a token store: dataset /{} is missing (docs/token-store.md)", path_,
          name);
  const Hdf5Id set(H5Dopen2(file_.get(), name, H5P_DEFAULT), H5Dclose);
  if (!set.valid()) damaged(name);
  const Hdf5Id plan(H5Dget_create_plist(set.get()), H5Pclose);
  const Hdf5Id type(H5Dget_type(set.get()), H5Tclose);
  if (!plan.valid() || !type.valid()) damaged(name);
  Extent extent{.at = 0, .count = length_of(set, name), .width = unsigned_width(type.get())};
  require(extent.width > 0,
          "{}: dataset /{} does not hold little-endian unsigned integers (docs/token-store.md)", path_, name);
  require(extent.count > 0, "{}: dataset /{} is empty; a store needs at least one token", path_, name);
  extent.at = H5Dget_offset(set.get());
  require(H5Pget_layout(plan.get()) == H5D_CONTIGUOUS && extent.at != HADDR_UNDEF,
          "{}: dataset /{} is chunked, compact, external or unwritten; it must be contiguous "
          "(docs/token-store.md)",
          path_, name);
  check_inside_file(extent, name);
  return extent;
}

void LayoutReader::check_inside_file(const Extent& extent, const char* name) const {
  const uint64_t room = extent.at <= file_bytes_ ? (file_bytes_ - extent.at) / extent.width : 0;
  require(extent.count <= room,
          "{} is truncated: /{} has {} values of {} bytes from byte {} on, but the file has {} bytes", path_,
          name, extent.count, extent.width, extent.at, file_bytes_);
}

StoreInfo LayoutReader::read_info() const {
  const std::string format = text("format");
  require(format == kFormat, "{} is not a token store: its format is \"{}\", not \"{}\"", path_, format,
          kFormat);
  const auto version = integer<int64_t>("version", H5T_NATIVE_INT64);
  require(version == kVersion, "{} has version {} of the token store format; this build reads version {}",
          path_, version, kVersion);
  StoreInfo info;
  info.vocab_size = integer<int64_t>("vocab_size", H5T_NATIVE_INT64);
  require(info.vocab_size >= 1 && info.vocab_size <= kLargestVocabulary,
          "{}: vocab_size is {}; it must lie in [1, {}]", path_, info.vocab_size, kLargestVocabulary);
  info.end_of_text = integer<int64_t>("end_of_text", H5T_NATIVE_INT64);
  require(info.end_of_text >= -1 && info.end_of_text < info.vocab_size,
          "{}: end_of_text is {}; with vocab_size {} it must lie in [-1, {}]", path_, info.end_of_text,
          info.vocab_size, info.vocab_size - 1);
  info.text_bytes = integer<int64_t>("text_bytes", H5T_NATIVE_INT64);
  require(info.text_bytes >= 0, "{}: text_bytes is {}; it cannot be negative", path_, info.text_bytes);
  info.tokenizer = text("tokenizer");
  return info;
}

Extent LayoutReader::starts(const char* name, const char* thing) const {
  const Extent extent = dataset(name);
  require(extent.width == 8, "{}: /{} holds {}-byte integers; it must hold u64 (docs/token-store.md)", path_,
          name, extent.width);
  require(extent.count >= 2, "{}: /{} has {} entries; one {} already needs 2", path_, name, extent.count,
          thing);
  return extent;
}

StoreLayout LayoutReader::read() const {
  StoreLayout layout;
  layout.info = read_info();
  layout.sum = integer<uint64_t>("xxh3", H5T_NATIVE_UINT64);
  const Extent tokens = dataset("tokens");
  require(tokens.width <= 4, "{}: /tokens holds u64; tokens are u8, u16 or u32 (docs/token-store.md)", path_);
  const Extent documents = starts("documents", "document");
  layout.info.tokens = static_cast<int64_t>(tokens.count);
  layout.info.documents = static_cast<int64_t>(documents.count) - 1;
  layout.width = tokens.width;
  layout.tokens_at = tokens.at;
  layout.documents_at = documents.at;
  if (H5Lexists(file_.get(), "sentences", H5P_DEFAULT) <= 0) return layout;
  const Extent sentences = starts("sentences", "sentence");
  layout.info.sentences = static_cast<int64_t>(sentences.count) - 1;
  layout.sentences_at = sentences.at;
  return layout;
}

class LayoutWriter {
 public:
  explicit LayoutWriter(const std::string& path) : path_(path), file_(create_file()) {}

  void write(StoreLayout& layout);

 private:
  Hdf5Id create_file() const;
  void put_text(const char* name, const std::string& value) const;
  void put_attribute(const char* name, hid_t file_type, hid_t memory_type, const void* value) const;
  uint64_t put_dataset(const char* name, hid_t type, uint64_t count) const;
  // Ids are never negative, nor is the status of a call that worked.
  template <class Status>
  Status sound(Status status) const {
    if (status < 0) fail("cannot write {}: {} (HDF5)", path_, hdf5_reason());
    return status;
  }

  const std::string& path_;
  Hdf5Id file_;
};

Hdf5Id LayoutWriter::create_file() const {
  const Hdf5Id access(sound(H5Pcreate(H5P_FILE_ACCESS)), H5Pclose);
  sound(H5Pset_libver_bounds(access.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST));
  sound(H5Pset_alignment(access.get(), 1, kAlignment));
  sound(H5Pset_file_locking(access.get(), false, true));
  // Equal contents are to give equal files.
  const Hdf5Id plan(sound(H5Pcreate(H5P_FILE_CREATE)), H5Pclose);
  sound(H5Pset_obj_track_times(plan.get(), false));
  return Hdf5Id(sound(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, plan.get(), access.get())), H5Fclose);
}

void LayoutWriter::put_attribute(const char* name, hid_t file_type, hid_t memory_type,
                                 const void* value) const {
  const Hdf5Id space(sound(H5Screate(H5S_SCALAR)), H5Sclose);
  const Hdf5Id made(sound(H5Acreate2(file_.get(), name, file_type, space.get(), H5P_DEFAULT, H5P_DEFAULT)),
                    H5Aclose);
  sound(H5Awrite(made.get(), memory_type, value));
}

void LayoutWriter::put_text(const char* name, const std::string& value) const {
  const Hdf5Id type(sound(H5Tcopy(H5T_C_S1)), H5Tclose);
  sound(H5Tset_size(type.get(), value.size() + 1));
  sound(H5Tset_strpad(type.get(), H5T_STR_NULLTERM));
  sound(H5Tset_cset(type.get(), H5T_CSET_UTF8));
  put_attribute(name, type.get(), type.get(), value.c_str());
}

uint64_t LayoutWriter::put_dataset(const char* name, hid_t type, uint64_t count) const {
  const Hdf5Id plan(sound(H5Pcreate(H5P_DATASET_CREATE)), H5Pclose);
  sound(H5Pset_obj_track_times(plan.get(), false));
  sound(H5Pset_layout(plan.get(), H5D_CONTIGUOUS));
  sound(H5Pset_alloc_time(plan.get(), H5D_ALLOC_TIME_EARLY));
  sound(H5Pset_fill_time(plan.get(), H5D_FILL_TIME_NEVER));
  const hsize_t length = count;
  const Hdf5Id space(sound(H5Screate_simple(1, &length, nullptr)), H5Sclose);
  const Hdf5Id set(
      sound(H5Dcreate2(file_.get(), name, type, space.get(), H5P_DEFAULT, plan.get(), H5P_DEFAULT)),
      H5Dclose);
  const haddr_t at = H5Dget_offset(set.get());
  if (at == HADDR_UNDEF) fail("cannot write {}: HDF5 made no room for /{}", path_, name);
  return at;
}

void LayoutWriter::write(StoreLayout& layout) {
  const StoreInfo& info = layout.info;
  const auto put = [this](const char* name, int64_t value) {
    put_attribute(name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
  };
  put_text("format", kFormat);
  put("version", kVersion);
  put("vocab_size", info.vocab_size);
  put("end_of_text", info.end_of_text);
  put("text_bytes", info.text_bytes);
  put_attribute("xxh3", H5T_STD_U64LE, H5T_NATIVE_UINT64, &layout.sum);
  put_text("tokenizer", info.tokenizer);
  const hid_t type = layout.width == 1 ? H5T_STD_U8LE : layout.width == 2 ? H5T_STD_U16LE : H5T_STD_U32LE;
  layout.tokens_at = put_dataset("tokens", type, info.tokens);
  layout.documents_at = put_dataset("documents", H5T_STD_U64LE, info.documents + 1);
  if (info.sentences > 0)
    layout.sentences_at = put_dataset("sentences", H5T_STD_U64LE, info.sentences + 1);
  if (!file_.close()) fail("cannot write {}: {} (HDF5)", path_, hdf5_reason());
}

}  // namespace

int token_width(int64_t vocab_size) { return vocab_size <= 256 ? 1 : vocab_size <= 65536 ? 2 : 4; }

StoreLayout read_store_layout(const std::string& path, uint64_t file_bytes) {
  const Hdf5Lock lock;
  return LayoutReader(path, file_bytes).read();
}

void write_store_layout(const std::string& path, StoreLayout& layout) {
  const Hdf5Lock lock;
  LayoutWriter(path).write(layout);
}

}  // namespace skein
