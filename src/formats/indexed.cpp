#include "skein/formats/indexed.h"

#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

namespace skein::formats {
namespace {

constexpr std::string_view kIndexMagic("MMIDIDX\0\0", 9);
constexpr uint64_t kIndexVersion = 1;
constexpr int kFloatCodes[] = {6, 7};
constexpr std::pair<int, TokenType> kIndexCodes[] = {{1, TokenType::u8},  {2, TokenType::i8},
                                                     {3, TokenType::i16}, {4, TokenType::i32},
                                                     {5, TokenType::i64}, {8, TokenType::u16}};

struct ShardKind {
  int32_t magic, version;
  TokenType type;
};
constexpr ShardKind kShardKinds[] = {{20240520, 1, TokenType::u16}, {20240801, 7, TokenType::u32}};
constexpr std::pair<int32_t, const char*> kOtherMagics[] = {{20240326, "a model"},
                                                            {20240327, "a debugging state"},
                                                            {20240328, "a tokenizer"},
                                                            {20240522, "an evaluation set"},
                                                            {20240527, "a training state"}};

template <class T>
T value_at(std::span<const std::byte> bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

template <class T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

TokenType type_of_code(int code, const std::string& name) {
  for (const auto& [known, type] : kIndexCodes)
    if (code == known) return type;
  for (const int real : kFloatCodes)
    require(code != real,
            "{} holds floats (type code {}), not tokens; token types are 1 to 5 and 8", name, code);
  fail_usage("{} has type code {}; token types are 1 to 5 and 8: is it damaged?", name, code);
}

}  // namespace

int token_bytes(TokenType type) {
  constexpr std::array<int, 7> bytes{1, 1, 2, 2, 4, 4, 8};
  return bytes[static_cast<size_t>(type)];
}

const char* name_of(TokenType type) {
  constexpr std::array<const char*, 7> names{"u8", "i8", "i16", "u16", "i32", "u32", "i64"};
  return names[static_cast<size_t>(type)];
}

TokenIndex::TokenIndex(std::span<const std::byte> file, std::string name)
    : file_(file), name_(std::move(name)) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  require(text.substr(0, kIndexMagic.size()) == kIndexMagic.substr(0, text.size()) && !text.empty(),
          "{} is no Megatron-LM index: it does not begin with MMIDIDX", name_);
  require(file.size() >= kIndexHeaderBytes,
          "{} is truncated: it has {} bytes and its header alone takes {}", name_, file.size(),
          kIndexHeaderBytes);
  const auto version = value_at<uint64_t>(file, 9);
  require(version == kIndexVersion,
          "{} has version {} of the index format; this build reads version {}", name_, version,
          kIndexVersion);
  type_ = type_of_code(value_at<uint8_t>(file, 17), name_);
  sequences_ = value_at<uint64_t>(file, 18);
  entries_ = value_at<uint64_t>(file, 26);
  require(sequences_ > 0, "{} holds 0 sequences; one is the least", name_);
  require(entries_ >= 2, "{} has {} document entries; one document already needs 2", name_,
          entries_);
  const uint64_t room = file.size() - kIndexHeaderBytes;
  require(sequences_ <= room / 12 && entries_ <= (room - 12 * sequences_) / 8,
          "{} is truncated or damaged: {} sequences and {} document entries need more than its {} "
          "bytes",
          name_, sequences_, entries_, file.size());
  offsets_at_ = kIndexHeaderBytes + 4 * sequences_;
  entries_at_ = offsets_at_ + 8 * sequences_;
  const uint64_t end = entries_at_ + 8 * entries_;
  require(file.size() - end != sequences_,
          "{} has the mode of each sequence at its end, as multimodal data sets do; they cannot be "
          "read, only text",
          name_);
  require(file.size() == end, "{} has {} bytes, but {} sequences and {} document entries take {}",
          name_, file.size(), sequences_, entries_, end);
}

template <class T>
T TokenIndex::at(size_t base, uint64_t k) const {
  return value_at<T>(file_, base + k * sizeof(T));
}

int32_t TokenIndex::length(uint64_t sequence) const {
  return at<int32_t>(kIndexHeaderBytes, sequence);
}
int64_t TokenIndex::offset(uint64_t sequence) const { return at<int64_t>(offsets_at_, sequence); }
int64_t TokenIndex::entry(uint64_t k) const { return at<int64_t>(entries_at_, k); }

void TokenIndex::check(uint64_t bin_bytes, const std::string& bin) const {
  const uint64_t width = token_bytes(type_);
  uint64_t end = 0;
  for (uint64_t k = 0; k < sequences_; ++k) {
    require(length(k) > 0, "{} is damaged: sequence {} has {} tokens; 1 is the least", name_, k,
            length(k));
    require(
        std::cmp_equal(offset(k), end),
        "{} is damaged: sequence {} begins at byte {} of {}, but those before it end at byte {}",
        name_, k, offset(k), bin, end);
    end += length(k) * width;
    require(end <= bin_bytes,
            "{} is truncated or damaged: sequence {} of {} ends at byte {}, but it has {} bytes",
            bin, k, name_, end, bin_bytes);
  }
  require(end == bin_bytes,
          "{} has {} bytes, but the sequences of {} take {}: do they belong together?", bin,
          bin_bytes, name_, end);
  require(entry(0) == 0, "{} is damaged: its first document begins with sequence {}, not 0", name_,
          entry(0));
  for (uint64_t k = 1; k < entries_; ++k)
    require(entry(k) >= entry(k - 1),
            "{} is damaged: its documents do not ascend at entry {}: {} is followed by {}", name_,
            k - 1, entry(k - 1), entry(k));
  require(std::cmp_equal(entry(entries_ - 1), sequences_),
          "{} is damaged: its documents end with sequence {}, but it has {}", name_,
          entry(entries_ - 1), sequences_);
}

std::string index_header(TokenType type, uint64_t sequences, uint64_t entries) {
  std::string bytes(kIndexMagic);
  put(bytes, kIndexVersion);
  int code = 0;
  for (const auto& [known, of] : kIndexCodes)
    if (of == type) code = known;
  SKEIN_CHECK(code > 0);
  put(bytes, narrow<uint8_t>(code));
  put(bytes, sequences);
  put(bytes, entries);
  return bytes;
}

bool is_shard(std::span<const std::byte> head) {
  if (head.size() < 2 * sizeof(int32_t)) return false;
  const auto magic = value_at<int32_t>(head, 0);
  for (const ShardKind& kind : kShardKinds)
    if (magic == kind.magic) return true;
  for (const auto& [other, what] : kOtherMagics)
    if (magic == other) return true;
  return false;
}

TokenShardHeader parse_shard_header(std::span<const std::byte> head, uint64_t file_bytes,
                                    const std::string& name) {
  SKEIN_CHECK(is_shard(head) && file_bytes >= head.size());
  const auto magic = value_at<int32_t>(head, 0), version = value_at<int32_t>(head, 4);
  for (const auto& [other, what] : kOtherMagics)
    require(magic != other, "{} is {} of llm.c (magic {}), not tokens", name, what, magic);
  const ShardKind& kind = magic == kShardKinds[0].magic ? kShardKinds[0] : kShardKinds[1];
  require(version == kind.version,
          "{} has version {} of llm.c's token files of magic {}; this build reads version {}", name,
          version, magic, kind.version);
  require(head.size() >= kShardHeaderBytes,
          "{} is truncated: it has {} bytes and its header alone takes {}", name, file_bytes,
          kShardHeaderBytes);
  const int64_t count = value_at<int32_t>(head, 8);
  require(count > 0, "{} is damaged: its header says {} tokens; 1 is the least", name, count);
  const uint64_t expected = kShardHeaderBytes + count * token_bytes(kind.type);
  require(file_bytes == expected,
          "{} has {} bytes, but a header and {} tokens of type {} take {}: was it cut short?", name,
          file_bytes, count, name_of(kind.type), expected);
  return {kind.type, count};
}

std::string shard_header(const TokenShardHeader& header) {
  SKEIN_CHECK(header.tokens <= kMostShardTokens);
  const ShardKind& kind = kShardKinds[header.type == TokenType::u32 ? 1 : 0];
  SKEIN_CHECK(kind.type == header.type);
  std::string bytes;
  put(bytes, kind.magic);
  put(bytes, kind.version);
  put(bytes, narrow<int32_t>(header.tokens));
  bytes.resize(kShardHeaderBytes, '\0');
  return bytes;
}

uint64_t parse_bare_tokens(uint64_t file_bytes, TokenType type, const std::string& name) {
  const uint64_t width = token_bytes(type);
  require(file_bytes > 0, "{} is empty (0 bytes)", name);
  require(file_bytes % width == 0,
          "{} has {} bytes, which is no whole number of {} tokens of {} bytes: was it cut short?",
          name, file_bytes, name_of(type), width);
  return file_bytes / width;
}

}  // namespace skein::formats
