#include "skein/text/template_export.h"

#include <algorithm>

#include "marked_tokenizer.h"

namespace skein::text {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<int32_t>;
using test::marked_tokenizer;
using test::messages_of;

// A form by its name, or as JSON.
ChatTemplate form_of(const std::string& spec, const Tokenizer& tokenizer) {
  return spec.starts_with("{") ? ChatTemplate(StoredTemplate(spec), tokenizer)
                               : ChatTemplate(spec, tokenizer);
}

// Whether transformers divides the text of these otherwise: it joins what has no marker between
// (answers to their prompts, line breaks around an empty system turn) and divides a text where it
// spells a special token.
bool divided_otherwise(const std::string& spec, const std::vector<Message>& messages) {
  const Message& first = messages.front();
  if (spec == "none" && first.content.starts_with("a\tb")) return true;
  if (spec == "llama2" && first.role == "system" && first.content.empty()) return true;
  return std::ranges::any_of(messages, [](const Message& turn) {
    return turn.content.find("<|im_end|>") != std::string::npos;
  });
}

size_t specials_in(const Ids& ids) {
  return std::ranges::count_if(ids,
                               [](int32_t id) { return marked_tokenizer().bytes_of(id).empty(); });
}

void expect_same(const Ids& ours, const Ids& theirs, bool ids, const std::string& which) {
  const Tokenizer& tokenizer = marked_tokenizer();
  EXPECT_EQ(tokenizer.decode(ours, false), tokenizer.decode(theirs, false)) << which;
  EXPECT_EQ(specials_in(ours), specials_in(theirs)) << which;
  if (ids) {
    EXPECT_EQ(ours, theirs) << which;
  }
}

// tools/make_template_golden.py has transformers run each.
TEST(TemplateExport, GivesTransformersTheSameIds) {
  const auto lines = test::golden_lines("template.jsonl.xz");
  ASSERT_EQ(lines.size(), 7u);
  for (const Json& line : lines) {
    const std::string spec = line["form"];
    const Tokenizer& tokenizer = marked_tokenizer(spec.find("llama") != spec.npos);
    const ChatTemplate form = form_of(spec, tokenizer);
    const std::string jinja = jinja_template(form.stored(), tokenizer);
    EXPECT_EQ(jinja, line["jinja"]) << Json{{"form", spec}, {"jinja", jinja}};
    EXPECT_GE(line["cases"].size(), 6u);
    for (const Json& one : line["cases"]) {
      std::vector<Message> messages = messages_of(one["messages"]);
      const bool same = !divided_otherwise(spec, messages);
      expect_same(form.conversation(messages).tokens, one["ids"], same, spec + one.dump());
      messages.pop_back();
      expect_same(form.prompt(messages), one["prompt"], same, spec + one.dump());
    }
  }
}

TEST(TemplateExport, WritesJinja) {
  const auto plain = ChatTemplate("none", *byte_tokenizer());
  EXPECT_EQ(jinja_template(plain.stored(), *byte_tokenizer()),
            "{% for message in messages %}{% set text = message['content'] %}"
            "{% if message['role'] == 'user' %}{{ text }}"
            "{% elif message['role'] == 'assistant' %}{{ text }}{{ '<|endoftext|>' }}"
            "{% else %}{{ raise_exception('This chat template has no place for a turn of the ' + "
            "message['role']) }}{% endif %}{% endfor %}{% if add_generation_prompt %}{% endif %}");
}

TEST(TemplateExport, WritesGo) {
  const ChatTemplate form(
      StoredTemplate(R"({"prefix": "{bos}", "system": {"close": "\n\"\\"}, )"
                     R"("user": {"open": "'U': ", "open_after_system": "U:"}, )"
                     R"("assistant": {"open": "A: ", "close": "{eos}\n"}, "end": "{eos}"})"),
      *byte_tokenizer());
  EXPECT_EQ(go_template(form.stored(), *byte_tokenizer()),
            R"({{ $before := "" }}{{ range .Messages }}{{ if eq .Role "system" }}{{ .Content }})"
            R"({{ "\n\"\\" }}{{ else if eq .Role "user" }}{{ if eq $before "system" }}{{ "U:" }})"
            R"({{ else }}{{ "'U':" }}{{ if .Content }}{{ " " }}{{ end }}{{ end }}{{ .Content }})"
            R"({{ else if eq .Role "assistant" }}{{ "A:" }}{{ if .Content }}{{ " " }}{{ end }})"
            R"({{ .Content }}{{ "<|endoftext|>\n" }}{{ end }}{{ $before = .Role }}{{ end }})"
            R"({{ "A:" }})");
}

// Each reader knows other escapes.
TEST(TemplateExport, EscapesWhatAllKnow) {
  const ChatTemplate form(StoredTemplate(R"({"trim": true, "prefix": "\t\r\n\u000b", "user": {}, )"
                                         R"("assistant": {"close": "{eos}"}, "end": "{eos}"})"),
                          *byte_tokenizer());
  const std::string jinja = jinja_template(form.stored(), *byte_tokenizer());
  EXPECT_TRUE(jinja.starts_with("{{ '\\t\\r\\n\v' }}")) << jinja;
  EXPECT_NE(jinja.find(".strip(' \\t\\n\v\f\\r')"), std::string::npos) << jinja;
}

TEST(TemplateExport, NeedsATokenizerWithItsTokens) {
  const ChatTemplate chatml("chatml", marked_tokenizer());
  for (const auto& made : {jinja_template, go_template})
    test::expect_refused({"chatml", "<|im_start|>", "does not have"},
                         [&] { made(chatml.stored(), *byte_tokenizer()); });
}

}  // namespace
}  // namespace skein::text
