#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string_view>

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/strict_json.h"
#include "skein/text/tokenizer.h"

#include "data/files/token_file.h"
#include "store_file.h"
#include "store_layout.h"

namespace skein::data {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view kSuffix = ".meta.json";
constexpr uintmax_t kMostBytes = uintmax_t{1} << 29;

TokenNotes notes_of(const std::shared_ptr<const text::Tokenizer>& tokenizer) {
  return {.tokenizer = text::StoredTokenizer(tokenizer),
          .vocab_size = tokenizer->vocab_size(),
          .end_of_text = tokenizer->end_of_text(),
          .text_bytes = 0,
          .end_of_text_at = ""};
}

Json read_json(const std::string& path) {
  std::error_code error;
  const uintmax_t bytes = fs::file_size(path, error);
  if (error) fail_to_open(error.value(), "cannot read {}", path);
  require(bytes <= kMostBytes, "{} has more than {} bytes", path, kMostBytes);
  std::ifstream file(path, std::ios::binary);
  std::string text(bytes, '\0');
  if (!file.read(text.data(), bytes)) fail("cannot read the {} bytes of {}", bytes, path);
  const Json json = parse_strictly<Json>(text, path);
  require(json.is_object(), "{} holds a JSON {}, not an object", path, json.type_name());
  return json;
}

class NotesReader {
 public:
  explicit NotesReader(const std::string& path) : path_(path), json_(read_json(path)) {
    constexpr std::string_view known[] = {"tokenizer", "vocab_size", "end_of_text", "text_bytes",
                                          "end_of_text_at"};
    for (const auto& item : json_.items())
      require(std::find(std::begin(known), std::end(known), item.key()) != std::end(known),
              "{} has a key \"{}\"; it may hold {}", path_, item.key(), fmt::join(known, ", "));
  }

  TokenNotes read() const {
    TokenNotes notes;
    if (json_.contains("tokenizer")) notes = tokenizer(json_.at("tokenizer"));
    const int64_t vocab_size = integer("vocab_size", notes.vocab_size, 1, kLargestVocabulary);
    require(notes.vocab_size == 0 || vocab_size == notes.vocab_size,
            "{} says vocab_size {}, but its tokenizer has {} ids", path_, vocab_size,
            notes.vocab_size);
    notes.vocab_size = vocab_size;
    notes.end_of_text = integer("end_of_text", notes.end_of_text, -1,
                                (vocab_size ? vocab_size : kLargestVocabulary) - 1);
    notes.text_bytes = integer("text_bytes", 0, 0, std::numeric_limits<int64_t>::max());
    if (!json_.contains("end_of_text_at")) return notes;
    const Json& side = json_.at("end_of_text_at");
    require(side == "begin" || side == "end", "{}: end_of_text_at must be \"begin\" or \"end\"",
            path_);
    notes.end_of_text_at = side.get<std::string>();
    return notes;
  }

 private:
  int64_t integer(const char* key, int64_t otherwise, int64_t least, int64_t most) const {
    if (!json_.contains(key)) return otherwise;
    const Json& value = json_.at(key);
    const bool fits =
        is_whole<int64_t>(value) && value.get<int64_t>() >= least && value.get<int64_t>() <= most;
    require(fits, "{}: {} is {}; it must be an integer from {} to {}", path_, key,
            value.dump().substr(0, 40), least, most);
    return value.get<int64_t>();
  }

  TokenNotes tokenizer(const Json& value) const {
    require(value.is_string() || value.is_object(),
            "{}: tokenizer is a JSON {}; it must be a path, \"bytes\" or a tokenizer's JSON object",
            path_, value.type_name());
    if (value.is_object())
      return with_origin(path_, [&] { return notes_of(text::tokenizer_from_json(value.dump())); });
    const auto name = value.get<std::string>();
    return notes_of_tokenizer(name == "bytes" ? name
                                              : (fs::path(path_).parent_path() / name).string());
  }

  const std::string& path_;
  Json json_;
};

void require_same(const std::string& path, const TokenNotes& found, const TokenNotes& given) {
  require(found.tokenizer.empty() || given.tokenizer.empty() || found.tokenizer == given.tokenizer,
          "{} names another tokenizer ({} ids) than data.tokenizer does ({} ids)", path,
          found.vocab_size, given.vocab_size);
  require(found.vocab_size == 0 || given.tokenizer.empty() || found.vocab_size == given.vocab_size,
          "{} says vocab_size {}, but the tokenizer of data.tokenizer has {} ids", path,
          found.vocab_size, given.vocab_size);
}

}  // namespace

TokenNotes notes_of_tokenizer(const std::string& path, int64_t vocab_size) {
  TokenNotes notes = path.empty() ? TokenNotes() : notes_of(text::load_tokenizer(path));
  if (notes.vocab_size == 0) notes.vocab_size = vocab_size;
  return notes;
}

std::string stem_of(const std::string& path) {
  return path.ends_with(".bin") || path.ends_with(".idx") ? path.substr(0, path.size() - 4) : path;
}

std::string notes_path(const std::string& stem) { return stem + std::string(kSuffix); }

TokenNotes notes_beside(const std::string& stem, const TokenNotes& given) {
  const std::string path = notes_path(stem);
  std::error_code ignored;
  if (!is_regular_file(path)) {
    require(!fs::exists(path, ignored), "{} is no regular file", path);
    return given;
  }
  TokenNotes notes = NotesReader(path).read();
  require_same(path, notes, given);
  if (notes.tokenizer.empty()) notes.tokenizer = given.tokenizer;
  if (notes.vocab_size == 0) notes.vocab_size = given.vocab_size;
  if (notes.end_of_text < 0) notes.end_of_text = given.end_of_text;
  return notes;
}

std::string notes_json(const TokenNotes& notes) {
  nlohmann::ordered_json json;
  if (notes.vocab_size > 0) json["vocab_size"] = notes.vocab_size;
  json["end_of_text"] = notes.end_of_text;
  if (notes.text_bytes > 0) json["text_bytes"] = notes.text_bytes;
  if (!notes.end_of_text_at.empty()) json["end_of_text_at"] = notes.end_of_text_at;
  const std::string text = json.dump() + "\n";
  return notes.tokenizer.empty()
             ? text
             : fmt::format("{{\"tokenizer\":{},{}", notes.tokenizer.text(), text.substr(1));
}

}  // namespace skein::data
