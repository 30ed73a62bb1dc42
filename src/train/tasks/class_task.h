// What tasks have in common that learn labels: a head for them, its loss, and samples of data.train
// and data.validation. Internal to tasks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/train/task.h"
#include "skein/train/tasks/label_head.h"
#include "skein/train/tasks/smoothed_loss.h"

namespace skein::train {

template <class Samples>
class ClassTask : public Task {
 public:
  const Samples& samples() const override { return *training_; }
  text::StoredTokenizer tokenizer() const override { return {}; }
  std::unique_ptr<Objective> objective(const LocalModel& model) const override {
    return class_objective(model, loss_);
  }
  std::vector<Term> terms() const override { return class_terms(loss_); }
  std::vector<data::DataFile> data_files() const override { return files_; }
  bool validates() const override { return validation_ != nullptr; }
  int64_t held_out_tokens() const override {
    return validation_ ? validation_->samples_per_epoch() * length() : 0;
  }
  TaskNotes notes() const override { return to_notes(head_, checksum()); }
  bool adapts() const override { return adapts_; }
  bool begins_anew(const Part& part, bool in_checkpoint, const TaskNotes& notes) const override {
    if (part.kind != Part::label_head) return false;
    const auto before = label_head(notes, "checkpoint.load");
    return !in_checkpoint || !before || !says_the_same(*before);
  }

 protected:
  ClassTask(const LossConfig& loss, LabelHead head, bool adapts)
      : loss_(loss), head_(std::move(head)), adapts_(adapts) {}
  // Of what training samples are made of.
  virtual uint32_t checksum() const = 0;
  // Whether the head of the model to begin from is kept.
  virtual bool says_the_same(const LabelHead& before) const {
    return before.labels == head_.labels;
  }

  LossConfig loss_;
  LabelHead head_;
  bool adapts_;
  std::unique_ptr<Samples> training_, validation_;
  std::vector<data::DataFile> files_;
};

}  // namespace skein::train
