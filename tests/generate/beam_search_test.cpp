// Beam search over scripted logits: what transformers finds, and what must hold for any.
#include "skein/generate/beam_search.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>

#include "skein/core/json.h"
#include "skein/generate/sampling.h"

#include "generate/scripted_logits.h"

namespace skein::generate {
namespace {

using Json = nlohmann::json;
using test::ScriptedModel;

const Json& golden() {
  static const Json made = [] {
    std::ifstream file("generate/beams.golden.json");
    return Json::parse(file);
  }();
  return made;
}

AnswerBounds golden_bounds() { return {golden()["most"], golden()["end"], golden()["ids"], {}}; }

struct Setting {
  BeamConfig config;
  std::vector<int64_t> banned;
  bool short_prompts;  // of one token, behind which alone transformers forces a first one
};

EarlyStop early_stop(const std::string& word) {
  if (word == "true") return EarlyStop::at_once;
  return word == "never" ? EarlyStop::never : EarlyStop::when_unlikely;
}

Setting setting(const Json& one) {
  BeamConfig c;
  c.size = c.best = one["size"];
  c.length_penalty = one["length_penalty"];
  c.early_stop = early_stop(one["early_stop"]);
  c.min_tokens = one.value("min_tokens", 0);
  c.no_repeat_ngram = one.value("no_repeat", 0);
  c.first_token = one.value("first", -1);
  c.last_token = one.value("last", -1);
  return {c, one.value("banned", std::vector<int64_t>{}), one.contains("first")};
}

const std::vector<Setting>& settings() {
  static const std::vector<Setting> made = [] {
    std::vector<Setting> all;
    for (const Json& one : golden()["settings"]) all.push_back(setting(one));
    return all;
  }();
  return made;
}

std::vector<Continuation> found_by(const Setting& how, Tokens prompt, ScriptedModel& model) {
  if (how.short_prompts) prompt.resize(1);
  model.bounds().banned = how.banned;
  return model.searched(how.config, prompt).best();
}

std::string spelt(const Continuation& one) {
  static const std::string letters = golden()["letters"];
  static const size_t end = golden()["end"];
  std::string made;
  for (int32_t id : one.tokens) made += letters.at(static_cast<size_t>(id));
  return one.ended ? made + letters[end] : made;
}

TEST(BeamSearch, FindsTheAnswersOfTransformers) {
  size_t cases = 0, differing = 0;
  for (size_t source = 0; source < golden()["answers"].size(); ++source) {
    ScriptedModel model(golden_bounds());
    const Tokens prompt = golden()["prompts"][source];
    const std::vector<std::string> texts = golden()["answers"][source]["texts"];
    const std::vector<size_t> best = golden()["answers"][source]["best"];
    ASSERT_EQ(best.size(), settings().size());
    for (size_t i = 0; i < best.size(); ++i, ++cases) {
      const auto found = found_by(settings()[i], prompt, model);
      ASSERT_FALSE(found.empty());
      if (spelt(found[0]) == texts[best[i]]) continue;
      if (++differing < 10)
        ADD_FAILURE() << "source " << source << " " << golden()["settings"][i] << ": "
                      << spelt(found[0]) << ", not " << texts[best[i]];
    }
  }
  EXPECT_EQ(cases, 200u * 201);
  EXPECT_EQ(differing, 0u);
}

TEST(BeamSearch, FindsAllHypothesesOfTransformersAndTheirScores) {
  ScriptedModel model(golden_bounds());
  size_t cases = 0;
  for (const Json& one : golden()["listed"]) {
    const Setting& how = settings()[one["setting"].get<size_t>()];
    for (size_t source = 0; source < one["found"].size(); ++source) {
      const auto found = found_by(how, golden()["prompts"][source], model);
      const Json& expected = one["found"][source];
      ASSERT_EQ(found.size(), expected.size()) << one["setting"];
      for (size_t i = 0; i < found.size(); ++i, ++cases) {
        const double score = expected[i][1];
        EXPECT_EQ(spelt(found[i]), expected[i][0]) << one["setting"] << " " << source << " " << i;
        EXPECT_NEAR(found[i].score, score, 2e-6 * std::abs(score)) << one["setting"];
      }
    }
  }
  EXPECT_GT(cases, 1000u);
}

// Every answer of up to three tokens over five ids, the best first.
std::vector<Continuation> all_answers(const BeamConfig& config, ScriptedModel& model) {
  std::vector<Continuation> made;
  const AnswerBounds& bounds = model.bounds();
  std::vector<std::pair<Tokens, float>> open{{{}, 0}};
  for (int64_t length = 1; length <= bounds.most; ++length) {
    std::vector<std::pair<Tokens, float>> next;
    for (const auto& [tokens, sum] : open)
      for (const Candidate& one : model.after(tokens)) {
        const double base = config.length_norm == LengthNorm::gnmt
                                ? (5.0 + static_cast<double>(length)) / 6
                                : static_cast<double>(length);
        const float total = sum + one.log_probability;
        const bool ended = one.id == bounds.end;
        Tokens longer = tokens;
        if (!ended) longer.push_back(one.id);
        if (ended || length == bounds.most)
          made.push_back({longer, ended, total / std::pow(base, config.length_penalty)});
        else
          next.emplace_back(longer, total);
      }
    open = std::move(next);
  }
  std::stable_sort(made.begin(), made.end(),
                   [](const Continuation& a, const Continuation& b) { return a.score > b.score; });
  return made;
}

// So many beams leave nothing out.
TEST(BeamSearch, WithManyBeamsAndNeverStoppingFindsTheBestOfAll) {
  for (LengthNorm norm : {LengthNorm::power, LengthNorm::gnmt})
    for (double penalty : {-1.0, 0.0, 0.6, 1.0, 3.0}) {
      ScriptedModel model({3, 0, 5, {}});
      BeamConfig config;
      config.size = 120;
      config.best = 10;
      config.length_penalty = penalty;
      config.length_norm = norm;
      config.early_stop = EarlyStop::never;
      auto expected = all_answers(config, model);
      ASSERT_EQ(expected.size(), 1u + 4 + 4 * 4 * 5);
      expected.resize(10);
      EXPECT_EQ(model.searched(config, {}).best(), expected) << penalty;
    }
}

// Two beams whose sums are equal, and ids of equal probability.
TEST(BeamSearch, TiesGoByTheLowerBeamAndThenTheLowerId) {
  BeamConfig config;
  config.size = 2;
  const Tokens prompt;
  BeamSearch search(config, prompt, 9, 0);
  search.advance({{0, 7, -1}, {0, 5, -1}, {0, 6, -1}});
  ASSERT_EQ(search.beams().size(), 2u);
  EXPECT_EQ(search.beams()[0], (Beam{{5}, -1, 0}));
  EXPECT_EQ(search.beams()[1], (Beam{{6}, -1, 0}));
  search.advance({{1, 1, -1}, {0, 9, -1}, {0, 8, -1}, {1, 3, -1}});
  EXPECT_EQ(search.beams()[0], (Beam{{5, 8}, -2, 0}));
  EXPECT_EQ(search.beams()[1], (Beam{{5, 9}, -2, 0}));
}

// Only what ends among the first `size` candidates is an answer; of equal scores the earlier one
// stays first.
TEST(BeamSearch, AnEndAmongTheLaterCandidatesIsNone) {
  BeamConfig config;
  config.size = config.best = 2;
  const Tokens prompt;
  BeamSearch search(config, prompt, 9, 0);
  search.advance({{0, 1, -1}, {0, 2, -2}, {0, 0, -3}, {0, 3, -4}});
  EXPECT_TRUE(search.best().empty());
  search.advance({{0, 0, -1}, {0, 4, -3}, {1, 5, -4}, {1, 0, -5}});
  EXPECT_EQ(search.best(), (std::vector<Continuation>{{{1}, true, -1}}));
  EXPECT_EQ(search.beams()[0], (Beam{{1, 4}, -4, 0}));
  EXPECT_EQ(search.beams()[1], (Beam{{2, 5}, -6, 1}));
  search.advance({{0, 6, -1}, {1, 0, 3}});
  EXPECT_EQ(search.best(), (std::vector<Continuation>{{{1}, true, -1}, {{2, 5}, true, -1}}));
}

// Two hypotheses, of one and of two ids, with the scores -1 and -1.5 / 2 where the penalty is 1;
// the sum of both beams is -1 + next.
bool stopped(EarlyStop rule, double penalty, float next) {
  BeamConfig config;
  config.size = config.best = 2;
  config.early_stop = rule;
  config.length_penalty = penalty;
  const Tokens prompt;
  BeamSearch search(config, prompt, 9, 0);
  search.advance({{0, 0, -1}, {0, 1, -1}, {0, 2, -1}});
  EXPECT_FALSE(search.finished());
  search.advance({{0, 0, -0.5f}, {0, 3, next}, {1, 3, next}});
  EXPECT_EQ(search.best().size(), 2u);
  return search.finished();
}

TEST(BeamSearch, StopsByTheRuleThatIsAskedFor) {
  for (double penalty : {-1.0, 0.0, 1.0})
    EXPECT_TRUE(stopped(EarlyStop::at_once, penalty, -0.8f)) << penalty;
  EXPECT_FALSE(stopped(EarlyStop::when_unlikely, 1, -0.8f)) << "-1.8 / 2 is above -1";
  EXPECT_TRUE(stopped(EarlyStop::when_unlikely, 1, -2)) << "-3 / 2 is not";
  EXPECT_FALSE(stopped(EarlyStop::never, 1, -2)) << "-3 / 9 is";
  EXPECT_TRUE(stopped(EarlyStop::never, 1, -9)) << "-10 / 9 is not";
  for (EarlyStop rule : {EarlyStop::when_unlikely, EarlyStop::never}) {
    EXPECT_TRUE(stopped(rule, 0, -0.8f)) << "-1.8 is below -1.5";
    EXPECT_TRUE(stopped(rule, -1, -0.8f)) << "-1.8 * 2 is below -1.5 * 2";
  }
}

TEST(BeamSearch, OneBeamIsGreedy) {
  ScriptedModel model({12, 0, 61, {}});
  for (EarlyStop rule : {EarlyStop::at_once, EarlyStop::when_unlikely, EarlyStop::never})
    for (int32_t source = 0; source < 20; ++source) {
      BeamConfig config;
      config.size = 1;
      config.early_stop = rule;
      Tokens tokens{source};
      while (tokens.size() < 13 && (tokens.size() < 2 || tokens.back() != 0))
        tokens.push_back(model.after(tokens)[0].id);
      const Continuation found = model.searched(config, {source}).best().at(0);
      EXPECT_EQ(found.ended, tokens.back() == 0);
      if (found.ended) tokens.pop_back();
      EXPECT_EQ(found.tokens, Tokens(tokens.begin() + 1, tokens.end()));
    }
}

TEST(BeamSearch, TellsWhatMayFollow) {
  BeamConfig config;
  config.size = 1;
  config.min_tokens = 2;
  config.no_repeat_ngram = 2;
  const Tokens prompt{4, 5, 4};
  BeamSearch search(config, prompt, 4, 0);
  EXPECT_EQ(search.next(0).banned, (std::vector<int32_t>{5, 0}));
  search.advance({{0, 4, -1}});
  EXPECT_EQ(search.next(0).banned, (std::vector<int32_t>{5, 4, 0}));
  search.advance({{0, 6, -1}});
  EXPECT_EQ(search.next(0).banned, (std::vector<int32_t>{})) << "no n-gram begins with 6";
  config.first_token = 9;
  config.last_token = 8;
  BeamSearch forced(config, prompt, 2, 0);
  EXPECT_EQ(forced.next(0).forced, 9);
  forced.advance({});
  EXPECT_EQ(forced.beams()[0], (Beam{{9}, 0, 0}));
  EXPECT_EQ(forced.next(0).forced, 8);
  forced.advance({{0, 1, -1}});
  EXPECT_EQ(forced.best(), (std::vector<Continuation>{{{9, 8}, false, 0}}));
}

// Impossible ids are no answers, not even where nothing else is left.
TEST(BeamSearch, EndsWhereNothingMayFollow) {
  BeamConfig config;
  config.size = config.best = 3;
  const Tokens prompt;
  BeamSearch search(config, prompt, 9, 0);
  const float never = -std::numeric_limits<float>::infinity();
  search.advance({{0, 0, -1}, {0, 1, -2}, {0, 2, never}});
  EXPECT_EQ(search.beams().size(), 1u);
  EXPECT_FALSE(search.finished());
  search.advance({{0, 0, never}});
  EXPECT_TRUE(search.finished());
  EXPECT_EQ(search.best(), (std::vector<Continuation>{{{}, true, -1}}));
}

TEST(BeamSearch, GivesTheBeamsWhereNothingMayFollowAndNoneHasEnded) {
  BeamConfig config;
  config.size = config.best = 2;
  const Tokens prompt;
  const auto stopped = [](const Tokens& tokens, double score) {
    Continuation made{tokens, false, score};
    made.stopped = true;
    return made;
  };
  BeamSearch search(config, prompt, 9, 0);
  search.advance({{0, 1, -1}, {0, 2, -2}, {0, 3, -3}});
  search.advance({{0, 4, -3}, {1, 5, -1}});
  search.advance({});
  EXPECT_TRUE(search.finished());
  EXPECT_EQ(search.best(), (std::vector<Continuation>{stopped({2, 5}, -1.5), stopped({1, 4}, -2)}));
  BeamSearch never(config, prompt, 9, 0);
  never.advance({});
  EXPECT_TRUE(never.finished());
  EXPECT_EQ(never.best(), (std::vector<Continuation>{stopped({}, 0)}));
}

std::string refusal(const BeamConfig& config, const AnswerBounds& bounds = {12, 0, 61, {}}) {
  return refusal_of([&] {
    check(config);
    check(config, bounds);
  });
}

BeamConfig beam_config(int64_t size, int64_t BeamConfig::*field = nullptr, int64_t value = 0) {
  BeamConfig made;
  made.size = size;
  if (field) made.*field = value;
  return made;
}

TEST(BeamOptions, RefuseWhatCannotBe) {
  EXPECT_EQ(refusal(beam_config(4)), "");
  EXPECT_EQ(refusal(beam_config(61)), "");
  EXPECT_EQ(refusal(beam_config(-1)), "beam.size=-1 must not be below 0");
  EXPECT_EQ(refusal(beam_config(4, &BeamConfig::best, 5)),
            "beam.best=5 must be from 1 to beam.size=4");
  EXPECT_EQ(refusal(beam_config(4, &BeamConfig::best, 0)),
            "beam.best=0 must be from 1 to beam.size=4");
  EXPECT_EQ(refusal(beam_config(62)), "beam.size=62 is more than the 61 tokens that may come");
  EXPECT_EQ(refusal(beam_config(60), {12, 0, 61, {3, 3, 5, 99}}),
            "beam.size=60 is more than the 59 tokens that may come");
  EXPECT_EQ(refusal(beam_config(4, &BeamConfig::no_repeat_ngram, -1)),
            "beam.min_tokens=0 and beam.no_repeat_ngram=-1 must not be below 0");
  EXPECT_EQ(refusal(beam_config(4, &BeamConfig::min_tokens, 13)),
            "beam.min_tokens=13 is more than the 12 of generate.max_tokens; no answer could end");
  EXPECT_EQ(refusal(beam_config(4, &BeamConfig::first_token, 61)),
            "beam.first_token=61 is outside of the vocabulary of 61");
  EXPECT_EQ(refusal(beam_config(4, &BeamConfig::first_token, -2)),
            "beam.first_token=-2 and beam.last_token=-1 must be ids, or -1 for none");
  EXPECT_EQ(refusal(beam_config(4, &BeamConfig::last_token, 5), {12, 0, 61, {5}}),
            "beam.last_token=5 forces a token that is banned; take it out of sample.banned, or "
            "force another one");
  BeamConfig ends = beam_config(4, &BeamConfig::first_token, 0);
  EXPECT_EQ(refusal(ends), "");
  ends.min_tokens = 1;
  EXPECT_EQ(refusal(ends),
            "beam.first_token=0 ends every answer at once, but beam.min_tokens=1 wants more");
  for (double penalty : {std::nan(""), 1e9, -11.0}) {
    BeamConfig far = beam_config(2);
    far.length_penalty = penalty;
    EXPECT_NE(refusal(far).find("must be from -10 to 10"), std::string::npos) << penalty;
  }
}

TEST(BeamOptions, StandEitherWithBeamsOrWithDraws) {
  const auto refused = [](const std::vector<std::string>& flags) {
    BeamConfig beam;
    SamplingConfig sampling;
    Options options("test", "");
    bind(options, beam);
    bind(options, sampling);
    options.parse(flags);
    try {
      check(beam, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused({}), "");
  EXPECT_EQ(refused({"--sample.top_k=3"}), "");
  EXPECT_EQ(refused({"--beam.size=3", "--beam.best=2", "--sample.banned=4"}), "");
  EXPECT_EQ(refused({"--beam.best=2"}),
            "beam.best=2 needs beams, but beam.size=0; give beam.size=4, say");
  for (const std::string key : {"temperature", "top_k", "top_p", "seed"})
    EXPECT_EQ(refused({"--beam.size=3", "--sample." + key + "=1"}),
              "sample." + key +
                  "=1 is about sampling, and beam.size=3 searches for likely answers; give one of "
                  "them");
}

}  // namespace
}  // namespace skein::generate
