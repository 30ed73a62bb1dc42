#include "skein/data/records/conversations.h"

#include "skein/core/error.h"
#include "skein/data/files/left_out.h"
#include "skein/data/files/line_reader.h"

#include "conversation_record.h"
#include "data/files/json_line.h"

namespace skein {
namespace {

// What is asked of the conversations of all files.
struct Wanted {
  bool answers = true;       // each has one
  bool drop_answers = true;  // without `answers`: a last one is left out, else it is a usage error
  const UseConversation& use;
};

class File {
 public:
  // left_out: how many records of all files were so far.
  File(size_t file, const ConversationsConfig& config, const Wanted& wanted, int64_t& left_out)
      : file_(file),
        name_(input_name(config.files[file])),
        config_(config),
        wanted_(wanted),
        left_out_(left_out),
        lines_(open_source(config.files[file]), config.most_record_bytes),
        kind_(config.kind) {}

  bool next(Conversation& conversation) {
    for (std::string_view line; lines_.next(line);) {
      require(lines_.ends_line(),
              "{}:{}: the line is longer than {} bytes; is it JSONL, one object a line?", name_,
              lines_.number(), config_.most_record_bytes);
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
      require(++left_out_ <= config_.bad_records,
              "{}; data.bad_records=N leaves out up to N such records", error.what());
      tell_left_out(left_out_, error.what());
      return false;
    }
  }

  void take(std::string_view line, Conversation& conversation) {
    const std::string place = fmt::format("{}:{}", name_, lines_.number());
    std::string reason;
    const nlohmann::json json = parse_json_line(line, reason);
    require(reason.empty(), "{}: {}", place, reason);
    const ConversationRecord record(json, config_, place);
    const ConversationKind kind = kind_ == ConversationKind::automatic ? record.kind() : kind_;
    conversation = {record.messages(kind, wanted_.answers), std::string(without_break(line)), kind,
                    file_, lines_.number()};
    if (!wanted_.answers && conversation.messages.back().role == "assistant") {
      require(wanted_.drop_answers,
              "{}: the conversation ends with an answer, so there is nothing to answer", place);
      conversation.messages.pop_back();
    }
    use(conversation, place);
    kind_ = kind;
  }

  void use(const Conversation& conversation, const std::string& place) const {
    if (!wanted_.use) return;
    try {
      wanted_.use(conversation);
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("{}: {}", place, error.what()));
    }
  }

  int64_t file_;
  std::string name_;
  const ConversationsConfig& config_;
  const Wanted& wanted_;
  int64_t& left_out_;
  LineReader lines_;
  ConversationKind kind_;
};

std::vector<Conversation> read_all(const ConversationsConfig& config, const Wanted& wanted) {
  require(!config.files.empty(), "no file with conversations is named");
  require(!config.prompt.empty(), "no key of prompts is named");
  require(config.most_record_bytes > 0, "the longest record is {} bytes; it must be above 0",
          config.most_record_bytes);
  require(config.bad_records >= 0, "data.bad_records={} must be at least 0", config.bad_records);
  std::vector<Conversation> made;
  int64_t left_out = 0;
  for (size_t i = 0; i < config.files.size(); ++i) {
    File file(i, config, wanted, left_out);
    const size_t before = made.size();
    for (Conversation one; file.next(one);) made.push_back(std::move(one));
    require(made.size() > before, "{} holds no conversations", input_name(config.files[i]));
  }
  tell_more_left_out(left_out);
  return made;
}

}  // namespace

std::string place_of(const Conversation& conversation, const ConversationsConfig& config) {
  return fmt::format("{}:{}", input_name(config.files.at(conversation.file)), conversation.line);
}

std::vector<Conversation> read_conversations(const ConversationsConfig& config,
                                             const UseConversation& use) {
  return read_all(config, {true, false, use});
}

std::vector<PromptRecord> read_prompts(const ConversationsConfig& config, bool drop_answers,
                                       const UseConversation& use) {
  return read_all(config, {false, drop_answers, use});
}

}  // namespace skein
