// Files of preferences: the first byte chooses the layout and what is tolerated; the rest is the
// file, which may be compressed.
#include <cmath>

#include "skein/data/records/preferences.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  if (input.empty()) return;
  const auto choice = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  static const skein::test::FuzzFile file("x.jsonl");
  file.write(input);
  skein::data::PreferencesConfig config;
  config.files = {file.path()};
  config.layout = choice & 64 ? skein::data::PreferenceLayout::labelled
                              : static_cast<skein::data::PreferenceLayout>(choice & 7);
  config.diverging =
      choice & 8 ? skein::data::DivergingDialogues::keep : skein::data::DivergingDialogues::drop;
  config.bad_records = choice & 16 ? 3 : 0;
  config.most_record_bytes = 4096;
  const skein::data::Preferences data = choice & 32 ? skein::data::read_demonstrations(config)
                                                    : skein::data::read_preferences(config);
  for (const skein::data::PreferenceRecord& record : data.records) {
    if (record.prompt.empty() || record.answers.empty() ||
        record.answers.size() > skein::data::kMostAnswers)
      std::abort();
    if (record.grades.size() != record.answers.size()) std::abort();
    for (const double value : record.values)
      if (!std::isfinite(value)) std::abort();
  }
}
