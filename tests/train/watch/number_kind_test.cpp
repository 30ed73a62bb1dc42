#include "skein/train/watch/number_kind.h"

#include <gtest/gtest.h>

#include "skein/train/watch/progress_bar.h"

namespace skein::train {
namespace {

TEST(NumberKind, KnowsWhatNumbersAreAbout) {
  const auto group = [](const char* name) {
    return std::string(name_of(kind_of_number(name).group));
  };
  for (const char* name : {"loss", "masked_loss", "perplexity", "sft_loss"})
    EXPECT_EQ(group(name), "loss") << name;
  for (const char* name : {"lr", "grad_norm", "critic_grad_norm", "loss_scale"})
    EXPECT_EQ(group(name), "learning") << name;
  for (const char* name : {"reward", "score_length", "kl", "kl_beta", "chosen_reward", "entropy"})
    EXPECT_EQ(group(name), "rewards") << name;
  for (const char* name :
       {"seconds", "tokens_per_second", "links_per_second", "peak_memory_bytes", "share_of_peak"})
    EXPECT_EQ(group(name), "speed") << name;
  for (const char* name : {"accuracy", "", "what nobody knows"})
    EXPECT_EQ(group(name), "scores") << name;
  EXPECT_TRUE(kind_of_number("grad_norm").logarithmic);
  EXPECT_STREQ(kind_of_number("seconds").unit, "s");
}

TEST(NumberKind, TellsValidationFromTraining) {
  EXPECT_TRUE(of_validation("validation_loss"));
  EXPECT_FALSE(of_validation("loss"));
  EXPECT_EQ(without_validation("validation_loss"), "loss");
  EXPECT_EQ(as_validation({{"loss", 1}, {"f1", 2}}),
            (NamedValues{{"validation_loss", 1}, {"validation_f1", 2}}));
  EXPECT_EQ(without_validation("loss"), "loss");
}

TEST(ProgressBar, SaysHowFarAndHowLong) {
  EXPECT_EQ(progress_text("step", 0, 0, 320, 0), "[                    ] step 0/320, 0%");
  EXPECT_EQ(progress_text("step", 100, 120, 320, 10),
            "[=======             ] step 120/320, 38%, ETA 1m40s");
  EXPECT_EQ(progress_text("step", 0, 320, 320, 10),
            "[====================] step 320/320, 100%, ETA 0s");
  // Rolled back behind where it began, beyond its end, and nothing to do.
  EXPECT_EQ(progress_text("step", 100, 80, 320, 10), "[=====               ] step 80/320, 25%");
  EXPECT_EQ(progress_text("step", 0, 4, 2, 1), "[====================] step 4/2, 100%, ETA 0s");
  EXPECT_EQ(progress_text("step", 0, 0, 0, 0), "[====================] step 0/0, 100%");
}

}  // namespace
}  // namespace skein::train
