// Models of pictures learn their classes, from stores of them.
#pragma once

#include <memory>

#include "skein/data/images/augment.h"
#include "skein/data/images/image_samples.h"
#include "skein/train/config.h"
#include "skein/train/task.h"

namespace skein::train {

// Opens stores of pictures: "path" or "weight:path" each. A usage error for none, for stores of
// other sizes than the first, without labels, or with other classes than `classes` (where it is
// not empty), naming both.
data::ImageBlend open_images(const std::vector<std::string>& entries,
                             const std::vector<std::string>& classes);

// Makes the task for the model that run.model describes. Reads data.train and data.validation, and
// fills in what the data say of the model: the sizes of pictures, and its labels.
std::unique_ptr<Task> image_task(PretrainConfig& run, const data::AugmentConfig& augment);

}  // namespace skein::train
