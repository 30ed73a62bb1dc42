#include <array>
#include <fcntl.h>
#include <filesystem>

#include "skein/convert/weights.h"
#include "skein/core/error.h"
#include "skein/core/files/files.h"
#include "skein/core/numbers.h"

#include "families.h"

namespace skein::convert {
namespace {

constexpr int32_t kMagic = 20240326, kVersionF32 = 3, kVersionBf16 = 5;
constexpr size_t kHeaderInts = 256;
constexpr int64_t kHeaderBytes = kHeaderInts * 4, kPadding = 128;

// Where the header has what.
constexpr size_t kMagicAt = 0, kVersionAt = 1, kPaddedAt = 7;
constexpr std::pair<size_t, int64_t ModelConfig::*> kSizesAt[] = {{2, &ModelConfig::context},
                                                                  {3, &ModelConfig::vocab_size},
                                                                  {4, &ModelConfig::n_layers},
                                                                  {5, &ModelConfig::n_heads},
                                                                  {6, &ModelConfig::d_model}};
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
  for (const auto& [at, size] : kSizesAt) c.*size = header[at];
  check_sizes(c, path);
  require(header[kPaddedAt] >= c.vocab_size, "{} says a padded vocabulary of {} for one of {}",
          path, header[kPaddedAt], c.vocab_size);
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
  require(header[kMagicAt] == kMagic, "{} begins with {}; model files of llm.c do with {}", path,
          header[kMagicAt], kMagic);
  require(header[kVersionAt] == kVersionF32 || header[kVersionAt] == kVersionBf16,
          "{} has version {}; {} (f32) and {} (bf16) are known", path, header[kVersionAt],
          kVersionF32, kVersionBf16);
  return {config_of(header, path), header[kPaddedAt],
          header[kVersionAt] == kVersionF32 ? DType::f32 : DType::bf16};
}

namespace {

// The tensors with their bytes' begins, and behind the last one the end.
std::vector<int64_t> add_weights(const LlmcModel& model, WeightFiles& found) {
  std::vector<int64_t> begins{kHeaderBytes};
  for (const ForeignTensor& tensor : llmc_names(model.config, model.padded_vocab).tensors) {
    found.weights.push_back({tensor.name, formats::safetensors_type(model.dtype), model.dtype,
                             tensor.shape, found.files.front()});
    const auto bytes = checked_product(tensor.shape, size_of(model.dtype));
    require(bytes && *bytes <= INT64_MAX - begins.back(), "{} says more than 2^63 bytes",
            found.path);
    begins.push_back(begins.back() + *bytes);
  }
  return begins;
}

}  // namespace

WeightFiles open_llmc(const std::string& path) {
  const LlmcModel model = read_llmc_header(path);
  const int64_t size = std::filesystem::file_size(path);
  // Before a name is made for each tensor.
  const int64_t layers = model.config.n_layers, width = model.config.d_model;
  require(layers * width <= size, "{} has {} bytes; its header asks for {} layers of width {}",
          path, size, layers, width);
  WeightFiles found;
  found.path = path;
  found.files = {std::filesystem::path(path).filename().string()};
  const std::vector<int64_t> begins = add_weights(model, found);
  auto file = std::make_shared<FileDescriptor>(path, O_RDONLY | O_NONBLOCK);
  require(size == begins.back(), "{} has {} bytes; its header asks for {}", path, size,
          begins.back());
  found.read = [file, begins](size_t i, int64_t first, std::span<std::byte> out) {
    file->read_all_at(out, begins[i] + first);
  };
  return found;
}

std::string llmc_header(const LlmcModel& model) {
  const ModelConfig& c = model.config;
  require(model.dtype == DType::f32 || model.dtype == DType::bf16,
          "llm.c's files hold f32 or bf16, not {}; give --dtype", name_of(model.dtype));
  Header header{};
  header[kMagicAt] = kMagic;
  header[kVersionAt] = model.dtype == DType::f32 ? kVersionF32 : kVersionBf16;
  for (const auto& [at, size] : kSizesAt) header[at] = narrow<int32_t>(c.*size);
  header[kPaddedAt] = narrow<int32_t>(model.padded_vocab);
  return {reinterpret_cast<const char*>(header.data()), kHeaderBytes};
}

int64_t llmc_rows(int64_t vocab_size) { return (vocab_size + kPadding - 1) / kPadding * kPadding; }

namespace {

struct Kind {
  const char *name, *theirs;
};

// What is one tensor of all blocks here is one of each block in Hugging Face's files.
constexpr Kind kKinds[] = {{"ln1w", "ln_1.weight"},
                           {"ln1b", "ln_1.bias"},
                           {"qkvw", "attn.c_attn.weight"},
                           {"qkvb", "attn.c_attn.bias"},
                           {"attprojw", "attn.c_proj.weight"},
                           {"attprojb", "attn.c_proj.bias"},
                           {"ln2w", "ln_2.weight"},
                           {"ln2b", "ln_2.bias"},
                           {"fcw", "mlp.c_fc.weight"},
                           {"fcb", "mlp.c_fc.bias"},
                           {"fcprojw", "mlp.c_proj.weight"},
                           {"fcprojb", "mlp.c_proj.bias"}};

using Parts = std::map<std::string, std::vector<OurTensor>>;

// None is transposed.
ForeignTensor of_blocks(const Kind& kind, int64_t blocks, const Parts& gpt2) {
  ForeignTensor made{kind.name, {}, {}, false, {}};
  for (int64_t i = 0; i < blocks; ++i) {
    const auto& parts = gpt2.at(fmt::format("transformer.h.{}.{}", i, kind.theirs));
    made.parts.insert(made.parts.end(), parts.begin(), parts.end());
  }
  made.shape = made.parts.front().shape;
  made.shape[0] *= static_cast<int64_t>(made.parts.size()) / blocks;
  made.shape.insert(made.shape.begin(), blocks);
  return made;
}

}  // namespace

NameMap llmc_names(const ModelConfig& c, int64_t padded_vocab) {
  require(&family_of(c, "") == &gpt2_family() && c.tie_embeddings && c.head == Head::vocabulary &&
              c.hidden() == 4 * c.d_model && c.activation == MlpKind::gelu_tanh &&
              c.norm_epsilon == 1e-5,
          "llm.c's files hold GPT-2 with tied embeddings, gelu_tanh, a feed-forward layer of 4 "
          "model.d_model and model.norm_epsilon=1e-5; this is another model");
  Parts gpt2;
  for (const ForeignTensor& tensor : gpt2_family().names(c).tensors)
    gpt2[tensor.name] = tensor.parts;
  NameCollector names(c, "");
  names.same("wte", "embedding.tokens.weight", {c.vocab_size, c.d_model}).shape[0] = padded_vocab;
  names.same("wpe", "embedding.positions.weight", {c.context, c.d_model});
  for (const Kind& kind : kKinds) names.map.tensors.push_back(of_blocks(kind, c.n_layers, gpt2));
  names.same("lnfw", "final_norm.gain", {c.d_model});
  names.same("lnfb", "final_norm.bias", {c.d_model});
  return names.map;
}

}  // namespace skein::convert
