// Scores of what a model wrote, and the file of it.
#include "skein/train/tasks/decoded_texts.h"

#include <gtest/gtest.h>

#include "skein/core/json.h"

namespace skein::train {
namespace {

WantedTexts wanted() {
  return {.prompts = {{1}, {2}},
          .sources = {"eine Katze", "es regnet heute"},
          .references = {{"a cat sat on the mat"}, {"it rains today", "it is raining"}}};
}

TEST(DecodedTexts, PerfectOnesScoreHundredAndOthersLess) {
  const std::vector<std::string> perfect{"a cat sat on the mat", "it is raining"},
      poor{"a dog sat on the mat", "nothing"};
  const TextScores best = score_texts(perfect, wanted(), training_metrics()),
                   less = score_texts(poor, wanted(), training_metrics());
  ASSERT_EQ(best.values.size(), less.values.size());
  for (const char* name : {"bleu", "chrf", "rouge1", "rouge2", "rougeL", "exact_match", "f1"}) {
    EXPECT_NEAR(value_named(best.values, name), 100, 1e-9) << name;
    EXPECT_LT(value_named(less.values, name), 99) << name;
  }
  EXPECT_EQ(value_named(less.values, "exact_match"), 0);
  EXPECT_NE(best.text().find("bleu 100.00, chrf 100.00"), std::string::npos) << best.text();
}

// The numbers are those of the corpus, not means of samples.
TEST(DecodedTexts, ScoresAreThoseOfTheMetricOverAllTexts) {
  const std::vector<std::string> said{"a cat sat on a mat", "it rains"};
  const auto metric = text::make_metric("bleu", {});
  text::Counts sums(metric->width());
  for (size_t i = 0; i < said.size(); ++i) metric->add(said[i], wanted().references[i], sums);
  const TextScores found = score_texts(said, wanted(), {"bleu"});
  EXPECT_EQ(found.values, metric->values(sums).scores);
  EXPECT_GT(value_named(found.values, "bleu"), 1);
}

TEST(DecodedTexts, SignaturesSayHowManyReferencesThereAre) {
  const std::vector<std::string> said{"a", "b"};
  const TextScores varied = score_texts(said, wanted(), {"bleu", "chrf"});
  ASSERT_EQ(varied.signatures.size(), 2u);
  EXPECT_EQ(varied.signatures[0].first, "bleu");
  EXPECT_EQ(wanted().references_each(), 0);
  EXPECT_EQ(varied.signatures[0].second.find("nrefs:1"), std::string::npos);
  WantedTexts one = wanted();
  one.references[1].pop_back();
  EXPECT_EQ(one.references_each(), 1);
  const std::string signature = score_texts(said, one, {"bleu"}).signatures[0].second;
  EXPECT_TRUE(signature.starts_with("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:"))
      << signature;
  text::MetricOptions lower;
  lower.lowercase = true;
  EXPECT_NE(score_texts(said, one, {"bleu"}, lower).signatures[0].second.find("case:lc"),
            std::string::npos);
}

TEST(DecodedTexts, FilesHaveALineAPairThatScoresReadAgain) {
  const std::string lines = texts_as_jsonl({"a cat", "bad \xff"}, wanted());
  std::vector<nlohmann::json> read;
  for (size_t at = 0; at < lines.size(); at = lines.find('\n', at) + 1)
    read.push_back(nlohmann::json::parse(lines.substr(at, lines.find('\n', at) - at)));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0]["source"], "eine Katze");
  EXPECT_EQ(read[0]["hypothesis"], "a cat");
  EXPECT_EQ(read[0]["reference"], "a cat sat on the mat");
  EXPECT_EQ(read[1]["hypothesis"], "bad \xef\xbf\xbd");
  EXPECT_EQ(read[1]["reference"].size(), 2u);
}

}  // namespace
}  // namespace skein::train
