// Headers of llm.c's token files.
#include <algorithm>

#include "skein/formats/indexed.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  const auto bytes = std::as_bytes(std::span(input.data(), input.size()));
  const auto head = bytes.first(std::min(bytes.size(), skein::kShardHeaderBytes));
  if (!skein::is_shard(head)) return;
  const skein::TokenShardHeader header = skein::parse_shard_header(head, bytes.size(), "fuzz.bin");
  if (skein::kShardHeaderBytes +
          header.tokens * static_cast<uint64_t>(skein::token_bytes(header.type)) !=
      bytes.size())
    std::abort();
}
