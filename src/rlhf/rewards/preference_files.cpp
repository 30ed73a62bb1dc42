#include "skein/rlhf/rewards/preference_files.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/data/files/left_out.h"
#include "skein/data/files/line_reader.h"
#include "skein/train/tasks/chat_data.h"

namespace skein {

void bind_preference_files(Options& options, PreferenceLayout& layout, Diverging& diverging,
                           int64_t& bad_records) {
  options.add_choice("data.layout", layout,
                     {{"auto", PreferenceLayout::automatic},
                      {"pairs", PreferenceLayout::pairs},
                      {"dialogues", PreferenceLayout::dialogues},
                      {"summaries", PreferenceLayout::summaries},
                      {"best_of", PreferenceLayout::best_of},
                      {"shp", PreferenceLayout::shp},
                      {"ranked", PreferenceLayout::ranked},
                      {"scored", PreferenceLayout::scored},
                      {"labelled", PreferenceLayout::labelled}},
                     "of the files; auto: of each file by its first record");
  options.add_choice("data.diverging", diverging,
                     {{"drop", Diverging::drop}, {"keep", Diverging::keep}},
                     "dialogues that differ before their last turns: left out, or their first "
                     "answers that differ are compared");
  options.add("data.bad_records", bad_records,
              "records that cannot be used and are left out, before one is an error");
}

StoredTemplate preference_template(const std::string& spec, const Tokenizer& tokenizer,
                                   const TaskNotes& notes,
                                   const std::vector<PreferenceRecord>& records) {
  if (!spec.empty()) return ChatTemplate(spec, tokenizer).stored();
  if (StoredTemplate stored = chat_template_in(notes); !stored.empty()) return stored;
  const bool dialogues =
      std::any_of(records.begin(), records.end(),
                  [](const PreferenceRecord& record) { return record.dialogue; });
  return ChatTemplate(dialogues ? "plain" : "none", tokenizer).stored();
}

std::string place_of(const PreferenceRecord& record, const PreferencesConfig& files) {
  return fmt::format("{}:{}", files.files[record.file], record.line);
}

PreferencesConfig left_of(PreferencesConfig files, const Preferences& read) {
  files.bad_records -= read.bad;
  return files;
}

bool usable(const PreferenceRecord& record, const PreferencesConfig& files, int64_t& bad,
            const std::function<void()>& use) {
  try {
    use();
    return true;
  } catch (const Error& error) {
    if (error.code() != ExitCode::usage) throw;
    const std::string told = fmt::format("{}: {}", place_of(record, files), error.what());
    require(++bad <= files.bad_records, "{}; data.bad_records=N leaves out up to N such records",
            told);
    tell_left_out(bad, told);
    return false;
  }
}

namespace {

// Or white space alone.
int64_t empty_answers(const Preferences& data) {
  int64_t count = 0;
  for (const PreferenceRecord& record : data.records)
    count += std::count_if(record.answers.begin(), record.answers.end(), blank);
  return count;
}

}  // namespace

void tell(const Preferences& data, const char* what, Diverging diverging) {
  if (data.diverging > 0)
    log::info("{} {} dialogues differ before their last turns and are {}", data.diverging, what,
              diverging == Diverging::drop
                  ? "left out; data.diverging=keep compares their first answers that differ"
                  : "compared where their first answers differ, if they differ in one");
  if (const int64_t count = empty_answers(data); count > 0)
    log::info(
        "{} answers that are empty or white space: {}; how they end is what is judged of them",
        what, count);
  if (data.tied > 0)
    log::info("{} {} records have no answer that is better than another and are left out",
              data.tied, what);
  if (data.bad > 0) log::info("{} {} records cannot be used and are left out", data.bad, what);
}

}  // namespace skein
