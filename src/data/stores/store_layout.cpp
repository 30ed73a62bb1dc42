#include "store_layout.h"

#include <limits>

#include "skein/core/error.h"
#include "skein/data/stores/hdf5.h"
#include "skein/data/stores/hdf5_view.h"

namespace skein::data {
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

int unsigned_width(const Hdf5Type& type) {
  const bool suits = type.kind == Hdf5Type::Kind::integer && !type.is_signed;
  return suits ? static_cast<int>(type.bytes) : 0;
}

class LayoutReader {
 public:
  explicit LayoutReader(std::span<const std::byte> file)
      : file_bytes_(file.size()), file_(file), root_(file_.object("")) {}
  StoreLayout read() const {
    StoreLayout layout;
    layout.info = read_info();
    layout.sum = integer("xxh3");
    const Extent tokens = dataset("tokens");
    require(tokens.width <= 4, "/tokens holds u64; tokens are u8, u16 or u32");
    const Extent documents = starts("documents", "document");
    layout.info.tokens = tokens.count;
    layout.info.documents = documents.count - 1;
    layout.width = tokens.width;
    layout.tokens_at = tokens.at;
    layout.documents_at = documents.at;
    if (!file_.holds("sentences")) return layout;
    const Extent sentences = starts("sentences", "sentence");
    layout.info.sentences = sentences.count - 1;
    layout.sentences_at = sentences.at;
    return layout;
  }

 private:
  Hdf5Attribute attribute(const char* name) const {
    const auto found = root_.attribute(name);
    require(
        found.has_value(),
        "it is an HDF5 file but not a token store: attribute {} is missing; `skein-data encode` "
        "makes stores",
        name);
    require(found->count() == 1, "attribute {} holds {} values, not 1", name, found->count());
    return *found;
  }

  int64_t integer(const char* name) const {
    const Hdf5Attribute found = attribute(name);
    require(found.type.kind == Hdf5Type::Kind::integer,
            "attribute {} is not an integer, or not a little-endian one", name);
    return found.integers().front();
  }

  std::string text(const char* name) const {
    const Hdf5Attribute found = attribute(name);
    const bool suits =
        found.type.kind == Hdf5Type::Kind::text || found.type.kind == Hdf5Type::Kind::variable_text;
    require(suits, "attribute {} is not a string", name);
    return root_.text(found);
  }

  Extent dataset(const char* name) const {
    require(file_.holds(name), "it is an HDF5 file but not a token store: dataset /{} is missing",
            name);
    const Hdf5Dataset set = file_.object(name).dataset();
    require(set.dims.size() == 1, "dataset /{} has {} dimensions, not 1", name, set.dims.size());
    const Extent extent{
        .at = set.at.value_or(0), .count = set.dims.front(), .width = unsigned_width(set.type)};
    require(extent.width > 0, "dataset /{} does not hold little-endian unsigned integers", name);
    require(extent.count > 0, "dataset /{} is empty; a store needs at least one token", name);
    require(
        set.at.has_value(),
        "dataset /{} is chunked, compact, virtual, external or unwritten; it must be contiguous",
        name);
    check_inside_file(extent, name);
    return extent;
  }

  Extent starts(const char* name, const char* thing) const {
    const Extent extent = dataset(name);
    require(extent.width == 8, "/{} holds {}-byte integers; it must hold u64", name, extent.width);
    require(extent.count >= 2, "/{} has {} entries; one {} already needs 2", name, extent.count,
            thing);
    return extent;
  }

  void check_inside_file(const Extent& extent, const char* name) const {
    const uint64_t room = extent.at <= file_bytes_ ? (file_bytes_ - extent.at) / extent.width : 0;
    require(
        extent.count <= room,
        "it is truncated: /{} has {} values of {} bytes from byte {} on, but the file has {} bytes",
        name, extent.count, extent.width, extent.at, file_bytes_);
  }

  StoreInfo read_info() const {
    const std::string format = text("format");
    require(format == kFormat, "it is not a token store: its format is \"{}\", not \"{}\"", format,
            kFormat);
    const int64_t version = integer("version");
    require(version == kVersion,
            "it has version {} of the token store format; this build reads version {}", version,
            kVersion);
    StoreInfo info;
    info.vocab_size = integer("vocab_size");
    require(info.vocab_size >= 1 && info.vocab_size <= kLargestVocabulary,
            "vocab_size is {}; it must lie in [1, {}]", info.vocab_size, kLargestVocabulary);
    info.end_of_text = integer("end_of_text");
    require(info.end_of_text >= -1 && info.end_of_text < info.vocab_size,
            "end_of_text is {}; with vocab_size {} it must lie in [-1, {}]", info.end_of_text,
            info.vocab_size, info.vocab_size - 1);
    info.text_bytes = integer("text_bytes");
    require(info.text_bytes >= 0, "text_bytes is {}; it cannot be negative", info.text_bytes);
    info.tokenizer = text::StoredTokenizer(text("tokenizer"));
    return info;
  }

  uint64_t file_bytes_;
  Hdf5View file_;
  Hdf5Object root_;
};

class LayoutWriter {
 public:
  explicit LayoutWriter(const std::string& path) : path_(path), file_(create_file()) {}

  void write(StoreLayout& layout) {
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
    put_text("tokenizer", info.tokenizer.text());
    const hid_t type = layout.width == 1   ? H5T_STD_U8LE
                       : layout.width == 2 ? H5T_STD_U16LE
                                           : H5T_STD_U32LE;
    layout.tokens_at = put_dataset("tokens", type, info.tokens);
    layout.documents_at = put_dataset("documents", H5T_STD_U64LE, info.documents + 1);
    if (info.sentences > 0)
      layout.sentences_at = put_dataset("sentences", H5T_STD_U64LE, info.sentences + 1);
    if (!file_.close()) fail("cannot write {}: {} (HDF5)", path_, hdf5_reason());
  }

 private:
  Hdf5Id create_file() const {
    const Hdf5Id access(sound(H5Pcreate(H5P_FILE_ACCESS)), H5Pclose);
    sound(H5Pset_libver_bounds(access.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST));
    sound(H5Pset_alignment(access.get(), 1, kAlignment));
    sound(H5Pset_file_locking(access.get(), false, true));
    // Equal contents are to give equal files.
    const Hdf5Id plan(sound(H5Pcreate(H5P_FILE_CREATE)), H5Pclose);
    sound(H5Pset_obj_track_times(plan.get(), false));
    return Hdf5Id(sound(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, plan.get(), access.get())),
                  H5Fclose);
  }

  void put_text(const char* name, const std::string& value) const {
    const Hdf5Id type(sound(H5Tcopy(H5T_C_S1)), H5Tclose);
    sound(H5Tset_size(type.get(), value.size() + 1));
    sound(H5Tset_strpad(type.get(), H5T_STR_NULLTERM));
    sound(H5Tset_cset(type.get(), H5T_CSET_UTF8));
    put_attribute(name, type.get(), type.get(), value.c_str());
  }

  void put_attribute(const char* name, hid_t file_type, hid_t memory_type,
                     const void* value) const {
    const Hdf5Id space(sound(H5Screate(H5S_SCALAR)), H5Sclose);
    const Hdf5Id made(
        sound(H5Acreate2(file_.get(), name, file_type, space.get(), H5P_DEFAULT, H5P_DEFAULT)),
        H5Aclose);
    sound(H5Awrite(made.get(), memory_type, value));
  }

  uint64_t put_dataset(const char* name, hid_t type, uint64_t count) const {
    const Hdf5Id plan(sound(H5Pcreate(H5P_DATASET_CREATE)), H5Pclose);
    sound(H5Pset_obj_track_times(plan.get(), false));
    sound(H5Pset_layout(plan.get(), H5D_CONTIGUOUS));
    sound(H5Pset_alloc_time(plan.get(), H5D_ALLOC_TIME_EARLY));
    sound(H5Pset_fill_time(plan.get(), H5D_FILL_TIME_NEVER));
    const hsize_t length = count;
    const Hdf5Id space(sound(H5Screate_simple(1, &length, nullptr)), H5Sclose);
    const Hdf5Id set(sound(H5Dcreate2(file_.get(), name, type, space.get(), H5P_DEFAULT, plan.get(),
                                      H5P_DEFAULT)),
                     H5Dclose);
    const haddr_t at = H5Dget_offset(set.get());
    if (at == HADDR_UNDEF) fail("cannot write {}: HDF5 made no room for /{}", path_, name);
    return at;
  }

  // Ids are never negative, nor is the status of a call that worked.
  template <class Status>
  Status sound(Status status) const {
    if (status < 0) fail("cannot write {}: {} (HDF5)", path_, hdf5_reason());
    return status;
  }

  const std::string& path_;
  Hdf5Id file_;
};

}  // namespace

int token_width(int64_t vocab_size) { return vocab_size <= 256 ? 1 : vocab_size <= 65536 ? 2 : 4; }

StoreLayout read_store_layout(const std::string& path, std::span<const std::byte> file) {
  try {
    return LayoutReader(file).read();
  } catch (const Error& error) {
    throw Error(error.code(),
                fmt::format("{} cannot be used: {} (docs/token-store.md)", path, error.what()));
  }
}

void write_store_layout(const std::string& path, StoreLayout& layout) {
  const Hdf5Lock lock;
  LayoutWriter(path).write(layout);
}

}  // namespace skein::data
