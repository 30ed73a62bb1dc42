// How a decoder is asked.
#include "skein/train/chats/prompt_form.h"

#include <gtest/gtest.h>

#include "skein/core/error.h"
#include "skein/train/tasks/pair_notes.h"

#include "generate/scripted_mapper.h"
#include "text/begun_tokenizer.h"
#include "text/marked_tokenizer.h"

namespace skein::train {
namespace {

using Turns = std::vector<text::Message>;

constexpr const char* kShort =
    R"({"name": "short", "system": {"open": "S"}, "user": {"open": "U"}, "assistant": {"open": "A", "close": "{eos}"}, "end": "{eos}"})";

TrainedModel trained(const std::string& notes = "") {
  TrainedModel made;
  made.info.path = "runs/a";
  made.state.tokenizer = text::StoredTokenizer(text::byte_tokenizer());
  made.state.notes = TaskNotes(notes);
  return made;
}

TrainedModel tuned(const std::string& instructions = "") {
  return trained(std::string(R"({"task":"sft","template":)") + kShort +
                 (instructions.empty() ? "" : R"(,"instructions":)" + instructions) + "}");
}

PromptFormConfig chats(const std::string& form = "", const std::string& system = "") {
  PromptFormConfig c;
  c.chat = true;
  c.records.form = form;
  c.system = system;
  return c;
}

std::string asked(const PromptForm& form, const Turns& turns) {
  return text::byte_tokenizer()->decode(form.prompt(form.given(turns)), false);
}

std::string refused(const PromptFormConfig& config, const TrainedModel& source) {
  return refusal_of([&] { const PromptForm form(config, source); });
}

TEST(PromptForms, OfTextsAreThoseTexts) {
  const PromptFormConfig config;
  const TrainedModel source = trained();
  const PromptForm form(config, source);
  EXPECT_FALSE(form.chats());
  EXPECT_EQ(asked(form, {{"user", " once "}}), " once ");
  EXPECT_EQ(form.text({'a', ' ', 256}), "a ");
  EXPECT_EQ(form.end(), 256);
  EXPECT_TRUE(same_template(form.chat_template(),
                            text::ChatTemplate("none", *text::byte_tokenizer()).stored()));
}

// By the template "none" a text begins with the tokenizer's token for that.
TEST(PromptForms, OfTextsAreOfNoTemplateWhereTextsBeginWithAToken) {
  const PromptFormConfig config;
  TrainedModel source = trained();
  source.state.tokenizer = text::StoredTokenizer(test::marked_tokenizer().to_json());
  ASSERT_GE(source.state.tokenizer->roles().bos, 0);
  ASSERT_GE(source.state.tokenizer->end_of_text(), 0);
  EXPECT_TRUE(PromptForm(config, source).chat_template().empty());
}

// As transformers feeds it.
TEST(PromptForms, OfAnImportsTextsBeginAsItsTokenizerAsks) {
  PromptFormConfig config;
  TrainedModel source = trained();
  source.state.tokenizer = test::begun_tokenizer();
  source.state.imported = R"({"source":"there"})";
  const auto prompt = [&](const std::string& text) {
    return PromptForm(config, source).prompt({{"user", text}});
  };
  EXPECT_EQ(prompt("a b"), (std::vector<int32_t>{0, 2, 3}));
  EXPECT_EQ(prompt(""), std::vector<int32_t>{0});
  EXPECT_TRUE(same_template(PromptForm(config, source).chat_template(),
                            text::ChatTemplate("none", *source.state.tokenizer).stored()));
  config.specials = true;
  EXPECT_EQ(prompt("<s>a"), (std::vector<int32_t>{0, 2})) << "it is there already";
  EXPECT_EQ(prompt("a"), (std::vector<int32_t>{0, 2}));
  source.state.step = 1;
  EXPECT_EQ(prompt("a"), std::vector<int32_t>{2}) << "it has learnt texts without";
}

TEST(PromptForms, OfConversationsAreTheCheckpointsTemplate) {
  const PromptFormConfig config = chats(), with_system = chats("", "be kind");
  const TrainedModel source = tuned();
  const PromptForm form(config, source), kind(with_system, source);
  EXPECT_TRUE(form.chats());
  EXPECT_EQ(asked(form, {{"user", "hi"}}), "UhiA");
  EXPECT_EQ(asked(form, {{"user", "hi"}, {"assistant", "yes"}, {"user", "ok"}}),
            "UhiAyes<|endoftext|>UokA");
  EXPECT_EQ(asked(kind, {{"user", "hi"}}), "Sbe kindUhiA");
  EXPECT_EQ(asked(kind, {{"system", "be short"}, {"user", "hi"}}), "Sbe shortUhiA");
  EXPECT_TRUE(same_template(form.chat_template(), text::StoredTemplate(kShort)));
}

TEST(PromptForms, MayBeNamed) {
  const PromptFormConfig config = chats("none");
  const TrainedModel source = tuned();
  EXPECT_EQ(asked(PromptForm(config, source), {{"user", "hi"}}), "hi");
}

TEST(PromptForms, OfInstructionsAreWordedAsTheyWereLearnt) {
  const PromptFormConfig config = chats();
  const TrainedModel alone = tuned(R"({"form":"alpaca","alone":true})"),
                     mixed = tuned(R"({"form":"alpaca","alone":false})"),
                     turns = tuned(R"({"form":"turn","alone":true})");
  const std::string worded = "U" + instruction_turn("do", "", data::InstructionForm::alpaca) + "A";
  EXPECT_EQ(asked(PromptForm(config, alone), {{"user", "do"}}), worded);
  EXPECT_EQ(asked(PromptForm(config, alone),
                  {{"user", instruction_turn("do", "", data::InstructionForm::alpaca)}}),
            worded)
      << "it stands under the headings already";
  EXPECT_EQ(asked(PromptForm(config, mixed), {{"user", "do"}}), "UdoA");
  EXPECT_EQ(asked(PromptForm(config, turns), {{"user", "do"}}), "UdoA");
  EXPECT_EQ(PromptForm(config, mixed).conversations({"x.jsonl"}).instructions,
            data::InstructionForm::alpaca);
}

TEST(PromptForms, AreRefusedWhereTheModelKnowsNone) {
  EXPECT_NE(refused(chats(), trained()).find("runs/a knows no chat template"), std::string::npos);
  TrainedModel imported = trained();
  for (const char* texts :
       {R"("chat_template.jinja":"{{ messages }}")",
        R"("tokenizer_config.json":"{\"chat_template\":\"{{ messages }}\"}")"}) {
    imported.state.imported = fmt::format(R"({{"texts":{{{}}}}})", texts);
    EXPECT_NE(refused(chats(), imported).find("runs/a was imported with a chat template in Jinja"),
              std::string::npos);
  }
  PromptFormConfig config;
  config.system = "be kind";
  EXPECT_NE(refused(config, tuned()).find("are for conversations; give generate.chat too"),
            std::string::npos);
}

class MapsBytes : public test::ScriptedArchitecture {
 public:
  int64_t source_ids(const ModelConfig&) const override { return 257; }
};

// Words "a" and "b", <pad> 3 and </s> 4, which ends a text.
std::shared_ptr<const text::Tokenizer> words() {
  const auto special = [](const char* name, int id) {
    return fmt::format(R"({{"id":{},"content":"{}","single_word":false,"lstrip":false,)"
                       R"("rstrip":false,"normalized":false,"special":true}})",
                       id, name);
  };
  return text::tokenizer_from_json(
      R"({"version":"1.0","added_tokens":[)" + special("<pad>", 3) + "," + special("</s>", 4) +
      R"(],"normalizer":null,"pre_tokenizer":{"type":"Whitespace"},"post_processor":)"
      R"({"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}},)"
      R"({"SpecialToken":{"id":"</s>","type_id":0}}],"pair":[{"Sequence":{"id":"A","type_id":0}},)"
      R"({"Sequence":{"id":"B","type_id":1}}],"special_tokens":{"</s>":{"id":"</s>","ids":[4],)"
      R"("tokens":["</s>"]}}},"decoder":{"type":"WordPiece","prefix":"##","cleanup":false},)"
      R"("model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",)"
      R"("max_input_chars_per_word":100,"vocab":{"[UNK]":0,"a":1,"b":2,"<pad>":3,"</s>":4}}})");
}

// That maps sources.
TrainedModel mapper(const std::string& notes) {
  static const MapsBytes architecture;
  TrainedModel made = trained(notes);
  made.model.architecture = &architecture;
  made.state.tokenizer = text::StoredTokenizer(words());
  return made;
}

using Ids = std::vector<int32_t>;

TEST(PromptForms, OfSourcesAreThoseOfTheTraining) {
  const PromptFormConfig config;
  const TrainedModel source =
      mapper(R"({"task":"seq2seq","start":"</s>","pairs":{"task.prefix":"b b "}})");
  const PromptForm form(config, source);
  EXPECT_FALSE(form.continues());
  EXPECT_FALSE(form.chats());
  const Turns given = form.given({{"user", "a"}});
  EXPECT_EQ(given.front().content, "b b a");
  EXPECT_EQ(form.prompt(given), (Ids{2, 2, 1, 4}));
  EXPECT_EQ(form.prompt(form.given({{"user", "a <pad>"}})).back(), 4) << "plain text";
  EXPECT_EQ(form.start(), Ids{4});
  EXPECT_EQ(form.end(), 4);
  EXPECT_EQ(form.text({1, 3, 2}), "a b");
  EXPECT_TRUE(form.chat_template().empty());
}

TEST(PromptForms, OfSourcesWithoutTextAreEmpty) {
  const PromptFormConfig config;
  const TrainedModel source = mapper(R"({"task":"seq2seq","pairs":{"task.prefix":"b "}})");
  const PromptForm form(config, source);
  for (const char* blank : {"", " ", "\n\t"})
    EXPECT_EQ(form.prompt(form.given({{"user", blank}})), Ids{}) << blank;
  EXPECT_EQ(form.start(), Ids{3}) << "the usual one";
}

TEST(PromptForms, OfSourcesMayHaveATokenizerOfTheirOwn) {
  const PromptFormConfig config;
  TrainedModel source = mapper("");
  source.state.notes = to_notes({.task = "seq2seq", .source_tokenizer = source.state.tokenizer});
  source.state.tokenizer = text::StoredTokenizer(text::byte_tokenizer());
  const PromptForm form(config, source);
  EXPECT_EQ(form.prompt({{"user", "b a"}}), (Ids{2, 1, 4}));
  EXPECT_EQ(form.text({'b', 'a'}), "ba");
  EXPECT_EQ(form.end(), 256);
  EXPECT_EQ(form.start(), Ids{256}) << "it has no padding";
}

TEST(PromptForms, OfSourcesNameTheStart) {
  PromptFormConfig config;
  const TrainedModel imported = mapper("");
  EXPECT_NE(refused(config, imported).find("runs/a does not say which token its decoder is fed"),
            std::string::npos);
  config.start = "<pad>";
  EXPECT_EQ(PromptForm(config, imported).start(), Ids{3});
  EXPECT_EQ(PromptForm(config, mapper(R"({"task":"seq2seq","start":"</s>"})")).start(), Ids{3});
  config.start = "<none>";
  EXPECT_NE(refused(config, imported).find("generate.start=\"<none>\" is no token"),
            std::string::npos);
  EXPECT_NE(refused(config, trained()).find("runs/a continues its prompts"), std::string::npos);
  EXPECT_NE(refused(chats(), imported).find("runs/a maps sources to targets"), std::string::npos);
}

TEST(PromptForms, MaySpellSpecialTokens) {
  PromptFormConfig config;
  config.specials = true;
  config.start = "<pad>";
  const TrainedModel source = mapper("");
  const PromptForm form(config, source);
  EXPECT_EQ(form.prompt({{"user", "a <pad> b"}}), (Ids{1, 3, 2, 4}));
  EXPECT_NE(form.text({1, 3}).find("<pad>"), std::string::npos);
  config.start = "";
  const TrainedModel decoder = trained();
  EXPECT_EQ(PromptForm(config, decoder).prompt({{"user", "a<|endoftext|>"}}), (Ids{'a', 256}));
  PromptFormConfig chat = chats();
  chat.specials = true;
  EXPECT_NE(refused(chat, tuned()).find("generate.specials is for texts"), std::string::npos);
}

}  // namespace
}  // namespace skein::train
