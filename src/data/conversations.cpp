#include "skein/data/conversations.h"

#include "conversation_record.h"
#include "json_line.h"
#include "line_reader.h"
#include "skein/core/error.h"

namespace skein {
namespace {

std::string shown(const std::string& path) { return path == "-" ? "stdin" : path; }

class File {
 public:
  File(const std::string& path, const ConversationsConfig& config)
      : name_(shown(path)), config_(config), lines_(open_source(path), config.most_record_bytes), kind_(config.kind) {}

  bool next(Conversation& conversation, bool answered) {
    std::string_view line;
    do {
      if (!lines_.next(line)) return false;
      require(lines_.ends_line(), "{}:{}: the line is longer than {} bytes; is it JSONL, one object a line?", name_, lines_.number(),
              config_.most_record_bytes);
    } while (blank(line));
    const std::string place = fmt::format("{}:{}", name_, lines_.number());
    std::string reason;
    const nlohmann::json json = parse_json_line(line, reason);
    require(reason.empty(), "{}: {}", place, reason);
    const ConversationRecord record(json, config_, place);
    if (kind_ == ConversationKind::automatic) kind_ = record.kind();
    conversation.messages = record.messages(kind_, answered);
    conversation.record = without_break(line);
    conversation.line = lines_.number();
    return true;
  }

 private:
  std::string name_;
  const ConversationsConfig& config_;
  LineReader lines_;
  ConversationKind kind_;
};

std::vector<Conversation> read_all(const ConversationsConfig& config, bool answered) {
  require(!config.files.empty(), "no file with conversations is named");
  require(!config.prompt.empty(), "no key of prompts is named");
  require(config.most_record_bytes > 0, "the longest record is {} bytes; it must be above 0", config.most_record_bytes);
  std::vector<Conversation> made;
  for (size_t i = 0; i < config.files.size(); ++i) {
    File file(config.files[i], config);
    const size_t before = made.size();
    for (Conversation one; file.next(one, answered);) {
      one.file = static_cast<int64_t>(i);
      made.push_back(std::move(one));
    }
    require(made.size() > before, "{} holds no conversations", shown(config.files[i]));
  }
  return made;
}

}  // namespace

std::string place_of(const Conversation& conversation, const ConversationsConfig& config) {
  return fmt::format("{}:{}", shown(config.files.at(static_cast<size_t>(conversation.file))), conversation.line);
}

std::vector<Conversation> read_conversations(const ConversationsConfig& config) { return read_all(config, true); }

std::vector<PromptRecord> read_prompts(const ConversationsConfig& config, bool drop_answers) {
  std::vector<PromptRecord> made = read_all(config, false);
  for (PromptRecord& record : made) {
    if (record.messages.back().role != "assistant") continue;
    require(drop_answers, "{}: the conversation ends with an answer, so there is nothing to answer", place_of(record, config));
    record.messages.pop_back();
  }
  return made;
}

}  // namespace skein
