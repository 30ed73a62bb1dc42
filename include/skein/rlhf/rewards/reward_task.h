// Training of reward models: a pretrained model learns which answers people prefer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/data/records/preferences.h"
#include "skein/ops/preference.h"
#include "skein/rlhf/rewards/preference_files.h"
#include "skein/rlhf/rewards/preference_report.h"
#include "skein/rlhf/rewards/reward_form.h"
#include "skein/train/config.h"
#include "skein/train/task.h"

namespace skein::rlhf::rewards {

struct RewardTaskConfig : PreferenceTaskConfig {
  ops::PreferenceLossConfig loss;
  // files of prompts with good answers; empty: the better answers of the training data
  std::vector<std::string> reference{};
  int64_t reference_samples = 256;  // of them, evenly spread; 0: scores are told as they are
};

struct RewardConfig {
  train::PretrainConfig run;  // data.train and data.validation name files of preferences
  RewardTaskConfig task;
};

// Other defaults than pretraining has. Left open until the data is read: train.steps 0 (by
// reward.epochs), lr.warmup -1 (3% of the steps, at least 1), validation.every -1 (four times an
// epoch).
RewardConfig reward_defaults();
void bind(Options& options, RewardConfig& config);

// What files hold, formed for a model, with what is told of them in the log. A usage error as
// read_preferences, with the file and line of a record that the chat template has no form for
// beyond files.bad_records, and where nothing is short enough.
std::vector<data::PreferenceSample> read_formed(const RewardForm& form,
                                                data::PreferencesConfig files,
                                                LongPrompts long_prompts, const char* what);

class RewardTask : public train::Task {
 public:
  // Reads the data, gives config.run.model the head of one number, whose start values are N(0, 1 /
  // sqrt(d_model + 1)) (Stiennon and others, "Learning to summarize from human feedback", 2020),
  // and fills in what was left open. notes: of the checkpoint it begins from. Usage errors for data
  // that does not fit.
  RewardTask(RewardConfig& config, std::shared_ptr<const text::Tokenizer> tokenizer,
             const train::TaskNotes& notes);

  const data::PreferenceSamples& samples() const override { return *training_; }
  int64_t length() const override { return training_->shape().length; }
  text::StoredTokenizer tokenizer() const override { return tokenizer_; }
  std::unique_ptr<Objective> objective(const LocalModel& model) const override;
  std::vector<data::DataFile> data_files() const override { return files_; }
  bool validates() const override { return validation_ != nullptr; }
  train::Scores validate(const train::EvaluatedModel& model) const override;
  train::TaskNotes notes() const override { return to_notes(head_, training_->checksum()); }
  // With the mean and deviation that the model gives the reference answers.
  train::TaskNotes measured_notes(const train::EvaluatedModel& model) const override;
  void check_notes(const train::TaskNotes& notes, const std::string& origin) const override;
  bool adapts() const override { return true; }
  bool begins_anew(const Part& part, bool in_checkpoint,
                   const train::TaskNotes& notes) const override;

  // Of the latest validation; without prompts before there was one.
  const PreferenceReport& report() const { return report_; }

 private:
  void read(const RewardConfig& config, const train::TaskNotes& notes);
  void complete(train::PretrainConfig& config, double epochs) const;

  text::StoredTokenizer tokenizer_;
  RewardHead head_;
  std::unique_ptr<data::PreferenceSamples> training_, validation_, reference_;
  std::vector<data::DataFile> files_;
  mutable PreferenceReport report_;
};

}  // namespace skein::rlhf::rewards
