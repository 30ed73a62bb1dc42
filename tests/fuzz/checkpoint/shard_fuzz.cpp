// Shards of checkpoints whose sums are right, those of HDF5's metadata too: the datasets that the
// seeds hold, and more.
#include <cstring>

#include "skein/checkpoint/shard.h"

#include "../fuzz.h"
#include "../hdf5_sums.h"

namespace {

const skein::checkpoint::ShardHeader kHeader{3, 2, 0, 1, ""};

void read(const skein::checkpoint::ShardReader& reader, const std::string& name, skein::DType dtype,
          std::vector<int64_t> shape) {
  const skein::checkpoint::Region whole{std::vector<int64_t>(shape.size(), 0), shape, 0,
                                        skein::checkpoint::element_count(shape)};
  try {
    const std::byte* elements = reader.elements(name, dtype, shape, whole);
    const std::vector<std::byte> copy(elements, elements + whole.size() * skein::size_of(dtype));
    if (copy.size() > size_t{1} << 20) std::abort();
  } catch (const skein::Error& error) {
    if (error.code() == skein::ExitCode::internal) throw;
  }
}

}  // namespace

void fuzz(std::string_view input) {
  const std::string file = skein::test::Hdf5Sums(input).repaired();
  skein::Bytes image(static_cast<int64_t>(file.size()));
  if (!file.empty()) std::memcpy(image.data(), file.data(), file.size());
  const skein::checkpoint::ShardReader reader(std::move(image), kHeader, "fuzz");
  read(reader, "param/block.0.weight", skein::DType::f32, {2, 3});
  read(reader, "param/block.0.bias#1", skein::DType::bf16, {4});
  read(reader, "param/scalar", skein::DType::f64, {});
  for (int i = 0; i < 20; ++i)
    read(reader, fmt::format("many/block.{}.bias", i), skein::DType::i64, {1});
  read(reader, "", skein::DType::u8, {1});
  read(reader, "param//./block.0.weight", skein::DType::f32, {2, 3});
}
