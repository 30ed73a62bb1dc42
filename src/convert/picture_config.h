// What config.json and preprocessor_config.json say of a classifier of pictures.
#pragma once

#include "skein/train/tasks/label_head.h"

#include "foreign_config.h"

namespace skein::convert {

// Names of the classes by "id2label": LABEL_0 and so on where it does not name all of them; one
// that stands for several, as in lists of ImageNet's classes, with the id behind it: "crane (517)".
std::vector<std::string> picture_labels(const ForeignConfig& config, int64_t labels);

// The notes of its head. None, with a warning, where no text of preprocessor_config.json says the
// units of pixels. Usage errors for units that are not known here.
train::TaskNotes picture_notes(const ForeignConfig& config, const ModelConfig& model,
                               const std::string& preprocessor);

}  // namespace skein::convert
