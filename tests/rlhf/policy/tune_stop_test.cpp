// A tuning that is stopped inside of an iteration or an evaluation makes it again with the same
// bits.
#include <csignal>

#include "skein/core/stop_signals.h"
#include "skein/rlhf/oracle/episodes.h"
#include "skein/rlhf/policy/ppo.h"
#include "skein/train/run_state.h"

#include "rlhf/tune_fixture.h"

namespace skein::rlhf::policy {
namespace {

// Likes long answers; meets a signal where it scores for the time number `at`.
class LongAnswers : public rewards::RewardSource {
 public:
  LongAnswers(int at, bool speaks) : at_(at), speaks_(speaks) {}
  std::string name() const override { return "long"; }
  std::vector<double> scores(std::span<const rewards::Answer> answers) override {
    if (++calls_ == at_ && speaks_) raise(SIGUSR2);
    std::vector<double> made;
    for (const rewards::Answer& one : answers)
      made.push_back(static_cast<double>(one.tokens.size()));
    return made;
  }

 private:
  int at_, calls_ = 0;
  bool speaks_;
};

class StoppedTuning : public TunedPolicy {
 protected:
  StoppedTuning()
      : language_(oracle::oracle_language(folder_.file("language.txt"))),
        tokenizer_(oracle_tokenizer(language_)) {
    run(1, {{"ppo.iterations", "1"}}, "start");
    start_ = *checkpoint::find_checkpoint(folder_.file("start") + "/pretrained", *single_rank());
  }

  TuneConfig config(const std::string& name) const {
    TuneConfig made = tune_defaults();
    Options options("test", "");
    bind(options, made);
    for (const auto& [key, value] : oracle::oracle_defaults()) options.set(key, value, "test");
    for (const auto& [key, value] : Settings{{"run.dir", folder_.file(name)},
                                             {"ppo.iterations", "3"},
                                             {"ppo.rollout_batch", "32"},
                                             {"train.global_batch", "16"},
                                             {"train.micro_batch", "4"},
                                             {"generate.batch", "8"},
                                             {"ppo.epochs", "1"},
                                             {"parallel.reduction_groups", "4"},
                                             {"lr.lr", "3e-3"},
                                             {"ppo.shown", "0"},
                                             {"run.log_every", "1000"},
                                             {"generate.max_tokens", "3"},
                                             {"checkpoint.every", "10"},
                                             {"validation.every", "1"}})
      options.set(key, value, "test");
    made.run.model = stored_model(train::run_state(start_.metadata, start_.path), start_.path);
    settle(made);
    return made;
  }

  // Scores are asked for in turn by an iteration and by its evaluation. stop_at: which of these
  // times is interrupted; 0: none.
  TuneResult tuned(const std::string& name, int ranks, int stop_at) {
    const TuneConfig c = config(name);
    TuneResult found;
    run_ranks(ranks, [&](Group& world) {
      std::vector<rewards::RewardMixture::Part> parts;
      parts.push_back(
          {1, "long", std::make_unique<LongAnswers>(stop_at, world.rank() == ranks - 1)});
      rewards::RewardMixture rewards(std::move(parts));
      const oracle::OraclePrompts prompts(language_, 1);
      std::vector<rewards::Prompt> held_out;
      for (int64_t i = 0; i < 8; ++i) held_out.push_back(prompts.at(i));
      Tuning tuning{
          {start_, *tokenizer_}, prompts, rewards, language_.end_id(), oracle_banned(language_)};
      tuning.held_out = &held_out;
      const TuneResult result = tune(c, tuning, world);
      if (world.rank() == 0) found = result;
    });
    return found;
  }

  oracle::OracleLanguage language_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  checkpoint::CheckpointInfo start_;
};

TEST_F(StoppedTuning, GoesOnWithEqualBits) {
  const TuneResult whole = tuned("whole", 1, 0);
  EXPECT_FALSE(whole.stopped);
  struct Case {
    int ranks, stop_at;
    int64_t done;
    bool owed;
  };
  // In iterations 1 and 2, in the evaluations of 2 and of the last one.
  for (const Case& one :
       {Case{1, 1, 0, false}, Case{2, 3, 1, false}, Case{2, 4, 2, true}, Case{1, 6, 3, true}}) {
    const std::string name = fmt::format("run{}", one.stop_at);
    const TuneResult stopped = tuned(name, one.ranks, one.stop_at);
    EXPECT_TRUE(stopped.stopped) << name;
    EXPECT_TRUE(stopped.committed) << name;
    EXPECT_EQ(stopped.done, one.done) << name;
    const auto left = checkpoint::find_checkpoint(folder_.file(name), *single_rank());
    ASSERT_TRUE(left.has_value()) << name;
    EXPECT_EQ(left->step, one.done) << name;
    EXPECT_EQ(train::run_state(left->metadata, left->path).validation_owed, one.owed) << name;
    EXPECT_FALSE(tuned(name, one.ranks, 0).stopped) << name;
    EXPECT_EQ(metrics_in(folder_.file(name) + "/metrics.jsonl"),
              metrics_in(folder_.file("whole") + "/metrics.jsonl"))
        << name;
    EXPECT_EQ(train::first_difference(train::state_of(folder_.file(name)),
                                      train::state_of(folder_.file("whole"))),
              "")
        << name;
    EXPECT_EQ(train::first_difference(train::state_of(folder_.file(name) + "/best"),
                                      train::state_of(folder_.file("whole") + "/best")),
              "")
        << name;
  }
}

}  // namespace
}  // namespace skein::rlhf::policy
