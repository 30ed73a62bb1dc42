// llm.c's model files.
#include <vector>

#include "skein/convert/weights.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  static const skein::test::FuzzFile file("model.bin");
  file.write(input);
  if (!skein::convert::is_llmc_file(file.path())) return;
  const skein::convert::WeightFiles files = skein::convert::open_llmc(file.path());
  for (size_t i = 0; i < files.weights.size(); ++i) {
    std::vector<std::byte> last(1);
    int64_t size = 1;
    for (const int64_t n : files.weights[i].shape) size *= n;
    if (size > 0) files.read(i, size - 1, last);
  }
}
