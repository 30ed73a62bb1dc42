#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string_view>

#include "skein/core/error.h"
#include "skein/core/strict_json.h"
#include "skein/text/split/utf8.h"
#include "skein/text/tokenizer.h"

#include "hugging_face.h"
#include "sentencepiece_tokenizer.h"

namespace skein::text {
namespace {

namespace fs = std::filesystem;
using Json = HuggingFaceJson;

constexpr uintmax_t kMostFileBytes = uintmax_t{1} << 29;

std::string read_whole(const std::string& path) {
  std::error_code error;
  const bool regular = std::filesystem::is_regular_file(path, error);
  require(regular || std::filesystem::exists(path, error),
          "cannot read the tokenizer {}: {}; `skein-data train-tokenizer` makes one, and \"bytes\" "
          "names the byte tokenizer",
          path, error ? error.message() : "no such file");
  require(!std::filesystem::is_directory(path), "the tokenizer {} is a directory, not a file",
          path);
  if (regular) {
    const uintmax_t bytes = std::filesystem::file_size(path, error);
    require(!error && bytes <= kMostFileBytes,
            "the tokenizer {} holds {} bytes; {} is the most: is it a tokenizer?", path, bytes,
            kMostFileBytes);
  }
  std::ifstream file(path, std::ios::binary);
  require(file.is_open(), "cannot read the tokenizer {}: {}", path, std::strerror(errno));
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) fail("cannot read the tokenizer {}: {}", path, std::strerror(errno));
  return text;
}

Json parsed(const std::string& path) { return parse_strictly<Json>(read_whole(path), path); }

// The settings beside a vocabulary that say what tokenizer.json would: an empty object without
// them.
Json settings_of(const fs::path& folder) {
  Json settings = Json::object();
  for (const char* name : {"special_tokens_map.json", "tokenizer_config.json"}) {
    const fs::path path = folder / name;
    if (!fs::exists(path)) continue;
    const Json read = parsed(path.string());
    require(read.is_object(), "{} must be a JSON object, not {}", path.string(), read.type_name());
    settings.update(read);
  }
  return settings;
}

bool flag_of(const Json& settings, const char* key, bool fallback) {
  const auto found = settings.find(key);
  return found != settings.end() && found->is_boolean() ? found->get<bool>() : fallback;
}

Json special_token(const std::string& content, int64_t id) {
  return {{"id", id},
          {"content", content},
          {"lstrip", content == "<mask>"},
          {"normalized", false},
          {"special", true}};
}

// The text of a token that settings name, given as a string or as an object; "" for none.
std::string named_token(const Json& settings, const char* role) {
  const auto found = settings.find(role);
  if (found == settings.end()) return "";
  const Json& name =
      found->is_object() && found->contains("content") ? (*found)["content"] : *found;
  return name.is_string() ? name.get<std::string>() : "";
}

std::vector<std::string> named_specials(const Json& settings) {
  std::vector<std::string> names = {"[PAD]", "[UNK]", "[CLS]", "[SEP]",  "[MASK]",       "<s>",
                                    "<pad>", "</s>",  "<unk>", "<mask>", "<|endoftext|>"};
  for (const char* role :
       {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"})
    if (std::string name = named_token(settings, role); !name.empty())
      names.push_back(std::move(name));
  return names;
}

Json added_tokens(const Json& vocabulary, const Json& settings) {
  std::map<int64_t, Json> tokens;
  for (const std::string& name : named_specials(settings))
    if (const auto found = vocabulary.find(name);
        found != vocabulary.end() && found->is_number_unsigned())
      tokens.emplace(found->get<int64_t>(), special_token(name, found->get<int64_t>()));
  if (const auto more = settings.find("added_tokens_decoder");
      more != settings.end() && more->is_object())
    for (const auto& item : more->items()) {
      const bool good = !item.key().empty() && item.key().size() < 10 && item.value().is_object() &&
                        std::all_of(item.key().begin(), item.key().end(),
                                    [](char c) { return c >= '0' && c <= '9'; });
      require(good, "added_tokens_decoder of tokenizer_config.json has an entry that is no token");
      Json token = item.value();
      token["id"] = std::stoll(item.key());
      tokens[std::stoll(item.key())] = std::move(token);
    }
  auto list = Json::array();
  for (auto& [id, token] : tokens) list.push_back(std::move(token));
  return list;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    lines.emplace_back(line.substr(0, line.find_last_not_of(" \t\r") + 1));
    begin = end + 1;
  }
  return lines;
}

Json merges_of(const std::string& path) {
  auto merges = Json::array();
  const auto lines = lines_of(read_whole(path));
  for (size_t i = 0; i < lines.size(); ++i)
    if (!lines[i].empty() && (i > 0 || !lines[i].starts_with("#version")))
      merges.push_back(lines[i]);
  return merges;
}

Json named_id(const Json& vocabulary, const char* name) {
  return Json::array({name, vocabulary.at(name)});
}

std::unique_ptr<Tokenizer> from_byte_bpe(const fs::path& vocab, const fs::path& merges) {
  const Json settings = settings_of(vocab.parent_path());
  const bool prefix = flag_of(settings, "add_prefix_space", false);
  Json vocabulary = parsed(vocab.string());
  require(vocabulary.is_object(), "{} must be an object of tokens and ids, not {}", vocab.string(),
          vocabulary.type_name());
  Json json = {{"added_tokens", added_tokens(vocabulary, settings)},
               {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", prefix}}},
               {"decoder", {{"type", "ByteLevel"}}}};
  if (vocabulary.contains("<s>") && vocabulary.contains("</s>") && vocabulary.contains("<mask>"))
    json["post_processor"] = {{"type", "RobertaProcessing"},
                              {"sep", named_id(vocabulary, "</s>")},
                              {"cls", named_id(vocabulary, "<s>")},
                              {"add_prefix_space", prefix}};
  json["model"] = {
      {"type", "BPE"}, {"vocab", std::move(vocabulary)}, {"merges", merges_of(merges.string())}};
  return tokenizer_from_hugging_face(json);
}

// A vocabulary without a capital letter outside of its special tokens was made of lower-cased text.
bool lower_case(const Json& vocabulary) {
  for (const auto& item : vocabulary.items())
    if (!item.key().starts_with('[') && std::any_of(item.key().begin(), item.key().end(),
                                                    [](char c) { return c >= 'A' && c <= 'Z'; }))
      return false;
  return true;
}

std::unique_ptr<Tokenizer> from_wordpiece(const fs::path& path) {
  const Json settings = settings_of(path.parent_path());
  Json vocabulary = Json::object();
  const auto lines = lines_of(read_whole(path.string()));
  for (size_t line = 0; line < lines.size(); ++line) {
    require(valid_utf8(lines[line]), "{}:{}: the token is not valid UTF-8", path.string(),
            line + 1);
    vocabulary[lines[line]] = line;
  }
  Json normalizer = {{"type", "BertNormalizer"},
                     {"handle_chinese_chars", flag_of(settings, "tokenize_chinese_chars", true)},
                     {"lowercase", flag_of(settings, "do_lower_case", lower_case(vocabulary))}};
  if (const auto strip = settings.find("strip_accents"); strip != settings.end())
    normalizer["strip_accents"] = *strip;
  Json json = {{"added_tokens", added_tokens(vocabulary, settings)},
               {"normalizer", std::move(normalizer)},
               {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
               {"decoder", {{"type", "WordPiece"}}}};
  if (vocabulary.contains("[CLS]") && vocabulary.contains("[SEP]"))
    json["post_processor"] = {{"type", "BertProcessing"},
                              {"sep", named_id(vocabulary, "[SEP]")},
                              {"cls", named_id(vocabulary, "[CLS]")}};
  json["model"] = {{"type", "WordPiece"}, {"vocab", std::move(vocabulary)}};
  if (const std::string unknown = named_token(settings, "unk_token"); !unknown.empty())
    json["model"]["unk_token"] = unknown;
  return tokenizer_from_hugging_face(json);
}

constexpr const char* kPieceFiles[] = {"spiece.model", "tokenizer.model", "sentencepiece.model"};

// What `transformers` does beside the model's own rules, by the class that settings name.
SentencePieceUse use_of(const Json& settings, const std::string& path) {
  SentencePieceUse use;
  const auto found = settings.find("tokenizer_class");
  std::string name = found != settings.end() && found->is_string() ? found->get<std::string>() : "";
  if (name.ends_with("Fast")) name.resize(name.size() - 4);
  if (name == "T5Tokenizer" || name == "MT5Tokenizer") {
    use.end = true;
    const auto count = settings.find("extra_ids");
    const int64_t extra = count == settings.end() || count->is_null()
                              ? 100
                              : whole<int64_t>(*count, "extra_ids", "tokenizer_config.json");
    require(extra >= 0 && extra <= 1 << 16, "extra_ids is {}; it must lie between 0 and {}", extra,
            1 << 16);
    for (int64_t i = extra; i-- > 0;) use.extra.push_back(fmt::format("<extra_id_{}>", i));
  } else if (name == "LlamaTokenizer") {
    use.begin = flag_of(settings, "add_bos_token", true);
    use.end = flag_of(settings, "add_eos_token", false);
  } else {
    require(name.empty() || name == "PreTrainedTokenizer" || name == "TokenizersBackend",
            "{}: tokenizer_config.json names the class {}, whose ids are not those of the model "
            "file; have `transformers` write its tokenizer.json (save_pretrained) and name that",
            path, name.substr(0, 60));
  }
  return use;
}

// Marian's: source.spm or target.spm, and the ids in vocab.json; those of targets in
// target_vocab.json where they have ids of their own.
std::unique_ptr<Tokenizer> from_marian(const fs::path& path) {
  const fs::path own = path.parent_path() / "target_vocab.json";
  const fs::path vocab =
      path.filename() == "target.spm" && fs::exists(own) ? own : path.parent_path() / "vocab.json";
  const Json ids = parsed(vocab.string());
  require(ids.is_object(), "{} must be an object of tokens and ids, not {}", vocab.string(),
          ids.type_name());
  SentencePieceUse use;
  use.end = true;
  use.vocabulary.resize(ids.size());
  for (const auto& item : ids.items()) {
    const auto id = whole<int64_t>(item.value(), item.key(), vocab.string());
    require(id >= 0 && id < std::ssize(ids) && use.vocabulary[id].empty() && !item.key().empty(),
            "{} gives the token {} the id {}; the ids of {} tokens lie from 0 to {}, each once",
            vocab.string(), item.key().substr(0, 60), id, ids.size(), ids.size() - 1);
    use.vocabulary[id] = item.key();
  }
  return sentencepiece_tokenizer(read_whole(path.string()), use, path.string());
}

bool is_marian(const fs::path& path) {
  return (path.filename() == "source.spm" || path.filename() == "target.spm") &&
         fs::exists(path.parent_path() / "vocab.json");
}

std::unique_ptr<Tokenizer> from_pieces(const fs::path& path, const std::string& bytes) {
  return sentencepiece_tokenizer(bytes, use_of(settings_of(path.parent_path()), path.string()),
                                 path.string());
}

// By its name; or it begins as a model's first piece does, and not with a brace.
bool holds_pieces(const fs::path& path, const std::string& bytes) {
  if (path.extension() == ".model" || path.extension() == ".spm") return true;
  const size_t text = bytes.find_first_not_of(" \t\r\n");
  return bytes.starts_with('\n') && text != bytes.npos && bytes[text] != '{';
}

std::unique_ptr<Tokenizer> from_file(const fs::path& path) {
  const fs::path folder = path.parent_path();
  if (path.filename() == "vocab.txt") return from_wordpiece(path);
  if (path.filename() == "merges.txt" || path.filename() == "vocab.json")
    return from_byte_bpe(folder / "vocab.json", folder / "merges.txt");
  if (is_marian(path)) return from_marian(path);
  const std::string bytes = read_whole(path.string());
  return holds_pieces(path, bytes) ? from_pieces(path, bytes) : tokenizer_from_json(bytes);
}

fs::path file_in(const fs::path& folder) {
  if (!fs::exists(folder / "tokenizer.json") && fs::exists(folder / "source.spm") &&
      is_marian(folder / "source.spm"))
    return folder / "source.spm";
  for (const char* name : {"tokenizer.json", "vocab.json", "vocab.txt"})
    if (fs::exists(folder / name)) return folder / name;
  for (const char* name : kPieceFiles)
    if (fs::exists(folder / name)) return folder / name;
  fail_usage(
      "the folder holds no tokenizer: neither tokenizer.json, nor vocab.json and merges.txt, nor "
      "vocab.txt, nor {}",
      fmt::join(kPieceFiles, " or "));
}

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path) {
  if (path == "bytes") return byte_tokenizer();
  try {
    return from_file(fs::is_directory(path) ? file_in(path) : fs::path(path));
  } catch (const Error& error) {
    const std::string text = error.what();
    throw Error(error.code(),
                text.find(path) == std::string::npos ? fmt::format("{}: {}", path, text) : text);
  } catch (const fs::filesystem_error& error) {
    fail("cannot read the tokenizer {}: {}", path, error.code().message());
  }
}

}  // namespace skein::text
