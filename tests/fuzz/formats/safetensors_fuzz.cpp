// Single files of safetensors: what the header promises must be readable.
#include <vector>

#include "skein/formats/safetensors.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  static const skein::test::FuzzFile file("x.safetensors");
  file.write(input);
  const skein::formats::SafetensorsFile tensors(file.path());
  for (const skein::formats::SafeTensor& tensor : tensors.tensors()) {
    if (tensor.bytes() < 0 || static_cast<size_t>(tensor.bytes()) > input.size()) std::abort();
    std::vector<std::byte> bytes(static_cast<size_t>(tensor.bytes()));
    tensors.read(tensor, 0, bytes);
  }
}
