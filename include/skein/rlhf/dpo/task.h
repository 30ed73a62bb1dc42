// Tuning a policy by preferences alone: the model it begins from is the reference.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/checkpoint/checkpoint.h"
#include "skein/rlhf/dpo/kto.h"
#include "skein/rlhf/dpo/objective.h"
#include "skein/rlhf/rewards/preference_files.h"
#include "skein/train/chats/chat_data.h"
#include "skein/train/config.h"
#include "skein/train/task.h"

namespace skein::rlhf::dpo {

struct DpoTaskConfig : rewards::PreferenceTaskConfig {
  DpoRules rules;
};

struct DpoTuneConfig {
  // data.train and data.validation name files of preferences; checkpoint.load the policy
  train::PretrainConfig run;
  DpoTaskConfig task;
};

// Other defaults than pretraining has. Left open until the data is read: train.steps 0 (by
// dpo.epochs), lr.warmup -1 (10% of the steps, at least 1), validation.every -1 (four times an
// epoch).
DpoTuneConfig dpo_defaults();
void bind(Options& options, DpoTuneConfig& config);

// All pairs of answers to one prompt of which one is better, encoded, and answers with a label.
struct PairData : rewards::FormedCounts {
  AnswerPairs pairs;
  int64_t without = 0;  // records with nothing of that kind
};
// files: what the records were read of, with what is left of bad_records. A usage error with the
// file and line of a record that the chat template has no form for, beyond them. labelled: answers
// with a label alone count too, else they are records without a pair.
PairData paired(const text::ChatTemplate& form, const std::vector<data::PreferenceRecord>& records,
                const data::PreferencesConfig& files, int64_t length,
                rewards::LongPrompts long_prompts, bool labelled = false);

// Collective. Gives the samples what a policy with these weights holds of them: the same bits at
// every data- and pipeline-parallel layout, and the same that training sees. The policy is gone
// afterwards.
void ask_reference(const train::PretrainConfig& config, const checkpoint::CheckpointInfo& weights,
                   Group& world, const std::vector<DpoSamples*>& samples);

struct DpoData {
  std::unique_ptr<DpoSamples> samples;
  std::unique_ptr<DpoSamples> others;  // of kto: its mismatched answers, by the same numbers
};

class DpoTask : public train::Task {
 public:
  // Reads the data and fills in what config left open. notes: of the checkpoint the model is of.
  // Usage errors for data that does not fit, for a model that does not continue text, and for what
  // would make the policy differ from the reference at the beginning.
  DpoTask(DpoTuneConfig& config, std::shared_ptr<const text::Tokenizer> tokenizer,
          const train::TaskNotes& notes);
  // Collective; before training, where the loss has a reference. A usage error for a reference with
  // another tokenizer.
  void ask_reference(const train::PretrainConfig& config, const checkpoint::CheckpointInfo& weights,
                     Group& world);

  const data::SampleSource& samples() const override { return *training_.samples; }
  int64_t length() const override { return training_.samples->length(); }
  text::StoredTokenizer tokenizer() const override { return tokenizer_; }
  std::unique_ptr<Objective> objective(const LocalModel& model) const override;
  void before_step(const train::EvaluatedModel& model, int64_t first, int64_t count) const override;
  std::vector<train::Term> terms() const override { return DpoObjective::terms(rules_); }
  std::vector<data::DataFile> data_files() const override { return files_; }
  bool validates() const override { return validation_.samples != nullptr; }
  train::Scores validate(const train::EvaluatedModel& model) const override;
  train::TaskNotes notes() const override;
  void check_notes(const train::TaskNotes& notes, const std::string& origin) const override;
  bool adapts() const override { return true; }

 private:
  void read(const DpoTuneConfig& config, const train::TaskNotes& notes);
  DpoData source(const DpoTuneConfig& config, const text::ChatTemplate& form,
                 const std::vector<data::PreferenceRecord>& records,
                 const data::PreferencesConfig& files, const char* what) const;
  void check_reference(const train::TaskNotes& notes, const std::string& origin) const;
  bool is_kto() const { return rules_.loss.kind == DpoKind::kto; }

  text::StoredTokenizer tokenizer_;
  DpoRules rules_;
  text::StoredTemplate template_;
  train::InstructionNotes instructions_;
  std::string reference_path_;
  uint32_t reference_sum_ = 0;
  int64_t length_ = 0;
  DpoData training_, validation_;
  std::vector<data::DataFile> files_;
  mutable KtoPoint point_;  // of the step or the validation that is under way
};

}  // namespace skein::rlhf::dpo
