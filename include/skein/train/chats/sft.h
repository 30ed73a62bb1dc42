// Instruction tuning: a pretrained decoder learns the answers of conversations.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "skein/data/samples/chat_samples.h"
#include "skein/train/chats/chat_data.h"
#include "skein/train/config.h"
#include "skein/train/task.h"

namespace skein::train {

struct SftTaskConfig {
  int64_t length = 0;  // tokens of a row; 0: model.context
  data::LongChats longer = data::LongChats::whole;
  bool pack = true;
  double epochs = 3;
};

struct SftConfig {
  PretrainConfig run;  // data.train and data.validation name files of conversations
  ChatDataConfig chat;
  SftTaskConfig task;
};

// Defaults, which differ from those of pretraining. What follows from the data is left open:
// train.steps 0 (by task.epochs), lr.warmup -1 (3% of the steps), validation.every -1 (once an
// epoch).
SftConfig sft_defaults();
void bind(Options& options, SftConfig& config);

// Binds the options that say how conversations become rows: sft.length, sft.longer and sft.pack.
void bind_rows(Options& options, SftTaskConfig& config);
// A usage error for rows longer than the context.
void check_rows(const SftTaskConfig& config, int64_t context);
// How rows are made of these chats; without packing their lengths are multiples of `multiple`.
// Usage errors as check_rows. Padding, order and seed are left open.
data::ChatSamplesConfig rows_of(const SftTaskConfig& config,
                                const std::vector<text::TemplatedChat>& chats, int64_t context,
                                int64_t multiple);
// The options of bind_rows with which the run was made whose checkpoint has these notes; none where
// they say nothing. A usage error naming `origin` for damaged notes.
std::map<std::string, std::string> stored_rows(const TaskNotes& notes, const std::string& origin);

// Makes the task for the model that config.run.model describes, its tokenizer and the notes of its
// checkpoint. Reads the data and fills in what was left open. Usage errors for a model that is no
// language model, and for data that does not fit. The notes of the task hold the template (see
// chat_template_in).
std::unique_ptr<Task> sft_task(SftConfig& config, std::shared_ptr<const text::Tokenizer> tokenizer,
                               const TaskNotes& notes);

}  // namespace skein::train
