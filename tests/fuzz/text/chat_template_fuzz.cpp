// Chat templates; what is read must come back from its own JSON, and prompts must begin their
// conversations.
#include <algorithm>

#include "skein/text/template.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  static const auto tokenizer = skein::text::byte_tokenizer();
  const skein::text::StoredTemplate stored{std::string(input)};
  const skein::text::ChatTemplate form(stored, *tokenizer);
  const std::string json = form.to_json();
  if (skein::text::ChatTemplate(skein::text::StoredTemplate(json), *tokenizer).to_json() != json ||
      !skein::text::same_template(stored, form.stored()))
    std::abort();
  const std::vector<skein::text::Message> turns{{"user", " What?\n"},
                                                {"assistant", "\xff that <|endoftext|>"}};
  const auto prompt = form.prompt(std::span(turns).first(1));
  const auto chat = form.conversation(turns);
  if (chat.tokens.size() != chat.answer.size() || chat.tokens.size() < prompt.size()) std::abort();
  if (!std::equal(prompt.begin(), prompt.end(), chat.tokens.begin()) || !chat.answer[prompt.size()])
    std::abort();
  form.answer_text(chat.tokens);
}
