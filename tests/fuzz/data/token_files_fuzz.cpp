// Whole stores of other programs: notes, index and tokens, divided by lines of "----". An empty
// index leaves a file of nanoGPT or llm.c.
#include <vector>

#include "skein/data/stores/store.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  static const skein::test::FuzzFile notes("x.meta.json"), index("x.idx"), tokens("x.bin");
  const auto put = [&input](const skein::test::FuzzFile& file) {
    const std::string_view part = skein::test::take_part(input);
    part.empty() ? file.remove() : file.write(part);
  };
  put(notes);
  put(index);
  tokens.write(input);
  const skein::data::TokenStore store(tokens.path());
  uint64_t last = 0;
  for (const uint64_t start : store.documents()) {
    if (start < last) std::abort();
    last = start;
  }
  if (last != static_cast<uint64_t>(store.info().tokens)) std::abort();
  store.sentences();
  std::vector<int32_t> ids(static_cast<size_t>(store.info().tokens));
  store.read(0, ids);
}
