#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include "skein/convert/weights.h"
#include "skein/core/error.h"
#include "skein/core/files/files.h"

namespace skein {
namespace {

constexpr int32_t kMagic = 20240326, kVersionF32 = 3, kVersionBf16 = 5;
constexpr size_t kHeaderInts = 256;
constexpr int64_t kHeaderBytes = kHeaderInts * 4;

enum Field : size_t {
  magic = 0,
  version = 1,
  context = 2,
  vocab = 3,
  layers = 4,
  heads = 5,
  width = 6,
  padded = 7
};

using Header = std::array<int32_t, kHeaderInts>;

Header read_ints(const std::string& path) {
  FileReader reader(path);
  require(reader.size() >= kHeaderBytes, "{} has {} bytes; a model file of llm.c begins with {}",
          path, reader.size(), kHeaderBytes);
  Header header{};
  reader.read(reinterpret_cast<std::byte*>(header.data()), kHeaderBytes);
  return header;
}

ModelConfig config_of(const Header& header, const std::string& path) {
  ModelConfig c;
  c.context = header[context];
  c.vocab_size = header[vocab];
  c.n_layers = header[layers];
  c.n_heads = header[heads];
  c.d_model = header[width];
  try {
    check(c, 1, false);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}, in our options: {}", path, error.what()));
  }
  require(header[padded] >= header[vocab], "{} says a padded vocabulary of {} for one of {}", path,
          header[padded], header[vocab]);
  return c;
}

}  // namespace

bool is_llmc_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error) || std::filesystem::file_size(path, error) < 4)
    return false;
  FileReader reader(path);
  int32_t first = 0;
  reader.read(reinterpret_cast<std::byte*>(&first), 4);
  return first == kMagic;
}

LlmcModel read_llmc_header(const std::string& path) {
  const Header header = read_ints(path);
  require(header[magic] == kMagic, "{} begins with {}; model files of llm.c do with {}", path,
          header[magic], kMagic);
  require(header[version] == kVersionF32 || header[version] == kVersionBf16,
          "{} has version {}; {} (f32) and {} (bf16) are known", path, header[version], kVersionF32,
          kVersionBf16);
  return {config_of(header, path), header[padded],
          header[version] == kVersionF32 ? DType::f32 : DType::bf16};
}

WeightFiles open_llmc(const std::string& path) {
  const LlmcModel model = read_llmc_header(path);
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path));
  // Before a name is made for each tensor.
  const int64_t layers = model.config.n_layers, width = model.config.d_model;
  require(layers * width <= size, "{} has {} bytes; its header asks for {} layers of width {}",
          path, size, layers, width);
  WeightFiles found;
  found.path = path;
  found.files = {std::filesystem::path(path).filename().string()};
  std::vector<int64_t> begins;
  int64_t end = kHeaderBytes;
  for (const ForeignTensor& tensor : llmc_names(model.config, model.padded_vocab).tensors) {
    found.weights.push_back({tensor.name, safetensors_type(model.dtype), model.dtype, tensor.shape,
                             found.files.front()});
    begins.push_back(end);
    int64_t bytes = tensor.size();
    require(!__builtin_mul_overflow(bytes, size_of(model.dtype), &bytes) &&
                !__builtin_add_overflow(end, bytes, &end),
            "{} says more than 2^63 bytes", path);
  }
  auto file = std::make_shared<FileDescriptor>(path, O_RDONLY | O_NONBLOCK);
  require(size == end, "{} has {} bytes; its header asks for {}", path, size, end);
  found.read = [file, begins, path](size_t i, int64_t first, std::span<std::byte> out) {
    for (int64_t at = begins[i] + first; !out.empty();) {
      const ssize_t done = ::pread(file->get(), out.data(), out.size(), at);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0)
        fail("cannot read {}: {}", path, done < 0 ? std::strerror(errno) : "it ended early");
      out = out.subspan(static_cast<size_t>(done));
      at += done;
    }
  };
  return found;
}

std::string llmc_header(const LlmcModel& model) {
  const ModelConfig& c = model.config;
  require(model.dtype == DType::f32 || model.dtype == DType::bf16,
          "llm.c's files hold f32 or bf16, not {}; give --dtype", name_of(model.dtype));
  Header header{};
  header[magic] = kMagic;
  header[version] = model.dtype == DType::f32 ? kVersionF32 : kVersionBf16;
  header[context] = static_cast<int32_t>(c.context);
  header[vocab] = static_cast<int32_t>(c.vocab_size);
  header[layers] = static_cast<int32_t>(c.n_layers);
  header[heads] = static_cast<int32_t>(c.n_heads);
  header[width] = static_cast<int32_t>(c.d_model);
  header[padded] = static_cast<int32_t>(model.padded_vocab);
  return {reinterpret_cast<const char*>(header.data()), kHeaderBytes};
}

}  // namespace skein
