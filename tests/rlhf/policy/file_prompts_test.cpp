// Prompts that are read from files.
#include "skein/rlhf/policy/file_prompts.h"

#include <fstream>
#include <gtest/gtest.h>
#include <set>

#include "support/expect_error.h"
#include "train/train_fixture.h"

namespace skein::rlhf::policy {
namespace {

class FilesOfPrompts : public testing::Test {
 protected:
  FilesOfPrompts() {
    std::ofstream(folder_.file("a.jsonl")) << R"({"prompt": "a", "completion": "left out"}
{"prompt": "much too long a question"}
{"prompt": "b"}
)";
    std::ofstream(folder_.file("b.jsonl"))
        << R"({"messages": [{"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}]})"
        << '\n';
  }
  FilePrompts read(int64_t room, uint64_t seed = 1) const {
    return FilePrompts({.files = {folder_.file("a.jsonl"), folder_.file("b.jsonl")}},
                       "data.prompts", form_, room, seed);
  }

  test::Scratch folder_;
  std::unique_ptr<text::Tokenizer> tokenizer_ = text::byte_tokenizer();
  text::ChatTemplate form_{"none", *tokenizer_};
};

TEST_F(FilesOfPrompts, AreTheTurnsBeforeTheLastAnswers) {
  const FilePrompts prompts = read(100);
  ASSERT_EQ(prompts.all().size(), 4u);
  EXPECT_EQ(prompts.all()[0].tokens, tokenizer_->encode("a"));
  EXPECT_EQ(prompts.all()[0].record, R"({"prompt": "a", "completion": "left out"})");
  EXPECT_EQ(prompts.all()[3].text(), "c");
  EXPECT_EQ(prompts.all()[3].messages.size(), 1u);
  EXPECT_EQ(prompts.all()[3].number, 3);
}

TEST_F(FilesOfPrompts, ThatAreTooLongAreLeftOut) {
  testing::internal::CaptureStderr();
  const FilePrompts prompts = read(4);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("1 of 4 prompts of data.prompts are longer than the 4 tokens"),
            std::string::npos)
      << said;
  ASSERT_EQ(prompts.all().size(), 3u);
  EXPECT_EQ(prompts.all()[1].text(), "b");
  EXPECT_EQ(prompts.all()[1].number, 2) << "its number in the data";
  test::expect_error(ExitCode::usage,
                     {"all 4 prompts of data.prompts are longer than the 0 tokens"},
                     [&] { read(0); });
}

TEST_F(FilesOfPrompts, AreMetOnceAnEpochInAnOrderOfTheSeed) {
  const FilePrompts prompts = read(100), same = read(100), other = read(100, 2);
  std::vector<int64_t> order, others;
  for (int64_t epoch = 0; epoch < 8; ++epoch) {
    std::set<int64_t> met;
    for (int64_t i = 0; i < 4; ++i) {
      const int64_t index = epoch * 4 + i;
      met.insert(prompts.at(index).number);
      EXPECT_EQ(prompts.at(index).number, same.at(index).number);
      order.push_back(prompts.at(index).number);
      others.push_back(other.at(index).number);
    }
    EXPECT_EQ(met.size(), 4u) << epoch;
  }
  EXPECT_NE(order, others);
}

// Only prompts that ask for something, by their numbers.
class Asking : public rewards::RewardSource {
 public:
  std::string name() const override { return "asking"; }
  std::vector<double> scores(std::span<const rewards::Answer> answers) override {
    return std::vector<double>(answers.size(), 0);
  }
  void check_prompt(const rewards::Prompt& prompt) const override {
    require(prompt.text() != refused, "prompt {} asks for {}", prompt.number, refused);
  }
  std::string refused;
};

TEST_F(FilesOfPrompts, CanAllBeScored) {
  Asking rewards;
  rewards.refused = "nothing";
  read(4).check(rewards);
  rewards.refused = "b";
  test::expect_error(ExitCode::usage, {"prompt 2 asks for b"}, [&] { read(4).check(rewards); });
}

}  // namespace
}  // namespace skein::rlhf::policy
