// One record of a file of conversations.
#pragma once

#include <string>
#include <vector>

#include "skein/core/json.h"
#include "skein/data/records/conversations.h"

namespace skein::data {

class ConversationRecord {
 public:
  // where: "file:line", for errors. All are referenced.
  ConversationRecord(const nlohmann::json& json, const ConversationsConfig& config,
                     const std::string& where)
      : json_(json), config_(config), where_(where) {}

  // By the keys that are there; a usage error listing them when they are of no kind.
  ConversationKind kind() const;
  // Turns in order and checked. answered: there must be an answer.
  std::vector<text::Message> messages(ConversationKind kind, bool answered) const;

 private:
  using Json = nlohmann::json;

  std::string text_at(const std::string& key) const;
  const std::string& answer_key(const std::vector<std::string>& known) const;
  void add_turns(std::vector<text::Message>& messages, const std::string& key,
                 const char* role) const;
  std::vector<text::Message> listed_turns(const std::string& key, bool sharegpt) const;
  text::Message turn(const Json& json, const std::string& called, bool sharegpt) const;
  std::vector<text::Message> prompt(bool answered) const;
  std::vector<text::Message> instruction(bool answered) const;
  void check(const std::vector<text::Message>& messages, bool answered) const;

  const Json& json_;
  const ConversationsConfig& config_;
  const std::string& where_;
};

// How many turns there are but the system's, which may stand before all. A usage error that begins
// with `where` unless they alternate and the user begins. called: what they are to the user.
size_t alternating_turns(const std::vector<text::Message>& messages, const char* called,
                         const std::string& where);

}  // namespace skein::data
