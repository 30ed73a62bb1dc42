// Scores of the reference programs (tools/make_text_score_golden.py).
#include "skein/core/version.h"
#include "skein/text/scores/bootstrap.h"
#include "skein/text/scores/metrics.h"

#include "text/golden_files.h"
#include "text/scores/porter.h"

namespace skein::text {
namespace {

using Json = nlohmann::json;
using Texts = std::vector<std::string>;

constexpr double kNear = 1e-9;

const Json& golden() {
  static const Json all = Json::parse(test::golden_text("scores.json.xz"));
  return all;
}

std::unique_ptr<const Metric> metric_of(const std::string& name, const Json& chosen) {
  MetricOptions options;
  Options named("test", "");
  bind(named, options);
  for (const auto& [key, value] : chosen.items())
    named.set("score." + key, value.get<std::string>(), "golden");
  return make_metric(name, options);
}

double value_of(const MetricValues& values, const std::string& name) {
  for (const NamedValues* list : {&values.scores, &values.details})
    for (const auto& [known, value] : *list)
      if (known == name) return value;
  ADD_FAILURE() << name << " is not among the values";
  return 0;
}

void expect_values(const MetricValues& values, const Json& wanted) {
  for (const auto& [name, value] : wanted.items())
    EXPECT_NEAR(value_of(values, name), value.get<double>(), kNear) << name;
}

void expect_run(const Json& run) {
  const auto metric = metric_of(run["metric"], run["options"]);
  Counts sums(metric->width());
  const Json& samples = golden()["samples"];
  ASSERT_EQ(samples.size(), run["samples"].size());
  for (size_t i = 0; i < samples.size(); ++i) {
    SCOPED_TRACE(samples[i].dump().substr(0, 1000));
    Counts counts(metric->width());
    metric->add(samples[i][0].get<std::string>(), samples[i][1].get<Texts>(), counts);
    expect_values(metric->sample_values(counts), run["samples"][i]);
    for (size_t k = 0; k < sums.size(); ++k) sums[k] += counts[k];
  }
  expect_values(metric->values(sums), run["corpus"]);
  const std::string signature = run["signature"].get<std::string>();
  if (signature.empty()) return;
  EXPECT_EQ(metric->signature(0), fmt::format("{}|version:skein-{}", signature, kVersion));
}

TEST(TextScores, AreThoseOfTheReferencePrograms) {
  EXPECT_GE(golden()["runs"].size(), 25u);
  EXPECT_GE(golden()["samples"].size(), 70u);
  for (const Json& run : golden()["runs"]) {
    SCOPED_TRACE(run["metric"].dump() + run["options"].dump());
    expect_run(run);
  }
}

TEST(TextScores, StemsAreThoseOfTheReference) {
  EXPECT_GE(golden()["stems"].size(), 1500u);
  for (const auto& [word, stem] : golden()["stems"].items())
    EXPECT_EQ(porter_stem(word), stem.get<std::string>()) << word;
}

Counts counts_of_all(const Metric& metric, const Json& hypotheses, const Json& references) {
  const size_t width = metric.width();
  Counts counts(hypotheses.size() * width);
  for (size_t i = 0; i < hypotheses.size(); ++i)
    metric.add(hypotheses[i].get<std::string>(), references[i].get<Texts>(),
               std::span(counts).subspan(i * width, width));
  return counts;
}

TEST(TextScores, PairedBootstrapIsThatOfTheReference) {
  const Json& wanted = golden()["bootstrap"];
  const auto bleu = make_metric("bleu", {});
  const Counts first = counts_of_all(*bleu, wanted["hypotheses"], wanted["references"]);
  const Counts second = counts_of_all(*bleu, wanted["others"], wanted["references"]);
  const std::vector<MeasuredSamples> measured{{bleu.get(), first}, {bleu.get(), second}};
  const auto scores = resampled_scores(measured, {.resamples = 200, .seed = 12345});
  const Interval interval = interval_of(scores[1][0]);
  EXPECT_NEAR(interval.mean, wanted["mean"].get<double>(), kNear);
  EXPECT_NEAR((interval.high - interval.low) / 2, wanted["half"].get<double>(), kNear);
  const double difference = wanted["other"].get<double>() - wanted["score"].get<double>();
  const PairedTest test = paired_test(scores[0][0], scores[1][0], difference);
  EXPECT_NEAR(test.p, wanted["p"].get<double>(), kNear);
  EXPECT_NEAR(test.wins, wanted["wins"].get<double>(), kNear);
}

}  // namespace
}  // namespace skein::text
