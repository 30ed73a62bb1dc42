// Files of preferences as runs are told of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/data/records/preferences.h"
#include "skein/text/template.h"
#include "skein/train/task_notes.h"

namespace skein {

// What becomes of a prompt with answers that are too long: the prompt loses its beginning, or all
// of it is left out.
enum class LongPrompts { cut, drop };

// Binds data.layout, data.diverging and data.bad_records.
void bind_preference_files(Options& options, PreferenceLayout& layout, Diverging& diverging,
                           int64_t& bad_records);

// The chat template `spec`; "": the one in the notes of a checkpoint, else plain for dialogues and
// none for single texts. Usage errors as ChatTemplate.
StoredTemplate preference_template(const std::string& spec, const Tokenizer& tokenizer,
                                   const TaskNotes& notes,
                                   const std::vector<PreferenceRecord>& records);

// "pairs.jsonl:12", for messages about a record.
std::string place_of(const PreferenceRecord& record, const PreferencesConfig& files);

// files, with what reading has left of data.bad_records.
PreferencesConfig left_of(PreferencesConfig files, const Preferences& read);
// Whether `use` takes the record; its usage errors are those of a record that cannot be used: they
// count in `bad`, and beyond files.bad_records they are errors with the record's place.
bool usable(const PreferenceRecord& record, const PreferencesConfig& files, int64_t& bad,
            const std::function<void()>& use);

// Tells in the log what was left out.
void tell(const Preferences& data, const char* what, Diverging diverging);

}  // namespace skein
