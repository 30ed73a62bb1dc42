#include "skein/data/records/preferences.h"

#include "skein/core/error.h"
#include "skein/core/strings.h"
#include "skein/data/files/left_out.h"

#include "data/files/json_line.h"
#include "preference_record.h"

namespace skein::data {
namespace {

using Json = nlohmann::json;

constexpr const char* kMarkers[] = {"\n\nHuman:", "\n\nAssistant:"};

// Position of the nearest marker from `from` on, and which one; npos for none.
std::pair<size_t, int> next_marker(const std::string& text, size_t from) {
  const size_t human = text.find(kMarkers[0], from), assistant = text.find(kMarkers[1], from);
  return {std::min(human, assistant), human < assistant ? 0 : 1};
}

// The records of one file.
class Reader {
 public:
  Reader(const PreferencesConfig& config, size_t file, bool demonstrations, Preferences& into)
      : config_(config),
        file_(file),
        demonstrations_(demonstrations),
        into_(into),
        layout_(config.layout),
        lines_(config.files[file], config.most_record_bytes) {}

  void read() {
    const size_t before = into_.records.size();
    std::string first_reason;
    while (lines_.next()) {
      const std::string reason =
          use_or_leave_out(config_.bad_records, into_.bad, [this] { add(); });
      if (first_reason.empty()) first_reason = reason;
    }
    require(into_.records.size() > before, "{} holds no record that can be used{}", lines_.name(),
            first_reason.empty() ? "" : "; the first that cannot: " + first_reason);
  }

 private:
  void add() {
    const Json object = lines_.object();
    const std::string where = lines_.where();
    PreferenceRecord record;
    record.file = file_;
    record.line = lines_.number();
    if (demonstrations_) {
      read_demonstration(object, where, record);
      into_.records.push_back(std::move(record));
      return;
    }
    if (layout_ == PreferenceLayout::automatic) find_layout(object);
    const RecordOutcome outcome = read_record(object, layout_, config_.diverging, where, record);
    into_.diverging += outcome == RecordOutcome::diverging;
    into_.tied += outcome == RecordOutcome::tied;
    if (outcome != RecordOutcome::tied && !record.answers.empty())
      into_.records.push_back(std::move(record));
  }

  void find_layout(const Json& object) {
    layout_ = layout_of(object);
    require(layout_ != PreferenceLayout::automatic,
            "{}: these fields are no preference data that is known: {}; wanted are prompt with "
            "chosen and rejected, chosen and rejected alone as dialogues, or one of the layouts "
            "summaries, best_of, shp, ranked, scored and labelled (docs/reward.md)",
            lines_.where(), listed(keys_of(object)));
  }

  const PreferencesConfig& config_;
  size_t file_;
  bool demonstrations_;
  Preferences& into_;
  PreferenceLayout layout_;
  JsonLines lines_;
};

Preferences read_all(const PreferencesConfig& config, bool demonstrations) {
  Preferences all;
  for (size_t file = 0; file < config.files.size(); ++file)
    Reader(config, file, demonstrations, all).read();
  tell_more_left_out(all.bad);
  return all;
}

}  // namespace

std::vector<text::Message> dialogue_turns(const std::string& text) {
  std::vector<text::Message> turns;
  // Some files have lost the line breaks at their beginning.
  const std::string whole =
      text.starts_with("Human:") || text.starts_with("Assistant:") ? "\n\n" + text : text;
  auto [at, who] = next_marker(whole, 0);
  if (at == std::string::npos || !skein::trimmed(whole.substr(0, at)).empty()) return turns;
  while (at != std::string::npos) {
    const size_t begin = at + std::string_view(kMarkers[who]).size();
    const auto [next, following] = next_marker(whole, begin);
    const std::string role = who == 0 ? "user" : "assistant",
                      text = skein::trimmed(whole.substr(begin, next - begin));
    if (!turns.empty() && turns.back().role == role)
      turns.back().content += "\n\n" + text;
    else
      turns.push_back({role, text});
    at = next;
    who = following;
  }
  return turns;
}

Preferences read_preferences(const PreferencesConfig& config) { return read_all(config, false); }
Preferences read_demonstrations(const PreferencesConfig& config) { return read_all(config, true); }

}  // namespace skein::data
