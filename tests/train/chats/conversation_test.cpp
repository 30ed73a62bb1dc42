#include "skein/train/chats/conversation.h"

#include <gtest/gtest.h>

#include "skein/core/error.h"

namespace skein::train {
namespace {

constexpr const char* kNotes =
    R"({"task":"sft","template":{"name": "short", "system": {"open": "S"}, "user": {"open": "U"}, "assistant": {"open": "A", "close": "{eos}"}, "end": "{eos}"}})";

struct Talk {
  explicit Talk(int64_t most, const std::string& system = "") : conversation(form, most) {
    config.system = system;
  }
  static TrainedModel made() {
    TrainedModel model;
    model.state.tokenizer = text::StoredTokenizer(text::byte_tokenizer());
    model.state.notes = TaskNotes(kNotes);
    return model;
  }
  std::string asked(const std::string& text) {
    return text::byte_tokenizer()->decode(conversation.ask(text), false);
  }

  TrainedModel source = made();
  PromptFormConfig config{.chat = true};
  PromptForm form{config, source};
  Conversation conversation;
};

TEST(Conversations, AreGivenWhole) {
  Talk talk(100, "be brief");
  EXPECT_EQ(talk.asked("one"), "Sbe briefUoneA");
  talk.conversation.answer("two");
  EXPECT_EQ(talk.asked("three"), "Sbe briefUoneAtwo<|endoftext|>UthreeA");
  talk.conversation.forget();
  EXPECT_EQ(talk.asked("four"), "Sbe briefUfourA");
}

TEST(Conversations, ForgetTheirOldestTurnsWhereTheContextIsFull) {
  Talk talk(16);
  for (const char* text : {"aaa", "bbb"}) {
    talk.asked(text);
    talk.conversation.answer("c");
  }
  EXPECT_EQ(talk.conversation.forgotten(), 0);
  EXPECT_EQ(talk.asked("ddd"), "UbbbAc<|endoftext|>UdddA") << "5 + 2 + 5 tokens";
  EXPECT_EQ(talk.conversation.forgotten(), 2);
  talk.conversation.answer("e");
  const std::string refused = refusal_of([&] { talk.asked(std::string(15, 'x')); });
  EXPECT_NE(refused.find("these 17 tokens, with what stands around them, are more than the 16"),
            std::string::npos)
      << refused;
  EXPECT_EQ(talk.conversation.turns().size(), 4) << "what is refused changes nothing";
  EXPECT_EQ(talk.asked("f"), "UdddAe<|endoftext|>UfA");
}

}  // namespace
}  // namespace skein::train
