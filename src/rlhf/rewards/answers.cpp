#include "skein/rlhf/rewards/answers.h"

#include "skein/core/error.h"
#include "skein/data/records/preferences.h"

namespace skein::rlhf::rewards {

void bind(Options& options, AnswersConfig& c) {
  options.add("generate.answers", c.each, "answers sampled to each prompt", "answers");
  options.add_choice(
      "generate.keep", c.kept,
      {{"auto", KeptAnswers::automatic},
       {"best", KeptAnswers::best},
       {"all", KeptAnswers::all},
       {"ranked", KeptAnswers::ranked}},
      "of the answers to a prompt: that with the highest score, each, or jsonl: all in one record, "
      "the best first (preferences); auto: the best where reward.sources scores them, else all");
  bind(options, c.rewards);
}

void settle(AnswersConfig& c, bool jsonl, const generate::SamplingConfig& sampling) {
  require(c.each > 0, "generate.answers={} must be at least 1", c.each);
  const bool greedy = sampling.temperature == 0 || sampling.top_k == 1;
  require(c.each == 1 || !greedy,
          "generate.answers={} would be the same answer {} times, since {}; sample, or ask for one",
          c.each, c.each,
          sampling.temperature == 0 ? "sample.temperature=0 draws nothing"
                                    : "sample.top_k=1 leaves one token to draw");
  if (c.kept == KeptAnswers::automatic) c.kept = c.scored() ? KeptAnswers::best : KeptAnswers::all;
  require(c.scored() || c.kept == KeptAnswers::all,
          "generate.keep={} compares scores, but reward.sources names nothing that scores answers, "
          "such as \"model:runs/reward\"",
          c.kept == KeptAnswers::best ? "best" : "ranked");
  if (c.kept != KeptAnswers::ranked) return;
  require(jsonl,
          "generate.keep=ranked makes records of preferences; give generate.format=jsonl, too");
  const int64_t most = data::kMostAnswers;
  require(c.each > 1 && c.each <= most,
          "generate.keep=ranked compares from 2 to {} answers to a prompt, not generate.answers={}",
          most, c.each);
}

void check(const AnswersConfig& c, const generate::BeamConfig& beam) {
  if (beam.size == 0) return;
  require(c.each == 1,
          "generate.answers={} samples answers, and beam.size={} searches for them; give beam.best "
          "for several",
          c.each, beam.size);
  require(!c.scored(),
          "reward.sources score sampled answers, and beam.size={} searches for likely ones; give "
          "generate.answers instead of beams",
          beam.size);
  require(c.kept == KeptAnswers::automatic || c.kept == KeptAnswers::all,
          "generate.keep chooses among sampled answers; beam.best says how many of those found are "
          "given");
}

AnswerScores scores_of(RewardMixture& rewards, const std::vector<Answer>& answers) {
  AnswerScores made{rewards.scores(answers), {}};
  for (size_t part = 0; part < rewards.parts().size(); ++part)
    made.sources.emplace_back(rewards.parts()[part].label, rewards.last()[part]);
  return made;
}

}  // namespace skein::rlhf::rewards
