#include <filesystem>

#include "skein/core/error.h"
#include "skein/data/records/examples.h"
#include "skein/data/records/labels.h"

#include "image_sources.h"

namespace skein::data {

std::unique_ptr<ImageFiles::Source> table_images(const ImageFilesConfig& config,
                                                 std::vector<std::string>& classes) {
  const ExamplesConfig table{.files = config.inputs,
                             .text = config.path_column,
                             .label = config.labelled ? config.label_column : "",
                             .header = config.header,
                             .format_option = "",
                             .header_option = "images.header",
                             .called = "path"};
  const std::vector<LabelledExample> rows = read_examples(table);
  std::vector<int32_t> labels(rows.size(), -1);
  if (config.labelled) {
    const LabelSet known = classes.empty() ? labels_of(rows) : LabelSet(classes);
    labels = label_ids(known, rows, table);
    classes = known.names();
  }
  auto images = std::make_unique<ListedImages>();
  for (size_t i = 0; i < rows.size(); ++i) {
    require(!rows[i].text.empty(), "{}: the path is empty", where_of(rows[i], table));
    const std::filesystem::path beside =
        std::filesystem::path(config.inputs[rows[i].file]).parent_path();
    images->add((beside / rows[i].text).native(), labels[i]);
  }
  return images;
}

}  // namespace skein::data
