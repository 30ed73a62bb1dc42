#include "rollout.h"

#include "skein/core/philox.h"
#include "skein/data/samples/order.h"
#include "skein/models/flops.h"
#include "skein/rlhf/rewards/answers.h"

namespace skein::rlhf::policy {

Rollout answered(const std::vector<rewards::Prompt>& asked, int64_t first, const Tuning& tuning,
                 generate::Generator& generator, Meeting* meeting) {
  std::vector<generate::Tokens> prompts;
  std::vector<uint64_t> draws;
  for (const rewards::Prompt& prompt : asked) {
    prompts.push_back(prompt.tokens);
    draws.push_back(first + std::ssize(draws));
  }
  const std::vector<generate::Continuation> answers = generator.run(prompts, draws, {}, meeting);
  Rollout made;
  for (size_t i = 0; i < answers.size(); ++i) {
    Episode& episode = made.episodes.emplace_back();
    episode.number = draws[i];
    episode.prompt = asked[i];
    episode.tokens = answers[i].tokens;
    episode.path.ended = answers[i].ended;
    if (answers[i].ended) episode.tokens.push_back(tuning.end);
  }
  return made;
}

Rollout sample_answers(const TuneConfig& c, const Tuning& tuning, generate::Generator& generator,
                       int64_t iteration, Meeting* meeting) {
  const int64_t first = iteration * c.ppo.rollout_batch;
  std::vector<rewards::Prompt> asked;
  for (int64_t i = 0; i < c.ppo.rollout_batch; ++i)
    asked.push_back(tuning.prompts.at((first + i) / c.ppo.answers));
  return answered(asked, first, tuning, generator, meeting);
}

void score_answers(const Tuning& tuning, Rollout& rollout) {
  std::vector<rewards::Answer> answers;
  for (const Episode& episode : rollout.episodes)
    answers.push_back(
        {episode.prompt, tuning.text_of(episode.tokens), episode.tokens, episode.path.ended});
  rewards::AnswerScores scores = scores_of(tuning.rewards, answers);
  for (size_t i = 0; i < answers.size(); ++i) rollout.episodes[i].path.score = scores.sums[i];
  rollout.sources = std::move(scores.sources);
}

namespace {

std::vector<Trajectory> taken_paths(std::vector<Episode>& episodes) {
  std::vector<Trajectory> paths;
  for (Episode& episode : episodes) paths.push_back(std::move(episode.path));
  return paths;
}

GroupBaseline baseline_of(const PpoConfig& c) {
  if (c.algorithm == PpoConfig::Algorithm::rloo) return GroupBaseline::leave_one_out;
  return c.divide_by_std ? GroupBaseline::mean_and_std : GroupBaseline::mean;
}

// Groups are flat whose scores are equal, whatever their KL.
void compare_answers(const TuneConfig& c, std::vector<Trajectory>& paths, Rollout& rollout) {
  std::vector<double> rewards, scores;
  for (const Trajectory& path : paths) {
    scores.push_back(shaped_score(c.shaping, path.score, path.ended));
    rewards.push_back(c.kl_in_reward() ? response_reward(path) : scores.back());
  }
  const GroupBaseline baseline = baseline_of(c.ppo);
  const GroupAdvantages found = group_advantages(baseline, rewards, c.ppo.answers);
  spread(paths, found.advantages);
  rollout.groups = std::ssize(paths) / c.ppo.answers;
  rollout.flat_groups = group_advantages(baseline, scores, c.ppo.answers).flat_groups;
}

}  // namespace

void weigh_answers(const TuneConfig& c, double beta, Rollout& rollout) {
  std::vector<Trajectory> paths = taken_paths(rollout.episodes);
  for (Trajectory& path : paths) shape_rewards(path, beta, c.shaping);
  if (c.ppo.algorithm == PpoConfig::Algorithm::ppo) {
    for (Trajectory& path : paths) estimate_advantages(path, c.ppo.gamma, c.ppo.lambda);
    rollout.explained_variance = explained_variance(paths);
    if (c.ppo.whiten) whiten(paths);
  } else {
    compare_answers(c, paths, rollout);
  }
  for (size_t i = 0; i < paths.size(); ++i) rollout.episodes[i].path = std::move(paths[i]);
}

double rollout_flops(const TuneConfig& c, const std::vector<Episode>& episodes) {
  const TokenFlops policy(c.run.model), critic(critic_model(c.run.model));
  double sum = 0;
  for (const Episode& episode : episodes) {
    // The last token is not fed.
    const int64_t fed = episode.prompt.tokens.size() + episode.tokens.size() - 1;
    double a_token = 3 * policy(fed);
    if (c.has_critic()) a_token += critic(fed);
    sum += fed * a_token / 3;
  }
  return sum;
}

EpisodeSamples learnt_samples(const TuneConfig& c, const std::vector<Episode>& episodes) {
  EpisodeSamples samples(episodes,
                         longest_row(episodes, c.run.model.context, row_multiple(c.run.parallel)),
                         longest_answer(episodes));
  samples.set_aggregation(c.ppo.aggregation, c.run.train.global_batch, c.generate.max_tokens);
  return samples;
}

std::vector<int64_t> learnt_order(const TuneConfig& c, int64_t iteration, int64_t epoch) {
  const uint64_t key = derive_key(c.run.train.seed, "minibatches");
  std::vector<int64_t> order;
  for (int64_t i = 0; i < c.ppo.rollout_batch; ++i)
    order.push_back(data::permuted(key, iteration * c.ppo.epochs + epoch, c.ppo.rollout_batch, i));
  return order;
}

}  // namespace skein::rlhf::policy
