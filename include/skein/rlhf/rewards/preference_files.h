// Files of preferences as runs are told of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/data/records/preferences.h"
#include "skein/text/template.h"
#include "skein/train/task_notes.h"

namespace skein::rlhf::rewards {

// What becomes of a prompt with answers that are too long: the prompt loses its beginning, or all
// of it is left out.
enum class LongPrompts { cut, drop };

// What tasks that learn from preferences are told of them.
struct PreferenceTaskConfig {
  std::string chat_template;  // as preference_template
  data::PreferenceLayout layout = data::PreferenceLayout::automatic;
  data::DivergingDialogues diverging = data::DivergingDialogues::drop;
  LongPrompts long_prompts = LongPrompts::cut;
  int64_t bad_records = 0;
  int64_t length = 0;  // tokens of the longest prompt with an answer; 0: model.context
  double epochs = 1;
};
// Binds data.layout, data.diverging, data.bad_records, chat.template, SECTION.length and
// SECTION.long_prompts.
void bind(Options& options, PreferenceTaskConfig& config, const std::string& section);
// Binds those of them that say which records of files count: data.layout, data.diverging and
// SECTION.long_prompts.
void bind_reading(Options& options, PreferenceTaskConfig& config, const std::string& section);
// Tokens of the longest prompt with an answer. A usage error for more than the context.
int64_t sequence_length(const PreferenceTaskConfig& config, const std::string& section,
                        int64_t context);

data::PreferencesConfig files_of(const PreferenceTaskConfig& config,
                                 const std::vector<std::string>& files);
// What the files hold, with what is left out told in the log; files.bad_records loses as many as
// reading has left out.
data::Preferences read_told(data::PreferencesConfig& files, const char* what);

// The chat template `spec`; "": the one in the notes of a checkpoint, else plain for dialogues and
// none for single texts. Usage errors as ChatTemplate.
text::StoredTemplate preference_template(const std::string& spec, const text::Tokenizer& tokenizer,
                                         const train::TaskNotes& notes,
                                         const std::vector<data::PreferenceRecord>& records);

// Whether `use` takes the record; its usage errors are those of a record that cannot be used: they
// count in `bad`, and beyond files.bad_records they are errors with the record's file and line.
bool usable(const data::PreferenceRecord& record, const data::PreferencesConfig& files,
            int64_t& bad, const std::function<void()>& use);

// Prompts with their answers that are not learnt from as they are.
struct FormedCounts {
  int64_t cut = 0, left_out = 0;  // for their length
  int64_t bad = 0;                // records that the chat template has no form for
};
// Tells in the log of them. all: prompts.
void tell(const FormedCounts& counts, size_t all, const char* what);

}  // namespace skein::rlhf::rewards
