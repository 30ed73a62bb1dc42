// Fields of a JSON object, with errors that name file and line and what is there instead.
#pragma once

#include <string>
#include <vector>

#include "skein/core/json.h"
#include "skein/text/template.h"

namespace skein::data {

class Fields {
 public:
  // Both outlive it. where: "train.jsonl:12".
  Fields(const nlohmann::json& object, const std::string& where) : object_(object), where_(where) {}

  const std::string& where() const { return where_; }
  bool has(const std::string& key) const {
    return object_.contains(key) && !object_[key].is_null();
  }
  // Also where its value is null.
  bool names(const std::string& key) const { return object_.contains(key); }
  // The first of the keys that the object has; the first one where it has none.
  std::string which(std::initializer_list<const char*> keys) const;

  const nlohmann::json& at(const std::string& key) const;
  // Not empty, not white space alone.
  std::string text(const std::string& key) const;
  // May be empty: the token that ends an answer is an answer, too.
  std::string answer(const std::string& key) const;
  // Finite.
  double number(const std::string& key) const;
  // true and false are 1 and 0.
  int64_t integer(const std::string& key, int64_t least, int64_t most) const;
  std::vector<std::string> answers(const std::string& key) const;
  // `count` of them.
  std::vector<double> numbers(const std::string& key, size_t count) const;
  // Of one of the objects in the list of that key; `wanted` says what they have.
  Fields object_of(const nlohmann::json& value, const char* key, const char* wanted) const;
  // {role, content} each, roles as ChatTemplate knows them (human: user; gpt: assistant). The
  // assistant's content may be empty.
  std::vector<text::Message> messages(const std::string& key) const;
  // The value of a text or of messages, as turns.
  std::vector<text::Message> turns(const std::string& key) const;

 private:
  const nlohmann::json& list_at(const std::string& key) const;
  std::string string_of(const nlohmann::json& value, const std::string& name) const;
  std::string text_of(const nlohmann::json& value, const std::string& name) const;
  double number_of(const nlohmann::json& value, const std::string& name) const;

  const nlohmann::json& object_;
  const std::string& where_;
};

}  // namespace skein::data
