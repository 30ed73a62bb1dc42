// How a decoder is asked.
#include "skein/train/tasks/prompt_form.h"

#include <gtest/gtest.h>

#include "skein/core/error.h"

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
  try {
    const PromptForm form(config, source);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
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
  PromptFormConfig config;
  config.system = "be kind";
  EXPECT_NE(refused(config, tuned()).find("are for conversations; give generate.chat too"),
            std::string::npos);
}

}  // namespace
}  // namespace skein::train
