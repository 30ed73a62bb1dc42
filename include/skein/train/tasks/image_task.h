// Models of pictures learn their classes, or hidden patches, from stores of them.
#pragma once

#include <memory>

#include "skein/data/images/augment.h"
#include "skein/data/images/image_samples.h"
#include "skein/train/config.h"
#include "skein/train/task.h"
#include "skein/train/tasks/finetune.h"
#include "skein/train/trained_model.h"

namespace skein::train {

// Opens stores of pictures: "path" or "weight:path" each. A usage error for stores of other sizes
// than the first.
data::ImageBlend open_images(const std::vector<std::string>& entries);
// Usage errors for stores without labels, or with other classes than these, naming both and whose
// they are.
void check_classes(const data::ImageBlend& blend, const std::vector<std::string>& classes,
                   const std::string& whose);

// Of samples that models are judged by: all alike, so that hidden patches are the same ones.
inline constexpr uint64_t kJudgedSeed = 0;

// Makes the task for the model that run.model describes. Reads data.train and data.validation, and
// fills in what the data say of the model: the sizes of pictures, and its labels. One that says
// hidden patches needs no labels; each evaluation draws some pictures as it rebuilds them,
// rebuilt.png in the run's folder.
std::unique_ptr<Task> image_task(PretrainConfig& run, const data::AugmentConfig& augment);
// The same for a model to begin from or to go on with, which config.run.model describes: its head
// stays where the classes are the same, and begins anew where they are others. Pictures are read in
// the units that it knows. A usage error for pictures of other sizes than it reads.
std::unique_ptr<Task> finetuned_image_task(FinetuneConfig& config, const TrainedModel& source);
// Usage errors for options of augmentation, for a model that reads texts.
void refuse_augmentation(const Options& options, const Architecture& architecture);

}  // namespace skein::train
