// What files keep as text, such as a tokenizer's JSON, with what that text says.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace skein {

// A text as it is stored, and the Value that it describes. The value is made of the text when it is
// first asked for, once for all copies: a text that nobody looks into costs nothing, however long,
// and one that many look into is read once. Thread-safe.
template <class Value>
class StoredText {
 public:
  using Reader = std::shared_ptr<const Value> (*)(const std::string& text);

  StoredText(std::string text, Reader reader)
      : kept_(std::make_shared<Content>(std::move(text), reader, nullptr)) {}
  // Of a value that has been made already.
  StoredText(std::string text, std::shared_ptr<const Value> value)
      : kept_(std::make_shared<Content>(std::move(text), nullptr, std::move(value))) {}
  // No moves: what is left behind would have no text.
  StoredText(const StoredText&) = default;
  StoredText& operator=(const StoredText&) = default;

  const std::string& text() const { return kept_->text; }
  // Whether nothing is stored.
  bool empty() const { return text().empty(); }
  // Throws what the reader throws, each time.
  std::shared_ptr<const Value> value() const { return kept_->get(); }
  // They live as long as any copy.
  const Value& operator*() const { return *value(); }
  const Value* operator->() const { return value().get(); }

  // By the texts.
  bool operator==(const StoredText& other) const { return text() == other.text(); }

 private:
  struct Content {
    Content(std::string stored, Reader how, std::shared_ptr<const Value> known)
        : text(std::move(stored)), reader(how), made(std::move(known)) {}
    std::shared_ptr<const Value> get() {
      const std::lock_guard lock(mutex);
      if (!made) made = reader(text);
      return made;
    }

    const std::string text;
    const Reader reader;  // null where the value was given
    std::mutex mutex;
    std::shared_ptr<const Value> made;
  };
  std::shared_ptr<Content> kept_;
};

}  // namespace skein
