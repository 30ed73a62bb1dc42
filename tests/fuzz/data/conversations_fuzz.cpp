// Files of conversations: the first byte chooses their kind and what is done with them; the rest is
// the file, which may be compressed.
#include <algorithm>

#include "skein/data/records/conversations.h"

#include "../fuzz.h"

namespace {

// Each answer has a token, its end at least.
bool answers_end(const skein::TemplatedChat& chat, const std::vector<skein::Message>& messages) {
  const auto answers =
      std::count_if(messages.begin(), messages.end(),
                    [](const skein::Message& turn) { return turn.role == "assistant"; });
  return std::count(chat.answer.begin(), chat.answer.end(), 1) >= answers;
}

}  // namespace

void fuzz(std::string_view input) {
  if (input.empty()) return;
  const auto choice = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  static const skein::test::FuzzFile file("x.jsonl");
  file.write(input);
  skein::ConversationsConfig config;
  config.files = {file.path()};
  config.kind = static_cast<skein::ConversationKind>((choice & 7) % 5);
  config.instructions = choice & 8 ? skein::InstructionForm::alpaca : skein::InstructionForm::turn;
  if (choice & 16) config.prompt = "question";
  config.most_record_bytes = 4096;
  const bool prompts = choice & 32;
  static const auto tokenizer = skein::byte_tokenizer();
  static const skein::ChatTemplate form("plain", *tokenizer);
  for (const auto& one :
       prompts ? skein::read_prompts(config) : skein::read_conversations(config)) {
    const skein::TemplatedChat chat = form.conversation(one.messages);
    const auto ids = prompts ? form.prompt(one.messages) : chat.tokens;
    if (!answers_end(chat, one.messages)) std::abort();
    if (ids.empty() || one.line < 1 || (one.messages.back().role == "assistant" && prompts))
      std::abort();
  }
}
