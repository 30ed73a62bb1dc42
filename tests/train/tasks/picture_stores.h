// Small stores of pictures.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "skein/data/columns/records.h"
#include "skein/data/images/image_store.h"

namespace skein::train {

// A bright stroke in a noisy picture: down in class 0, across in class 1, both in class 2.
inline std::vector<uint8_t> picture(int64_t number, int64_t channels, int64_t side = 8) {
  std::mt19937 random(static_cast<uint32_t>(number));
  const int64_t pixels = side * side;
  std::vector<uint8_t> made(channels * pixels);
  for (uint8_t& value : made) value = static_cast<uint8_t>(random() % 60);
  const int64_t kind = number % 3, row = 1 + random() % (side - 2),
                column = 1 + random() % (side - 2);
  for (int64_t channel = 0; channel < channels; ++channel)
    for (int64_t i = 0; i < side; ++i) {
      if (kind != 1) made[channel * pixels + i * side + column] = 220;
      if (kind != 0) made[channel * pixels + row * side + i] = 220;
    }
  return made;
}

struct StoreForm {
  int64_t count = 96, channels = 1;
  std::vector<std::string> classes{"down", "across", "both"};
  bool labelled = true;
  int64_t side = 8;   // pixels
  int64_t wrong = 0;  // by so many the number of the class is off
};

inline std::string write_pictures(const std::string& path, const StoreForm& form = {}) {
  data::ColumnInfo images{
      .name = data::kImageColumn,
      .meaning = data::ImageMeaning{},
      .ragged = false,
      .type = {data::Hdf5Type::Kind::integer, 1, false},
      .row_shape = {static_cast<uint64_t>(form.channels), static_cast<uint64_t>(form.side),
                    static_cast<uint64_t>(form.side)}};
  std::vector<data::ColumnInfo> columns{images};
  if (form.labelled) columns.push_back(data::category_column(data::kLabelColumn, form.classes));
  data::RecordWriter writer(path, columns);
  for (int64_t i = 0; i < form.count; ++i) {
    writer.add_image(0, picture(i, form.channels, form.side));
    if (form.labelled)
      writer.add_category(1, static_cast<int32_t>((i + form.wrong) % std::ssize(form.classes)));
    writer.end_record();
  }
  writer.finish();
  return path;
}

}  // namespace skein::train
