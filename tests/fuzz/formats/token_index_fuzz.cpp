// .idx files of Megatron-LM, as bytes. The last byte scales the size of the file of tokens.
#include "skein/formats/indexed.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  if (input.empty()) return;
  const auto bytes = std::as_bytes(std::span(input.data(), input.size()));
  const skein::formats::TokenIndex index(bytes.first(bytes.size() - 1), "fuzz.idx");
  index.check(static_cast<uint64_t>(bytes.back()), "fuzz.bin");
  for (uint64_t k = 0; k < index.sequences(); ++k)
    if (index.length(k) <= 0 || index.offset(k) < 0) std::abort();
}
