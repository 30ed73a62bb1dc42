#include "skein/runs/page.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "runs/run_fixture.h"
#include "scaling/report_checks.h"

namespace skein::runs {
namespace {

using test::holds;
using test::json_in;
using test::named;
using test::run_folder;
using test::Scratch;
using test::titled;

constexpr const char* kNasty = "a</script><img src=x onerror=alert(1)>'\"`\\";

std::string lines_of(int steps) {
  std::string made;
  for (int step = 1; step <= steps; ++step)
    made += "{\"step\":" + std::to_string(step) + ",\"loss\":" + std::to_string(3.0 / step) +
            ",\"grad_norm\":1,\"tokens_per_second\":5e5,\"reward\":1,\"score\":2,\"kl\":0.5}\n";
  return made + "{\"step\":" + std::to_string(steps) +
         ",\"validation_loss\":1.5,\"validation_accuracy\":0.75}\n";
}

class RunPages : public testing::Test {
 protected:
  const RunLog& add(const std::string& name, const std::string& metrics,
                    const std::string& config = "") {
    logs_.push_back(std::make_unique<RunLog>(run_folder(scratch_, name, metrics, config)));
    logs_.back()->read();
    shown_.push_back({name, logs_.back().get()});
    return *logs_.back();
  }

  const Scratch scratch_;
  std::vector<std::unique_ptr<RunLog>> logs_;
  std::vector<ShownRun> shown_;
};

TEST_F(RunPages, DrawTrainingAndValidationOnOneAxis) {
  add("one", lines_of(20));
  add("other", lines_of(2000));
  const auto figures = figures_of(shown_);
  ASSERT_EQ(figures.size(), 5u);
  const plot::Panel& loss = named(figures, "loss").panels.at(0);
  EXPECT_EQ(loss.y.label, "loss");
  EXPECT_EQ(titled(loss, "one").samples.size(), 20u);
  EXPECT_EQ(titled(loss, "one, validation").samples.at(0).y, 1.5);
  EXPECT_EQ(titled(loss, "one").ink, titled(loss, "one, validation").ink);
  EXPECT_NE(titled(loss, "one").ink, titled(loss, "other").ink);
  // Of the long run, means and what they are between.
  EXPECT_EQ(titled(loss, "other").samples.size(), 500u);
  EXPECT_EQ(loss.series.at(3).mark, plot::Mark::band);
  EXPECT_TRUE(holds(named(figures, "loss").caption, "means of up to 4"));
  EXPECT_EQ(named(figures, "scores").panels.at(0).y.label, "accuracy");
  EXPECT_EQ(named(figures, "learning").panels.at(0).y.label, "grad_norm");
  EXPECT_EQ(named(figures, "speed").panels.at(0).y.label, "tokens_per_second");
  EXPECT_EQ(named(figures, "rewards").panels.at(3).x.label, "kl, nats an answer");
  EXPECT_EQ(named(figures, "rewards").panels.at(3).series.at(0).samples.at(0).y, 2);
}

TEST_F(RunPages, DrawNoMoreThanAPageCanHold) {
  std::string line = "{\"step\":1";
  for (int i = 0; i < 300; ++i) line += ",\"n" + std::to_string(i) + "\":1";
  add("run", line + "}\n");
  const auto figures = figures_of(shown_);
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures[0].panels.size(), 100u);
  EXPECT_EQ(figures[0].caption, "The runs have 300 numbers, of which the first 100 are drawn.");
}

TEST_F(RunPages, TellWhatDiffers) {
  add("one", lines_of(2), "[lr]\nlr = 0.1\n[run]\ndir = a\n[train]\nseed = 1\n");
  add("other", lines_of(2), "[lr]\nlr = 0.2\n[run]\ndir = b\n[train]\nseed = 1\n[ppo]\nclip = 1\n");
  const auto report = json_in(runs_html(runs_json(shown_), false));
  EXPECT_EQ(report["options"], nlohmann::json::parse(R"([["lr.lr", "0.1", "0.2"],
                                                         ["ppo.clip", null, "1"]])"));
  EXPECT_EQ(report["runs"][1]["last"]["validation_accuracy"], 0.75);
  EXPECT_EQ(report["runs"][1]["step"], 2);
  EXPECT_EQ(report["pictures"], false);
  EXPECT_EQ(summaries(shown_).at(0),
            "one: step 2, loss 1.5000, validation_loss 1.5000, reward 1.0000, score 2.0000, kl "
            "0.50000");
}

TEST_F(RunPages, HoldWhatFilesSayAsTextAlone) {
  const nlohmann::json line{{"step", 1}, {kNasty, 1}, {"loss", nullptr}};
  const RunLog& log = add("run", line.dump() + "\n{\"step\":", "[lr]\nlr = <b>\n");
  shown_[0].name = kNasty;
  std::ofstream(log.folder() + "/rollouts.jsonl")
      << nlohmann::json{{"step", 1}, {"prompt", kNasty}, {"answer", "<b>\xc3\xa9</b>"}}.dump()
      << "\n";
  std::ofstream(log.folder() + "/rebuilt.png") << "\x89PNG and so on";
  const std::string page = runs_html(runs_json(shown_), true);
  EXPECT_FALSE(holds(test::data_in(page), "<"));
  EXPECT_FALSE(holds(page, "<img src=x"));
  const auto report = json_in(page);
  EXPECT_EQ(report["runs"][0]["name"], kNasty);
  EXPECT_TRUE(report["runs"][0]["last"]["loss"].is_null());
  EXPECT_TRUE(holds(report["runs"][0]["note"], "Line 2"));
  EXPECT_EQ(report["samples"][0]["answers"][0]["prompt"], kNasty);
  EXPECT_TRUE(holds(report["samples"][0]["picture"], "data:image/png;base64,"));
  for (const char* part : {"http:", "https:", "src=\"", "@import", "url(", "<link"})
    EXPECT_FALSE(holds(page, part)) << part;
}

TEST_F(RunPages, AreWrittenWithTheirFiguresOrAlone) {
  add("run", lines_of(10));
  add("empty", "");
  const auto made = write_report(shown_, scratch_.file("out"), true);
  EXPECT_EQ(made.others.size(), 15u);
  for (const std::string& path : made.others)
    EXPECT_GT(std::filesystem::file_size(path), 100u) << path;
  const auto alone = write_report(shown_, scratch_.file("out"), false);
  EXPECT_TRUE(alone.others.empty());
  EXPECT_FALSE(std::filesystem::exists(scratch_.file("out/loss.png")));
  EXPECT_TRUE(std::filesystem::exists(alone.page));
}

TEST(RunNames, AreTheLastPartsOfPathsWhereTheseDiffer) {
  EXPECT_EQ(names_of({"runs/a", "runs/b/", "/x/./c/"}), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(names_of({"x/run", "y/run/", "z"}), (std::vector<std::string>{"x/run", "y/run/", "z"}));
  EXPECT_EQ(names_of({"."}), (std::vector<std::string>{"."}));
}

}  // namespace
}  // namespace skein::runs
