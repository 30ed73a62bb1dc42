#include "skein/train/tasks/answer_form.h"

#include "skein/core/strict_json.h"

namespace skein::train {

using Json = nlohmann::ordered_json;

namespace {

constexpr char kKey[] = "answers";

}  // namespace

TaskNotes with_answers(const TaskNotes& notes, const AnswerForm& form) {
  if (form == AnswerForm()) return notes;
  Json json = notes.empty() ? Json::object() : *notes;
  json[kKey] = {
      {"start", form.start}, {"first", form.first}, {"last", form.last}, {"banned", form.banned}};
  return TaskNotes(json.dump());
}

AnswerForm answer_form(const TaskNotes& notes, const std::string& origin) {
  const Json* json = notes.object();
  if (!json || !json->contains(kKey)) return {};
  const Json& stored = json->at(kKey);
  const std::string where = "the notes of " + origin + " on its answers";
  require(stored.is_object() && stored.value("banned", Json()).is_array(), "{} are damaged", where);
  const auto id = [&](const char* key) {
    return whole<int32_t>(stored.value(key, Json()), key, where);
  };
  return {id("start"), id("first"), id("last"),
          whole_list<int64_t>(stored.at("banned"), "banned", where)};
}

}  // namespace skein::train
