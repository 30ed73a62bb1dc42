#include "skein/data/records/conversations.h"

#include "skein/core/error.h"
#include "skein/data/files/left_out.h"

#include "conversation_record.h"
#include "data/files/json_line.h"

namespace skein::data {
namespace {

// What is asked of the conversations of all files.
struct ReadingRules {
  bool answers = true;       // each has one
  bool drop_answers = true;  // without `answers`: a last one is left out, else it is a usage error
  const UseConversation& use;
};

class File {
 public:
  // left_out: how many records of all files were so far.
  File(size_t file, const ConversationsConfig& config, const ReadingRules& rules, int64_t& left_out)
      : file_(file),
        config_(config),
        rules_(rules),
        left_out_(left_out),
        lines_(config.files[file], config.most_record_bytes),
        kind_(config.kind) {}

  void read(std::vector<Conversation>& into) {
    const size_t before = into.size();
    while (lines_.next())
      use_or_leave_out(config_.bad_records, left_out_, [&] { into.push_back(conversation()); });
    require(into.size() > before, "{} holds no conversations", lines_.name());
  }

 private:
  Conversation conversation() {
    const std::string where = lines_.where();
    const nlohmann::json json = lines_.object();
    const ConversationRecord record(json, config_, where);
    const ConversationKind kind = kind_ == ConversationKind::automatic ? record.kind() : kind_;
    Conversation made{record.messages(kind, rules_.answers),
                      std::string(without_break(lines_.line())), kind, file_, lines_.number()};
    if (!rules_.answers && made.messages.back().role == "assistant") {
      require(rules_.drop_answers,
              "{}: the conversation ends with an answer, so there is nothing to answer", where);
      made.messages.pop_back();
    }
    if (rules_.use) with_origin(where, [&] { rules_.use(made); });
    kind_ = kind;
    return made;
  }

  int64_t file_;
  const ConversationsConfig& config_;
  const ReadingRules& rules_;
  int64_t& left_out_;
  JsonLines lines_;
  ConversationKind kind_;
};

std::vector<Conversation> read_all(const ConversationsConfig& config, const ReadingRules& rules) {
  require(!config.files.empty(), "no file with conversations is named");
  require(!config.prompt.empty(), "no key of prompts is named");
  require(config.most_record_bytes > 0, "the longest record is {} bytes; it must be above 0",
          config.most_record_bytes);
  require(config.bad_records >= 0, "data.bad_records={} must be at least 0", config.bad_records);
  std::vector<Conversation> made;
  int64_t left_out = 0;
  for (size_t i = 0; i < config.files.size(); ++i) File(i, config, rules, left_out).read(made);
  tell_more_left_out(left_out);
  return made;
}

}  // namespace

std::string where_of(const Conversation& conversation, const ConversationsConfig& config) {
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

}  // namespace skein::data
