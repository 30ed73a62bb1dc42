#include <algorithm>
#include <fcntl.h>
#include <optional>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/data/stores/store.h"

#include "data/files/spool.h"
#include "store_layout.h"

namespace skein::data {
namespace {

void check_settings(const std::string& path, int64_t vocab_size, int64_t end_of_text) {
  require(vocab_size >= 1 && vocab_size <= INT32_MAX,
          "{}: a vocabulary of {} ids cannot be stored; [1, {}] can", path, vocab_size, INT32_MAX);
  require(end_of_text >= -1 && end_of_text < vocab_size,
          "{}: end_of_text is {}; with vocab_size {} it must lie in [-1, {}]", path, end_of_text,
          vocab_size, vocab_size - 1);
}

}  // namespace

struct TokenStoreWriter::Impl {
  Impl(const std::string& target, int64_t vocab_size, int64_t end_of_text,
       std::string tokenizer_json, bool with_sentences, ExistingFile wanted)
      : path(file_target(target, wanted)),
        existing(wanted),
        stem(unique_stem(path)),
        tokens(stem + ".tokens"),
        documents(stem + ".documents") {
    layout.info.vocab_size = vocab_size;
    layout.info.end_of_text = end_of_text;
    layout.info.tokenizer = text::StoredTokenizer(std::move(tokenizer_json));
    layout.width = token_width(vocab_size);
    if (with_sentences) sentences.emplace(stem + ".sentences");
  }

  void append(std::span<const int32_t> ids) {
    if (layout.width == 1)
      append_as<uint8_t>(ids);
    else if (layout.width == 2)
      append_as<uint16_t>(ids);
    else
      append_as<uint32_t>(ids);
    layout.info.tokens += std::ssize(ids);
  }

  template <class T>
  void append_as(std::span<const int32_t> ids) {
    const std::vector<T> narrowed(ids.begin(), ids.end());
    tokens.append(std::as_bytes(std::span(narrowed)));
  }

  // The document and the sentence that the next token belongs to.
  void begin() {
    if (!document_open) note_start(documents);
    document_open = true;
    if (!sentences || sentence_open) return;
    note_start(*sentences);
    sentence_open = true;
    ++layout.info.sentences;
  }

  void note_start(SummedSpool& starts) const {
    const uint64_t start = layout.info.tokens;
    starts.append(std::as_bytes(std::span(&start, 1)));
  }

  void check_ids(std::span<const int32_t> ids) const {
    const int64_t vocab_size = layout.info.vocab_size;
    const auto bad = std::find_if(ids.begin(), ids.end(),
                                  [&](int32_t id) { return id < 0 || id >= vocab_size; });
    if (bad == ids.end()) return;
    fail_usage(
        "{}: token {} of document {} is {}, outside the vocabulary of {} ids; was it made by "
        "another "
        "tokenizer?",
        path, bad - ids.begin(), layout.info.documents, *bad, vocab_size);
  }

  void assemble() {
    // Made here first: HDF5 would follow a link of that name.
    const FileDescriptor file(stem, O_WRONLY | O_CREAT | O_EXCL);
    const RemovedAtEnd partial(stem);
    write_store_layout(partial.path(), layout);
    tokens.copy_to(file, layout.tokens_at);
    documents.copy_to(file, layout.documents_at);
    if (sentences) sentences->copy_to(file, layout.sentences_at);
    file.sync();
    publish(partial.path(), path, existing);
    sync_parent(path);
  }

  std::string path;
  ExistingFile existing;
  std::string stem;
  SummedSpool tokens, documents;
  std::optional<SummedSpool> sentences;
  StoreLayout layout;
  bool document_open = false;
  bool sentence_open = false;
  bool finished = false;
};

TokenStoreWriter::TokenStoreWriter(const std::string& path, int64_t vocab_size, int64_t end_of_text,
                                   std::string tokenizer_json, bool with_sentences,
                                   ExistingFile existing) {
  check_settings(path, vocab_size, end_of_text);
  impl_ = std::make_unique<Impl>(path, vocab_size, end_of_text, std::move(tokenizer_json),
                                 with_sentences, existing);
}

TokenStoreWriter::~TokenStoreWriter() = default;

void TokenStoreWriter::append(std::span<const int32_t> tokens, int64_t text_bytes) {
  SKEIN_CHECK(!impl_->finished);
  impl_->check_ids(tokens);
  impl_->layout.info.text_bytes += text_bytes;
  if (tokens.empty()) return;
  impl_->begin();
  impl_->append(tokens);
}

void TokenStoreWriter::end_sentence() {
  SKEIN_CHECK(impl_->sentences.has_value());
  impl_->sentence_open = false;
}

void TokenStoreWriter::add_document(std::span<const int32_t> tokens, int64_t text_bytes) {
  append(tokens, text_bytes);
  const int32_t end = narrow<int32_t>(impl_->layout.info.end_of_text);
  if (end >= 0) {
    if (!impl_->document_open) impl_->begin();
    impl_->append(std::span(&end, 1));
  }
  end_document();
}

void TokenStoreWriter::end_document() {
  if (!impl_->document_open) return;
  impl_->document_open = impl_->sentence_open = false;
  ++impl_->layout.info.documents;
}

StoreInfo TokenStoreWriter::finish() {
  SKEIN_CHECK(!impl_->finished && !impl_->document_open);
  StoreLayout& layout = impl_->layout;
  require(layout.info.tokens > 0,
          "{} would hold no token ({} documents were added): was the input empty?", impl_->path,
          layout.info.documents);
  impl_->finished = true;
  impl_->note_start(impl_->documents);
  if (impl_->sentences) impl_->note_start(*impl_->sentences);
  layout.sum = impl_->tokens.sum();
  layout.documents_sum = impl_->documents.sum();
  if (impl_->sentences) layout.sentences_sum = impl_->sentences->sum();
  check_free_space(impl_->path, impl_->tokens.size() + impl_->documents.size() +
                                    (impl_->sentences ? impl_->sentences->size() : 0) +
                                    layout.info.tokenizer.text().size());
  impl_->assemble();
  return layout.info;
}

}  // namespace skein::data
