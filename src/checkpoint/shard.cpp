#include "skein/checkpoint/shard.h"

#include <map>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

#include "hdf5_memory.h"

namespace skein::checkpoint {
namespace {

// More than a dataset's header and links take, so that the image seldom has to move while it grows.
constexpr int64_t kFileOverhead = int64_t{1} << 17, kPieceOverhead = 4096;

// Closes the space.
void write_integers_in(hid_t space, hid_t object, const char* name, const int64_t* values) {
  const std::string deed = fmt::format("write attribute {}", name);
  const Hdf5Handle held(space, H5Sclose, deed);
  const Hdf5Handle attribute(
      H5Acreate2(object, name, H5T_STD_I64LE, held, H5P_DEFAULT, H5P_DEFAULT), H5Aclose, deed);
  if (values) hdf5_check(H5Awrite(attribute, H5T_NATIVE_INT64, values), deed);
}

void write_integers(hid_t object, const char* name, const std::vector<int64_t>& values) {
  const hsize_t count = values.size();
  write_integers_in(H5Screate_simple(1, &count, nullptr), object, name,
                    count > 0 ? values.data() : nullptr);
}

void write_integer(hid_t object, const char* name, int64_t value) {
  write_integers_in(H5Screate(H5S_SCALAR), object, name, &value);
}

void write_text(hid_t object, const char* name, std::string_view value) {
  const std::string deed = fmt::format("write attribute {}", name);
  const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose, deed);
  hdf5_check(H5Tset_size(type, value.size()), deed);
  hdf5_check(H5Tset_strpad(type, H5T_STR_NULLPAD), deed);
  const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose, deed);
  const Hdf5Handle attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT),
                             H5Aclose, deed);
  hdf5_check(H5Awrite(attribute, type, value.data()), deed);
}

void write_header(hid_t file, const ShardHeader& header) {
  const Hdf5Handle root(H5Gopen2(file, "/", H5P_DEFAULT), H5Gclose, "open the root of a shard");
  write_text(root, "format", kCheckpointFormat);
  write_integer(root, "version", kCheckpointVersion);
  write_integer(root, "step", header.step);
  write_integer(root, "generation", header.generation);
  write_integer(root, "rank", header.rank);
  write_integer(root, "ranks", header.ranks);
  if (!header.run.empty()) write_text(root, "run", header.run);
}

Hdf5Handle space_of(const Piece& piece) {
  const bool whole = piece.begin == 0 && piece.end == element_count(piece.box_extent);
  const std::vector<int64_t> dims =
      whole ? piece.box_extent : std::vector<int64_t>{piece.end - piece.begin};
  const std::vector<hsize_t> extents(dims.begin(), dims.end());
  const std::string deed = fmt::format("describe the shape of {}", piece.name);
  if (extents.empty()) return {H5Screate(H5S_SCALAR), H5Sclose, deed};
  return {H5Screate_simple(narrow<int>(extents.size()), extents.data(), nullptr), H5Sclose, deed};
}

Hdf5Handle contiguous_layout() {
  Hdf5Handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "prepare a dataset");
  hdf5_check(H5Pset_layout(list, H5D_CONTIGUOUS), "choose a contiguous layout");
  hdf5_check(H5Pset_fill_time(list, H5D_FILL_TIME_NEVER), "choose no fill value");
  return list;
}

Hdf5Handle links_with_groups() {
  Hdf5Handle list(H5Pcreate(H5P_LINK_CREATE), H5Pclose, "prepare a link");
  hdf5_check(H5Pset_create_intermediate_group(list, 1), "choose groups");
  hdf5_check(H5Pset_char_encoding(list, H5T_CSET_UTF8), "choose UTF-8 names");
  return list;
}

void write_piece(hid_t file, hid_t links, hid_t layout, const Piece& piece,
                 const std::string& dataset_name) {
  const std::string deed = fmt::format("write dataset {}", dataset_name);
  const hid_t type = stored_type(piece.dtype);
  const Hdf5Handle space = space_of(piece);
  Hdf5Handle dataset(
      H5Dcreate2(file, dataset_name.c_str(), type, space, links, layout, H5P_DEFAULT), H5Dclose,
      deed);
  write_text(dataset, "dtype", name_of(piece.dtype));
  write_integers(dataset, "global_shape", piece.shape);
  write_integers(dataset, "box_start", piece.box_start);
  write_integers(dataset, "box_extent", piece.box_extent);
  write_integer(dataset, "begin", piece.begin);
  write_integer(dataset, "end", piece.end);
  hdf5_check(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, piece.data), deed);
  dataset.close(deed);
}

void check_name(const std::string& name) {
  bool good = !name.empty() && name.find_first_of(std::string("#\0", 2)) == std::string::npos;
  for (size_t from = 0; good && from <= name.size();) {
    const size_t to = std::min(name.find('/', from), name.size());
    const std::string part = name.substr(from, to - from);
    good = !part.empty() && part != "." && part != "..";
    from = to + 1;
  }
  require(good,
          "'{}' cannot name a tensor of a checkpoint: it needs non-empty parts between '/', none "
          "of them '.' or '..', and no '#'",
          name);
}

}  // namespace

std::string shard_file_name(int rank) { return fmt::format("rank-{:05}.h5", rank); }

std::vector<std::string> dataset_names(const std::vector<Piece>& pieces) {
  std::map<std::string, int> held, given;
  for (const Piece& piece : pieces) {
    check_name(piece.name);
    if (piece.end > piece.begin) ++held[piece.name];
  }
  std::vector<std::string> names;
  for (const Piece& piece : pieces) {
    if (piece.end == piece.begin || held[piece.name] == 1)
      names.push_back(piece.name);
    else
      names.push_back(fmt::format("{}#{}", piece.name, ++given[piece.name]));
  }
  return names;
}

Bytes build_shard(const ShardHeader& header, const std::vector<Piece>& pieces, Bytes memory) {
  const std::vector<std::string> names = dataset_names(pieces);
  int64_t expected = kFileOverhead;
  for (const Piece& piece : pieces) expected += piece.bytes() + kPieceOverhead;
  Bytes image = memory.capacity() < expected ? Bytes(expected) : std::move(memory);
  image.resize(0);
  const data::Hdf5Lock lock;
  Hdf5Handle file = create_in_memory(image);
  write_header(file, header);
  const Hdf5Handle links = links_with_groups(), layout = contiguous_layout();
  for (size_t i = 0; i < pieces.size(); ++i)
    if (pieces[i].end > pieces[i].begin) write_piece(file, links, layout, pieces[i], names[i]);
  // Before the close, because only a flush brings the memory up to the file's end.
  hdf5_check(H5Fflush(file, H5F_SCOPE_GLOBAL), "complete a shard in memory");
  file.close("close a shard in memory");
  finish_image(image);
  return image;
}

}  // namespace skein::checkpoint
