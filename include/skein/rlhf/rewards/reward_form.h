// Answers to prompts as a reward model is fed them.
//
// Decoders: the conversation as its chat template has it, up to the token that ends the answer; the
// score is read at that token. It is there in training and in scoring alike, also where an answer
// was cut off. Encoders: prompt and answer as a pair (data/samples/label_form.h), the score is read
// at the first token.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "skein/data/samples/label_form.h"
#include "skein/data/samples/preference_samples.h"
#include "skein/models/config.h"
#include "skein/ops/preference.h"
#include "skein/text/template.h"
#include "skein/train/task_notes.h"

namespace skein::rlhf::rewards {

// What a reward model is beside its weights, kept in the checkpoint's notes.
struct RewardHead {
  text::StoredTemplate chat_template = {};  // none for encoders
  int64_t length = 0;                       // tokens of the longest sequence
  // of the raw scores of reference answers; a score is told as (raw - mean) / deviation
  double mean = 0, deviation = 1;
  ops::PreferenceLossConfig loss = {};  // that it learnt by
  // Which records counted, by the options of bind_reading; empty in checkpoints of before.
  std::map<std::string, std::string> reading = {};
};

// checksum: of the training samples.
train::TaskNotes to_notes(const RewardHead& head, uint32_t checksum);
// Null where the notes are not of a reward model. A usage error naming `origin` for damaged ones.
std::unique_ptr<RewardHead> reward_head(const train::TaskNotes& notes, const std::string& origin);
uint32_t reward_checksum(const train::TaskNotes& notes);

class RewardForm {
 public:
  // tokenizer outlives the form. Usage errors as ChatTemplate and LabelForm.
  RewardForm(const text::Tokenizer& tokenizer, const ModelConfig& model, const RewardHead& head);

  // One sequence an answer. What is too long loses the beginning of the prompt (encoders: as
  // LabelForm::pair), the same of it before each answer, and is `cut`; empty where an answer leaves
  // no room for any of the prompt.
  std::vector<data::FormedSample> sequences(std::span<const text::Message> prompt,
                                            std::span<const std::string> answers) const;
  // Tokens of prompt and answer, with the answer's end where it has one; what is too long loses its
  // beginning.
  data::FormedSample sequence(std::vector<int32_t> tokens) const;

  // Samples as batches, whose rows are of a multiple of `multiple` tokens; see PreferenceSamples.
  std::unique_ptr<data::PreferenceSamples> source(std::vector<data::PreferenceSample> samples,
                                                  int64_t multiple, uint64_t seed,
                                                  bool shuffle) const;

  // Whether a token ends an answer, so that an empty one is one, too. So it is by every chat
  // template; of encoders see LabelForm::closes_pairs.
  bool ends_answers() const { return !pairs_ || pairs_->closes_pairs(); }

 private:
  const text::Tokenizer& tokenizer_;
  int64_t length_;
  bool types_;
  std::unique_ptr<text::ChatTemplate> template_;  // decoders
  std::unique_ptr<data::LabelForm> pairs_;        // encoders
};

}  // namespace skein::rlhf::rewards
