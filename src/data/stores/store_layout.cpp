#include "store_layout.h"

#include "skein/core/error.h"
#include "skein/data/stores/hdf5_view.h"
#include "skein/data/stores/hdf5_writer.h"
#include "skein/data/stores/store_fields.h"

namespace skein::data {
namespace {

constexpr int64_t kStoreVersion = 1;

class StoreLayoutReader {
 public:
  explicit StoreLayoutReader(std::span<const std::byte> file)
      : file_(file), fields_(file_, file.size(), kTokenStore) {}
  StoreLayout read() const {
    StoreLayout layout;
    layout.info = read_info();
    layout.sum = fields_.integer("xxh3");
    const StoredRun tokens = numbers("tokens");
    layout.width = unsigned_width(tokens.type);
    require(layout.width <= 4, "/tokens holds u64; tokens are u8, u16 or u32");
    const StoredRun documents = starts("documents", "document");
    layout.info.tokens = tokens.count;
    layout.info.documents = documents.count - 1;
    layout.tokens_at = tokens.at;
    layout.documents_at = documents.at;
    layout.documents_sum = sum_of("documents_xxh3");
    if (!fields_.holds("sentences")) return layout;
    const StoredRun sentences = starts("sentences", "sentence");
    layout.info.sentences = sentences.count - 1;
    layout.sentences_at = sentences.at;
    layout.sentences_sum = sum_of("sentences_xxh3");
    return layout;
  }

 private:
  std::optional<uint64_t> sum_of(const char* name) const {
    if (!fields_.has_attribute(name)) return {};
    return static_cast<uint64_t>(fields_.integer(name));
  }

  StoredRun numbers(const char* name) const {
    const Hdf5Dataset set = fields_.dataset(name);
    require(set.dims.size() == 1, "dataset /{} has {} dimensions, not 1", name, set.dims.size());
    require(unsigned_width(set.type) > 0,
            "dataset /{} does not hold little-endian unsigned integers", name);
    require(set.dims.front() > 0, "dataset /{} is empty; a store needs at least one token", name);
    return fields_.run(name, set);
  }

  StoredRun starts(const char* name, const char* thing) const {
    const StoredRun run = numbers(name);
    require(run.type.bytes == 8, "/{} holds {}-byte integers; it must hold u64", name,
            run.type.bytes);
    require(run.count >= 2, "/{} has {} entries; one {} already needs 2", name, run.count, thing);
    return run;
  }

  StoreInfo read_info() const {
    fields_.check_format(kStoreVersion);
    StoreInfo info;
    info.vocab_size = fields_.integer("vocab_size");
    require(info.vocab_size >= 1 && info.vocab_size <= kLargestVocabulary,
            "vocab_size is {}; it must lie in [1, {}]", info.vocab_size, kLargestVocabulary);
    info.end_of_text = fields_.integer("end_of_text");
    require(info.end_of_text >= -1 && info.end_of_text < info.vocab_size,
            "end_of_text is {}; with vocab_size {} it must lie in [-1, {}]", info.end_of_text,
            info.vocab_size, info.vocab_size - 1);
    info.text_bytes = fields_.integer("text_bytes");
    require(info.text_bytes >= 0, "text_bytes is {}; it cannot be negative", info.text_bytes);
    info.tokenizer = text::StoredTokenizer(fields_.text("tokenizer"));
    return info;
  }

  Hdf5View file_;
  StoreFields fields_;
};

}  // namespace

int token_width(int64_t vocab_size) { return vocab_size <= 256 ? 1 : vocab_size <= 65536 ? 2 : 4; }

StoreLayout read_store_layout(const std::string& path, std::span<const std::byte> file) {
  try {
    return StoreLayoutReader(file).read();
  } catch (const Error& error) {
    throw Error(error.code(),
                fmt::format("{} cannot be used: {} (docs/token-store.md)", path, error.what()));
  }
}

void write_store_layout(const std::string& path, StoreLayout& layout) {
  const StoreInfo& info = layout.info;
  Hdf5Writer file(path);
  file.put_text("", "format", kTokenStore.format);
  file.put_integer("", "version", kStoreVersion);
  file.put_integer("", "vocab_size", info.vocab_size);
  file.put_integer("", "end_of_text", info.end_of_text);
  file.put_integer("", "text_bytes", info.text_bytes);
  file.put_sum("", "xxh3", layout.sum);
  if (layout.documents_sum) file.put_sum("", "documents_xxh3", *layout.documents_sum);
  if (layout.sentences_sum) file.put_sum("", "sentences_xxh3", *layout.sentences_sum);
  file.put_text("", "tokenizer", info.tokenizer.text());
  const auto put = [&file](const char* name, const Hdf5Type& type, uint64_t count) {
    return file.add_dataset(name, type, {count});
  };
  const uint64_t width = layout.width, tokens = info.tokens, documents = info.documents;
  layout.tokens_at = put("tokens", {Hdf5Type::Kind::integer, width, false}, tokens);
  layout.documents_at = put("documents", kHdf5U64, documents + 1);
  if (info.sentences > 0) layout.sentences_at = put("sentences", kHdf5U64, info.sentences + 1);
  file.close();
}

}  // namespace skein::data
