// Files of conversations: the first byte chooses their kind and what is done with them; the rest is
// the file, which may be compressed.
#include <algorithm>

#include "skein/data/records/conversations.h"

#include "../fuzz.h"

namespace {

// Each answer has a token, its end at least.
bool answers_end(const skein::text::TemplatedChat& chat,
                 const std::vector<skein::text::Message>& messages) {
  const auto answers =
      std::count_if(messages.begin(), messages.end(),
                    [](const skein::text::Message& turn) { return turn.role == "assistant"; });
  return std::count(chat.answer.begin(), chat.answer.end(), 1) >= answers;
}

}  // namespace

void fuzz(std::string_view input) {
  if (input.empty()) return;
  const auto choice = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  static const skein::test::FuzzFile file("x.jsonl");
  file.write(input);
  skein::data::ConversationsConfig config;
  config.files = {file.path()};
  config.kind = static_cast<skein::data::ConversationKind>((choice & 7) % 5);
  config.instructions =
      choice & 8 ? skein::data::InstructionForm::alpaca : skein::data::InstructionForm::turn;
  if (choice & 16) config.prompt = "question";
  config.most_record_bytes = 4096;
  const bool prompts = choice & 32;
  static const auto tokenizer = skein::text::byte_tokenizer();
  static const skein::text::ChatTemplate form("plain", *tokenizer);
  for (const auto& one :
       prompts ? skein::data::read_prompts(config) : skein::data::read_conversations(config)) {
    const skein::text::TemplatedChat chat = form.conversation(one.messages);
    const auto ids = prompts ? form.prompt(one.messages) : chat.tokens;
    if (!answers_end(chat, one.messages)) std::abort();
    if (ids.empty() || one.line < 1 || (one.messages.back().role == "assistant" && prompts))
      std::abort();
  }
}
