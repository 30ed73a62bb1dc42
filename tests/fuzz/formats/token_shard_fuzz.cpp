// Headers of llm.c's token files.
#include <algorithm>

#include "skein/formats/indexed.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  const auto bytes = std::as_bytes(std::span(input.data(), input.size()));
  const auto head = bytes.first(std::min(bytes.size(), skein::formats::kShardHeaderBytes));
  if (!skein::formats::is_shard(head)) return;
  const skein::formats::TokenShardHeader header =
      skein::formats::parse_shard_header(head, bytes.size(), "fuzz.bin");
  if (skein::formats::kShardHeaderBytes +
          header.tokens * static_cast<uint64_t>(skein::formats::token_bytes(header.type)) !=
      bytes.size())
    std::abort();
}
