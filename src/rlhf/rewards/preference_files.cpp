#include "skein/rlhf/rewards/preference_files.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/data/files/left_out.h"
#include "skein/data/files/line_reader.h"
#include "skein/train/chats/chat_data.h"

namespace skein::rlhf::rewards {

void bind_reading(Options& options, PreferenceTaskConfig& c, const std::string& section) {
  options.add_choice("data.layout", c.layout,
                     {{"auto", data::PreferenceLayout::automatic},
                      {"pairs", data::PreferenceLayout::pairs},
                      {"dialogues", data::PreferenceLayout::dialogues},
                      {"summaries", data::PreferenceLayout::summaries},
                      {"best_of", data::PreferenceLayout::best_of},
                      {"shp", data::PreferenceLayout::shp},
                      {"ranked", data::PreferenceLayout::ranked},
                      {"scored", data::PreferenceLayout::scored},
                      {"labelled", data::PreferenceLayout::labelled}},
                     "of files of preferences; auto: of each file by its first record");
  options.add_choice(
      "data.diverging", c.diverging,
      {{"drop", data::DivergingDialogues::drop}, {"keep", data::DivergingDialogues::keep}},
      "dialogues that differ before their last turns: left out, or their first "
      "answers that differ are compared");
  options.add_choice(section + ".long_prompts", c.long_prompts,
                     {{"cut", LongPrompts::cut}, {"drop", LongPrompts::drop}},
                     "prompts that are too long with their answers lose their beginning, or are "
                     "left out");
}

void bind(Options& options, PreferenceTaskConfig& c, const std::string& section) {
  bind_reading(options, c, section);
  options.add("data.bad_records", c.bad_records,
              "records that cannot be used and are left out, before one is an error");
  options.add("chat.template", c.chat_template,
              "chat template: none, plain, chatml, llama2, llama3 or a JSON file; empty: the "
              "checkpoint's, else plain for dialogues and none for single texts");
  options.add(section + ".length", c.length, "longest prompt with an answer; 0: model.context",
              "tokens");
}

int64_t sequence_length(const PreferenceTaskConfig& c, const std::string& section,
                        int64_t context) {
  require(c.length >= 0 && c.length <= context,
          "{}.length={} must be from 1 to model.context={}, the longest that the model can see",
          section, c.length, context);
  return c.length > 0 ? c.length : context;
}

data::PreferencesConfig files_of(const PreferenceTaskConfig& c,
                                 const std::vector<std::string>& files) {
  return {
      .files = files, .layout = c.layout, .diverging = c.diverging, .bad_records = c.bad_records};
}

text::StoredTemplate preference_template(const std::string& spec, const text::Tokenizer& tokenizer,
                                         const train::TaskNotes& notes,
                                         const std::vector<data::PreferenceRecord>& records) {
  if (!spec.empty()) return text::ChatTemplate(spec, tokenizer).stored();
  if (text::StoredTemplate stored = chat_template_in(notes); !stored.empty()) return stored;
  const bool dialogues =
      std::any_of(records.begin(), records.end(),
                  [](const data::PreferenceRecord& record) { return record.dialogue; });
  return text::ChatTemplate(dialogues ? "plain" : "none", tokenizer).stored();
}

bool usable(const data::PreferenceRecord& record, const data::PreferencesConfig& files,
            int64_t& bad, const std::function<void()>& use) {
  const std::string where = fmt::format("{}:{}", files.files[record.file], record.line);
  return data::use_or_leave_out(files.bad_records, bad, [&] { with_origin(where, use); }).empty();
}

namespace {

// Or white space alone.
int64_t empty_answers(const data::Preferences& data) {
  int64_t count = 0;
  for (const data::PreferenceRecord& record : data.records)
    count += std::count_if(record.answers.begin(), record.answers.end(), data::blank);
  return count;
}

void tell(const data::Preferences& data, const char* what, data::DivergingDialogues diverging) {
  if (data.diverging > 0)
    log::info("{} {} dialogues differ before their last turns and are {}", data.diverging, what,
              diverging == data::DivergingDialogues::drop
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

}  // namespace

data::Preferences read_told(data::PreferencesConfig& files, const char* what) {
  data::Preferences read = read_preferences(files);
  tell(read, what, files.diverging);
  files.bad_records -= read.bad;
  return read;
}

void tell(const FormedCounts& counts, size_t all, const char* what) {
  if (counts.cut > 0)
    log::info("{} of {} {} prompts are too long and cut to fit", counts.cut, all, what);
  if (counts.left_out > 0)
    log::info("{} of {} {} prompts with their answers are too long and left out", counts.left_out,
              all, what);
  if (counts.bad > 0)
    log::info("{} {} records do not fit the chat template and are left out", counts.bad, what);
}

}  // namespace skein::rlhf::rewards
