// Token files of other programs, as bytes: nothing here opens a file or reads tokens.
//
//   Megatron-LM   PREFIX.idx: "MMIDIDX\0\0", u64 version 1, u8 code of the token type, u64
//                 sequences S, u64 entries M, then i32 [S] lengths in tokens, i64 [S] byte offsets
//                 into PREFIX.bin, i64 [M] documents: the sequence each begins with, and S.
//                 PREFIX.bin: the tokens. Code: 1 u8, 2 i8, 3 i16, 4 i32, 5 i64, 8 u16 (6 and 7
//                 are floats).
//   llm.c         256 i32: magic, version, number of tokens, zeros; then the tokens. Magic 20240520
//                 with version 1: u16; magic 20240801 with version 7: u32.
//   nanoGPT       u16 tokens, nothing else.
//
// All numbers are little-endian. Every fault is a usage error that names the file and both values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace skein::formats {

enum class TokenType { u8, i8, i16, u16, i32, u32, i64 };

int token_bytes(TokenType type);
const char* name_of(TokenType type);

constexpr size_t kIndexHeaderBytes = 34;
constexpr size_t kShardHeaderBytes = 1024;
constexpr int64_t kMostShardTokens = INT32_MAX;

// The contents of a .idx file. The bytes are referenced, not copied.
class TokenIndex {
 public:
  // Checks the header and that the sizes add up; O(1). `name` is the file's.
  TokenIndex(std::span<const std::byte> file, std::string name);
  // That lengths are above 0, each sequence begins where the one before it ends, the last ends with
  // the file of tokens (`bin`, of bin_bytes) and documents ascend from 0 to the number of
  // sequences; O(sequences). Repeated entries stand for documents without tokens.
  void check(uint64_t bin_bytes, const std::string& bin) const;

  TokenType type() const { return type_; }
  uint64_t sequences() const { return sequences_; }
  uint64_t entries() const { return entries_; }
  int32_t length(uint64_t sequence) const;
  int64_t offset(uint64_t sequence) const;  // in bytes
  int64_t entry(uint64_t k) const;          // a sequence

 private:
  template <class T>
  T at(size_t base, uint64_t k) const;

  std::span<const std::byte> file_;
  std::string name_;
  TokenType type_ = TokenType::u16;
  uint64_t sequences_ = 0, entries_ = 0;
  size_t offsets_at_ = 0, entries_at_ = 0;
};

// The header of a .idx file. Only types with a code of their own.
std::string index_header(TokenType type, uint64_t sequences, uint64_t entries);

struct TokenShardHeader {
  TokenType type = TokenType::u16;
  int64_t tokens = 0;
};

// Whether a file that begins with `head` is of llm.c's making, also one that holds no tokens to
// train on.
bool is_shard(std::span<const std::byte> head);
// head: the first kShardHeaderBytes of the file, or all of it.
TokenShardHeader parse_shard_header(std::span<const std::byte> head, uint64_t file_bytes,
                                    const std::string& name);
// type: u16 or u32. At most kMostShardTokens.
std::string shard_header(const TokenShardHeader& header);

// Tokens in a file of `type` and nothing else.
uint64_t parse_bare_tokens(uint64_t file_bytes, TokenType type, const std::string& name);

}  // namespace skein::formats
