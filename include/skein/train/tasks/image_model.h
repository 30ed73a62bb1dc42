// A trained model of pictures at work.
#pragma once

#include "skein/data/images/picture_form.h"
#include "skein/train/tasks/label_scores.h"
#include "skein/train/trained_model.h"

namespace skein::train {

// How the model reads pictures, in the units of its head's notes. A usage error where these are
// damaged, or not of this model.
data::PictureForm form_in(const TrainedModel& source, const LabelHead& head);

class ImageModel {
 public:
  // Collective. batch: pictures a forward pass. objective: as LoadedModel has it; one that is given
  // reads last hidden states of pictures that are seen whole, none the scores of the model's
  // classes or what it says of hidden patches. A usage error for a checkpoint whose notes do not
  // say how pictures are read.
  ImageModel(const TrainedModel& source, const ParallelConfig& parallel, DType dtype, int64_t batch,
             Group& world, const MakeObjective& objective = {});

  const LabelHead& head() const { return head_; }
  const data::PictureForm& form() const { return form_; }
  EvaluatedModel evaluated() { return model_.evaluated(batch_); }
  // Collective. Of samples [0, count), [count,1,outputs].
  LabelAnswers answers(const data::SampleSource& samples, int64_t count, int64_t outputs);

 private:
  LabelHead head_;
  data::PictureForm form_;
  LoadedModel model_;
  int64_t batch_;
};

}  // namespace skein::train
