// What a task says in a checkpoint beside the rest: docs/checkpoint-format.md, "notes".
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "skein/core/stored.h"

namespace skein::train {

// A JSON object, whose keys are the task's own; "" of a task that says nothing. The value is that
// JSON, its keys in their order; where the text is none it throws what the JSON library throws.
class TaskNotes : public StoredText<nlohmann::ordered_json> {
 public:
  TaskNotes() : TaskNotes(std::string()) {}
  explicit TaskNotes(std::string json);

  // Null where the text is no JSON object.
  const nlohmann::ordered_json* object() const;
  // The text under this key of the object; "" where there is none, or something else.
  std::string text_of(const std::string& key) const;
};

}  // namespace skein::train
