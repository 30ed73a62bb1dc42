#include "skein/data/scores/score_files.h"

#include "skein/core/json.h"
#include "skein/data/scores/text_files.h"

#include "data/data_fixtures.h"

namespace skein::data {
namespace {

using namespace test;
using Json = nlohmann::json;
using Texts = std::vector<std::string>;

// Files by name and what is in them, scored in the order in which they stand.
Json scored(const std::vector<std::pair<std::string, std::string>>& files, ScoreConfig config) {
  const Scratch scratch;
  Texts paths;
  for (const auto& [name, bytes] : files) {
    write_file(scratch.file(name), bytes);
    if (name != "baseline.txt") paths.push_back(scratch.file(name));
    if (name == "baseline.txt") config.baseline = scratch.file(name);
  }
  config.format = ReportFormat::json;
  config.output = scratch.file("report.json");
  config.samples = scratch.file("samples.jsonl");
  score_files(paths, config);
  Json report = Json::parse(bytes_of_file(config.output));
  report["lines"] = bytes_of_file(config.samples);
  return report;
}

void refused(const std::vector<std::pair<std::string, std::string>>& files,
             std::initializer_list<std::string> words, const ScoreConfig& config = {}) {
  expect_error(ExitCode::usage, words, [&] { scored(files, config); });
}

TEST(ScoreFiles, TextFilesLineByLine) {
  const Json report = scored({{"said.txt", "a cat\n\nthe dog"}, {"wanted.txt", "cat\nx\na dog\n"}},
                             {.metrics = {"exact_match", "f1"}});
  EXPECT_EQ(report["samples"], 3);
  EXPECT_NEAR(report["metrics"]["exact_match"]["scores"]["exact_match"]["score"].get<double>(),
              200.0 / 3, 1e-12);
  EXPECT_EQ(report["lines"],
            "{\"sample\":0,\"scores\":{\"exact_match\":100.0,\"f1\":100.0}}\n"
            "{\"sample\":1,\"scores\":{\"exact_match\":0.0,\"f1\":0.0}}\n"
            "{\"sample\":2,\"scores\":{\"exact_match\":100.0,\"f1\":100.0}}\n");
}

TEST(ScoreFiles, JsonLinesHoldBothSidesAndSeveralAnswers) {
  const Json report =
      scored({{"all.jsonl",
               "{\"said\":\"Paris\",\"answers\":[\"Lyon\",\"paris.\"]}\n"
               "{\"said\":\"Rome\",\"answers\":\"Milan\"}\n"}},
             {.metrics = {"exact_match"}, .hypothesis = "said", .reference = "answers"});
  EXPECT_EQ(report["metrics"]["exact_match"]["scores"]["exact_match"]["score"], 50);
  EXPECT_TRUE(
      report["metrics"]["exact_match"]["signature"].get<std::string>().starts_with("nrefs:var|"));
}

TEST(ScoreFiles, ColumnsOfTables) {
  const Json report = scored({{"said.tsv", "id\thypothesis\n1\ta b\n2\tc d\n"},
                              {"wanted.csv", "reference,id\n\"a b\",1\nc d,2\n"},
                              {"more.txt", "x\ny\n"}},
                             {.metrics = {"ter"}});
  EXPECT_EQ(report["metrics"]["ter"]["scores"]["ter"]["score"], 0);
  EXPECT_EQ(report["references"].size(), 2u);
}

TEST(ScoreFiles, ABaselineIsComparedByResampling) {
  std::string good, bad, wanted;
  for (int i = 0; i < 40; ++i) {
    const std::string line = fmt::format("the house number {} is big and old\n", i);
    wanted += line;
    good += i % 4 == 0 ? "the house is old\n" : line;
    bad += i % 4 == 0 ? line : "the house is old\n";
  }
  const ScoreConfig config{.metrics = {"bleu", "ter"}, .resamples = 100};
  const Json report =
      scored({{"said.txt", good}, {"wanted.txt", wanted}, {"baseline.txt", bad}}, config);
  for (const char* name : {"bleu", "ter"}) {
    const Json& line = report["metrics"][name]["scores"][name];
    EXPECT_LT(line["p"].get<double>(), 0.05) << line;
    EXPECT_EQ(line["wins"], 1) << line;
    EXPECT_LT(line["low"], line["score"]);
    EXPECT_LT(line["score"], line["high"]);
    EXPECT_NEAR(line["difference"].get<double>(),
                line["score"].get<double>() - line["baseline"]["score"].get<double>(), 1e-12);
  }
  EXPECT_TRUE(report["metrics"]["bleu"]["signature"].get<std::string>().starts_with(
      "nrefs:1|bs:100|seed:12345|case:mixed|"));
}

TEST(ScoreFiles, RefusesWhatDoesNotBelongTogether) {
  refused({{"said.txt", "a\nb\n"}, {"wanted.txt", "a\n"}},
          {"said.txt holds 2 texts", "wanted.txt holds 1", "equal length"});
  refused({{"said.txt", "a\n"}, {"wanted.txt", "a\n"}, {"baseline.txt", "a\nb\n"}},
          {"said.txt holds 1 texts", "baseline.txt holds 2"});
  refused({{"said.txt", ""}, {"wanted.txt", "a\n"}}, {"said.txt holds no texts"});
  refused({{"said.txt", "a\n"}}, {"said.txt", "no references were named"});
  refused({}, {"no file was named"});
  refused({{"all.jsonl", "{\"hypothesis\":\"a\",\"refrence\":\"a\"}\n"}},
          {"data.reference", "all.jsonl:1", "did you mean \"refrence\"?"});
  refused({{"all.jsonl", "{\"hypothesis\":\"a\",\"reference\":[]}\n"}},
          {"all.jsonl:1", "\"reference\" is an empty list"});
  refused({{"all.jsonl", "{\"hypothesis\":[\"a\"],\"reference\":\"a\"}\n"}},
          {"all.jsonl:1", "\"hypothesis\" is a JSON array"});
  refused({{"said.csv", "a,b\n"}, {"wanted.txt", "a\n"}}, {"data.hypothesis=1", "data.header"},
          {.hypothesis = "1"});
}

TEST(ScoreFiles, RefusesOptionsThatCannotBe) {
  const std::vector<std::pair<std::string, std::string>> files{{"said.txt", "a\n"},
                                                               {"wanted.txt", "a\n"}};
  refused(files, {"score.metrics", "rouje", "did you mean \"rouge\"?"}, {.metrics = {"rouje"}});
  refused(files, {"score.metrics names \"bleu\" twice"}, {.metrics = {"bleu", "bleu"}});
  refused(files, {"score.metrics is empty"}, {.metrics = {}});
  refused(files, {"score.bootstrap=1", "from 2"}, {.resamples = 1});
}

}  // namespace
}  // namespace skein::data
