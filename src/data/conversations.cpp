#include "skein/data/conversations.h"

#include "conversation_record.h"
#include "json_line.h"
#include "skein/data/line_reader.h"
#include "skein/core/error.h"
#include "skein/core/log.h"

namespace skein {
namespace {

std::string shown(const std::string& path) { return path == "-" ? "stdin" : path; }

class File {
 public:
  // answered: each record must have an answer. left_out: how many records of all files were so far.
  File(const std::string& path, const ConversationsConfig& config, bool answered, int64_t& left_out)
      : name_(shown(path)), config_(config), answered_(answered), left_out_(left_out), lines_(open_source(path), config.most_record_bytes),
        kind_(config.kind) {}

  bool next(Conversation& conversation) {
    for (std::string_view line; lines_.next(line);) {
      require(lines_.ends_line(), "{}:{}: the line is longer than {} bytes; is it JSONL, one object a line?", name_, lines_.number(),
              config_.most_record_bytes);
      if (!blank(line) && read(line, conversation)) return true;
    }
    return false;
  }

 private:
  // False where the record is left out.
  bool read(std::string_view line, Conversation& conversation) {
    try {
      take(line, conversation);
      return true;
    } catch (const Error& error) {
      if (error.code() != ExitCode::usage) throw;
      require(++left_out_ <= config_.bad_records, "{}; data.bad_records=N leaves out up to N such records", error.what());
      log::warn("left out: {}", error.what());
      return false;
    }
  }

  void take(std::string_view line, Conversation& conversation) {
    const std::string place = fmt::format("{}:{}", name_, lines_.number());
    std::string reason;
    const nlohmann::json json = parse_json_line(line, reason);
    require(reason.empty(), "{}: {}", place, reason);
    const ConversationRecord record(json, config_, place);
    if (kind_ == ConversationKind::automatic) kind_ = record.kind();
    conversation.messages = record.messages(kind_, answered_);
    conversation.record = without_break(line);
    conversation.line = lines_.number();
  }

  std::string name_;
  const ConversationsConfig& config_;
  bool answered_;
  int64_t& left_out_;
  LineReader lines_;
  ConversationKind kind_;
};

std::vector<Conversation> read_all(const ConversationsConfig& config, bool answered) {
  require(!config.files.empty(), "no file with conversations is named");
  require(!config.prompt.empty(), "no key of prompts is named");
  require(config.most_record_bytes > 0, "the longest record is {} bytes; it must be above 0", config.most_record_bytes);
  require(config.bad_records >= 0, "data.bad_records={} must be at least 0", config.bad_records);
  std::vector<Conversation> made;
  int64_t left_out = 0;
  for (size_t i = 0; i < config.files.size(); ++i) {
    File file(config.files[i], config, answered, left_out);
    const size_t before = made.size();
    for (Conversation one; file.next(one);) {
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
