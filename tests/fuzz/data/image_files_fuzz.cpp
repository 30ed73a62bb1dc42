// Files of many images: the first byte says which kind; IDX files have their labels behind a line
// "----".
#include "skein/data/images/image_files.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  if (input.empty()) return;
  static const skein::test::FuzzFile images("x.bin"), labels("labels.bin");
  constexpr skein::data::ImageLayout kLayouts[] = {skein::data::ImageLayout::idx,
                                                   skein::data::ImageLayout::cifar10,
                                                   skein::data::ImageLayout::cifar100};
  skein::data::ImageFilesConfig config{.inputs = {images.path()},
                                       .layout = kLayouts[static_cast<uint8_t>(input[0]) % 3]};
  input.remove_prefix(1);
  if (config.layout == skein::data::ImageLayout::idx) {
    labels.write(skein::test::take_part(input));
    config.labels = {labels.path()};
  }
  images.write(input);
  skein::data::ImageFiles files(config);
  for (skein::data::StoredImage one; files.next(one);)
    if (one.label < 0 || one.label >= std::ssize(files.classes())) std::abort();
}
