// Skein's own token stores.
#include "skein/data/store.h"

#include <vector>

#include "fuzz.h"

void fuzz(std::string_view input) {
  static const skein::test::FuzzFile file("x.h5");
  file.write(input);
  const skein::TokenStore store(file.path(), true);
  std::vector<int32_t> ids(static_cast<size_t>(store.info().tokens));
  store.read(0, ids);
}
