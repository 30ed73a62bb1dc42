#include "imported_tokenizer.h"

#include <algorithm>
#include <initializer_list>
#include <unordered_map>

#include "skein/core/error.h"

#include "text/models/byte_pieces.h"
#include "word_cache.h"

namespace skein::text {
namespace {

// Between these BERT's words may be told apart one by one, whatever the characters around them.
constexpr bool parts_chunks(char byte) {
  return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

constexpr bool alphanumeric(char byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= 'a' && byte <= 'z');
}

class ImportedTokenizer final : public Tokenizer {
 public:
  explicit ImportedTokenizer(ImportedParts parts);

  int64_t vocab_size() const override { return std::ssize(pieces_); }
  int32_t end_of_text() const override { return end_of_text_; }
  TokenRoles roles() const override { return roles_; }
  std::vector<int32_t> encode(std::string_view text) const override {
    return encoded(text, TextPlace::begins, false);
  }
  std::vector<int32_t> encode_within(std::string_view text) const override {
    return encoded(text, TextPlace::goes_on, false);
  }
  std::vector<int32_t> encode_specials(std::string_view text) const override {
    return encoded(text, TextPlace::begins, true);
  }
  TemplatedIds with_template(const std::vector<int32_t>& first,
                             const std::vector<int32_t>* second) const override;
  std::vector<std::pair<std::string, int32_t>> special_tokens() const override;
  int32_t id_of(std::string_view token) const override;
  bool begins_word(int32_t id) const override;
  std::string_view bytes_of(int32_t id) const override;
  std::string decode(const std::vector<int32_t>& ids, bool skip_special) const override;
  std::string to_json() const override {
    if (!parts_.json.empty()) return parts_.json;
    return parts_.json_head + R"(,"model":)" + parts_.model->to_json() + "}";
  }

 private:
  using Ids = std::vector<int32_t>;

  Ids encoded(std::string_view text, TextPlace place, bool specials) const;
  void encode_part(std::string_view text, TextPlace place, bool specials, Ids& ids) const;
  void encode_words(std::string_view text, TextPlace place, Ids& ids) const;
  void encode_bert(std::string_view text, Ids& ids) const;
  void encode_chunk(std::string_view chunk, WordCache& cache, Ids& ids) const;
  void encode_afresh(std::string_view text, Ids& ids) const;
  const AddedToken* added(int32_t id) const;
  std::vector<std::string> tokens_of(const Ids& ids, bool skip_special) const;
  std::string decoded_piece(int32_t id) const;
  void fill_pieces();
  void find_roles();
  int32_t first_special(std::initializer_list<const char*> names) const;

  ImportedParts parts_;
  AddedTokenFinder raw_, normal_;
  std::unordered_map<int32_t, size_t> added_by_id_;
  std::vector<std::string> pieces_;
  TokenRoles roles_;
  int32_t end_of_text_ = -1;
  bool bert_ = false;  // normalised, divided and modelled as BERT does, so that chunks of raw text
                       // stand alone
  uint64_t serial_ = WordCache::next_serial();
};

ImportedTokenizer::ImportedTokenizer(ImportedParts parts) : parts_(std::move(parts)) {
  for (size_t i = 0; i < parts_.added.size(); ++i) {
    const AddedToken& token = parts_.added[i];
    added_by_id_.emplace(token.id, i);
    if (token.normalized)
      normal_.add(token, normalized(token.content, parts_.normalizer));
    else
      raw_.add(token, token.content);
  }
  bert_ = parts_.normalizer.size() == 1 &&
          parts_.normalizer[0].kind == NormalizerStep::Kind::bert && parts_.splits.size() == 1 &&
          parts_.splits[0].kind == SplitStep::Kind::bert;
  fill_pieces();
  find_roles();
}

const AddedToken* ImportedTokenizer::added(int32_t id) const {
  const auto found = added_by_id_.find(id);
  return found == added_by_id_.end() ? nullptr : &parts_.added[found->second];
}

void ImportedTokenizer::fill_pieces() {
  const Vocabulary& vocabulary = parts_.model->vocabulary();
  const int32_t last = parts_.added.empty() ? -1 : parts_.added.back().id;
  pieces_.resize(std::max(vocabulary.size(), last + 1));
  for (int32_t id = 0; id < std::ssize(pieces_); ++id) {
    std::string& piece = pieces_[id];
    const AddedToken* token = added(id);
    if (token != nullptr)
      piece = token->special ? "" : token->content;
    else if (vocabulary.has(id))
      piece = parts_.decoder == nullptr ? parts_.model->piece_of(id) : decoded_piece(id);
    if (parts_.joins_words && !piece.empty() && begins_word(id)) piece.insert(0, 1, ' ');
  }
}

// What a token stands for behind another one.
std::string ImportedTokenizer::decoded_piece(int32_t id) const {
  const std::string token(parts_.model->vocabulary().token(id));
  if (const int byte = byte_of_piece(token); byte >= 0 && parts_.decoder->joins_bytes())
    return std::string(1, static_cast<char>(byte));
  return parts_.decoder->decode({"a", token}).substr(1);
}

int32_t ImportedTokenizer::first_special(std::initializer_list<const char*> names) const {
  for (const char* name : names)
    for (const AddedToken& token : parts_.added)
      if (token.special && token.content == name) return token.id;
  return -1;
}

void ImportedTokenizer::find_roles() {
  roles_.pad =
      first_special({"[PAD]", "<pad>", "<|padding|>", "<|pad|>", "<|finetune_right_pad_id|>"});
  roles_.unk = parts_.model->unknown();
  if (roles_.unk < 0) roles_.unk = first_special({"[UNK]", "<unk>"});
  roles_.cls = first_special({"[CLS]", "<s>"});
  roles_.sep = first_special({"[SEP]", "</s>"});
  // What the template puts around a text begins and ends samples, whatever it is called.
  if (const Template& frame = parts_.single;
      frame.size() > 2 && frame.front().id >= 0 && frame.back().id >= 0) {
    roles_.cls = frame.front().id;
    roles_.sep = frame.back().id;
  }
  roles_.mask = first_special({"[MASK]", "<mask>"});
  roles_.bos = first_special({"<s>", "<|begin_of_text|>"});
  end_of_text_ = first_special({"<|endoftext|>", "</s>", "<|end_of_text|>", "<|eot_id|>", "[SEP]"});
  if (end_of_text_ < 0) end_of_text_ = roles_.sep;
  roles_.eos = end_of_text_;
}

std::vector<int32_t> ImportedTokenizer::encoded(std::string_view text, TextPlace place,
                                                bool specials) const {
  Ids ids;
  ids.reserve(text.size() / 3);
  raw_.divide(text, specials, [&](std::string_view part, int32_t id) {
    if (id >= 0)
      ids.push_back(id);
    else
      encode_part(part, part.data() == text.data() ? place : TextPlace::elsewhere, specials, ids);
  });
  return ids;
}

void ImportedTokenizer::encode_part(std::string_view text, TextPlace place, bool specials,
                                    Ids& ids) const {
  if (bert_ && !normal_.any(specials)) return encode_bert(text, ids);
  std::string made;
  if (!surely_normal(text, parts_.normalizer)) {
    made = normalized(text, parts_.normalizer, &place);
    text = made;
  }
  normal_.divide(text, specials, [&](std::string_view part, int32_t id) {
    if (id >= 0)
      ids.push_back(id);
    else
      encode_words(part, part.data() == text.data() ? place : TextPlace::elsewhere, ids);
  });
}

void ImportedTokenizer::encode_words(std::string_view text, TextPlace place, Ids& ids) const {
  WordCache* cache = bert_ ? nullptr : &WordCache::of(serial_);
  const auto model = [this](std::string_view word, Ids& made) { parts_.model->encode(word, made); };
  auto encode_word = [&](std::string_view word) {
    if (cache == nullptr || word.size() > WordCache::kLongest)
      model(word, ids);
    else
      cache->append(word, ids, model);
  };
  split_by(parts_.splits, 0, text, {text.data(), place}, encode_word);
}

void ImportedTokenizer::encode_afresh(std::string_view text, Ids& ids) const {
  split_bert(normalized(text, parts_.normalizer[0]),
             [&](std::string_view word) { parts_.model->encode(word, ids); });
}

void ImportedTokenizer::encode_chunk(std::string_view chunk, WordCache& cache, Ids& ids) const {
  if (chunk.size() > WordCache::kLongest) return encode_afresh(chunk, ids);
  cache.append(chunk, ids, [this](std::string_view word, Ids& made) { encode_afresh(word, made); });
}

// Text in white space: of printable ASCII alone it is parted further, so that few chunks fill the
// cache.
void ImportedTokenizer::encode_bert(std::string_view text, Ids& ids) const {
  WordCache& cache = WordCache::of(serial_);
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    bool printable = true;
    for (end = begin; end < text.size() && !parts_chunks(text[end]); ++end)
      printable = printable && text[end] > 0x20 && text[end] < 0x7F;
    if (end == begin) {
      ++end;
      continue;
    }
    if (!printable) {
      encode_chunk(text.substr(begin, end - begin), cache, ids);
      continue;
    }
    for (size_t at = begin, stop = 0; at < end; at = stop) {
      for (stop = at; stop < end && alphanumeric(text[stop]); ++stop) {
      }
      stop = std::max(stop, at + 1);
      encode_chunk(text.substr(at, stop - at), cache, ids);
    }
  }
}

TemplatedIds ImportedTokenizer::with_template(const std::vector<int32_t>& first,
                                              const std::vector<int32_t>* second) const {
  const Template& items = second != nullptr ? parts_.pair : parts_.single;
  if (items.empty()) return Tokenizer::with_template(first, second);
  TemplatedIds made;
  for (const TemplateItem& item : items) {
    if (item.kind == TemplateItem::Kind::token) {
      made.ids.push_back(item.id);
    } else {
      const auto& text = item.kind == TemplateItem::Kind::first ? first : *second;
      made.ids.insert(made.ids.end(), text.begin(), text.end());
    }
    made.types.resize(made.ids.size(), item.type);
  }
  return made;
}

std::vector<std::pair<std::string, int32_t>> ImportedTokenizer::special_tokens() const {
  std::vector<std::pair<std::string, int32_t>> specials;
  for (const AddedToken& token : parts_.added)
    if (token.special) specials.emplace_back(token.content, token.id);
  return specials;
}

int32_t ImportedTokenizer::id_of(std::string_view token) const {
  for (const AddedToken& other : parts_.added)
    if (other.content == token) return other.id;
  return parts_.model->vocabulary().find(token);
}

bool ImportedTokenizer::begins_word(int32_t id) const {
  if (!parts_.joins_words) return Tokenizer::begins_word(id);
  require(id >= 0 && id < vocab_size(), "token id {} is outside the tokenizer's {} ids", id,
          vocab_size());
  if (added(id) != nullptr || !parts_.model->vocabulary().has(id)) return true;
  return !parts_.model->continues_word(id);
}

std::string_view ImportedTokenizer::bytes_of(int32_t id) const {
  require(id >= 0 && id < vocab_size(), "token id {} is outside the tokenizer's {} ids", id,
          vocab_size());
  return pieces_[id];
}

// As vocabularies spell them, for a decoder.
std::vector<std::string> ImportedTokenizer::tokens_of(const Ids& ids, bool skip_special) const {
  std::vector<std::string> tokens;
  for (const int32_t id : ids) {
    require(id >= 0 && id < vocab_size(), "token id {} is outside the tokenizer's {} ids", id,
            vocab_size());
    const AddedToken* token = added(id);
    if (token != nullptr && !(token->special && skip_special))
      tokens.push_back(token->content);
    else if (token == nullptr && parts_.model->vocabulary().has(id))
      tokens.emplace_back(parts_.model->vocabulary().token(id));
  }
  return tokens;
}

std::string ImportedTokenizer::decode(const Ids& ids, bool skip_special) const {
  if (parts_.decoder != nullptr) return parts_.decoder->decode(tokens_of(ids, skip_special));
  std::string text;
  for (const int32_t id : ids) {
    std::string piece(bytes_of(id));
    const AddedToken* token = added(id);
    if (token != nullptr && token->special && !skip_special)
      piece = (parts_.joins_words ? " " : "") + token->content;
    if (text.empty() && parts_.joins_words && piece.starts_with(' ')) piece.erase(0, 1);
    text += parts_.tidies_spaces ? tidied(std::move(piece)) : piece;
  }
  return text;
}

}  // namespace

std::unique_ptr<Tokenizer> imported_tokenizer(ImportedParts parts) {
  return std::make_unique<ImportedTokenizer>(std::move(parts));
}

}  // namespace skein::text
