// Files of pictures: PNG, JPEG and PNM.
#include <utility>

#include "skein/data/images/image.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  const std::span<const char> bytes(input);
  const skein::data::Image image =
      skein::data::decode_image(std::as_bytes(bytes), "x", skein::data::Colour{1, 2, 3});
  if (std::cmp_not_equal(image.values.size(), image.channels * image.height * image.width) ||
      image.values.empty())
    std::abort();
}
