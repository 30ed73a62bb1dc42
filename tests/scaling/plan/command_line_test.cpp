// `skein plan` and `skein report` say what the library says.
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "skein/scaling/plan/plan.h"
#include "skein/scaling/report/report.h"

#include "data/data_fixtures.h"

namespace skein::scaling::plan {
namespace {

namespace fs = std::filesystem;
using test::bytes_of_file;

const std::string kPoints = "scaling/data/chinchilla_245.csv";

// The program of this build, its output in a file. Quotes keep what a shell would read.
int run_skein(const std::string& words, const std::string& output) {
  const std::string program = (fs::read_symlink("/proc/self/exe").parent_path() / "skein").string();
  const int status = std::system(
      ("'" + program + "' " + words + " >'" + output + "' 2>'" + output + ".log'").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

study::StudyInput points_input() {
  study::StudyInput input;
  input.path = kPoints;
  input.exclusions.highest_losses = 5;
  return input;
}

study::StudyOptions few_resamples() {
  study::StudyOptions options;
  options.parametric.resamples = 20;
  options.target = 5.88e23;
  return options;
}

const std::string kFlags =
    kPoints + " --fit.drop_highest_losses=5 --fit.resamples=20 --fit.target=5.88e23";

TEST(CommandLine, PlansAsTheLibraryDoes) {
  const test::Scratch scratch;
  PlanOptions o = plan_defaults();
  o.gpu_hours = 20'000;
  o.tokens = 5e10;
  o.lr_rule = "deepseek";
  o.model.vocab_size = 50'000;
  o.machine.kind = "h100";
  o.machine.count = 128;
  o.machine.share_low = 0.3;
  o.machine.price = 2.5;
  o.machine.carbon = 380;
  const std::string json = scratch.file("plan.json"), ini = scratch.file("plan.ini"),
                    text = scratch.file("plan.txt");
  ASSERT_EQ(
      run_skein("plan --plan.gpu_hours=20000 --plan.tokens=5e10 --plan.lr_rule=deepseek "
                "--model.vocab_size=50000 --machine.kind=h100 --machine.count=128 "
                "--machine.share_low=0.3 --machine.price=2.5 --machine.carbon=380 --output.path=" +
                    json + " --plan.config=" + ini,
                text),
      0)
      << bytes_of_file(text + ".log");
  const Plan plan = make_plan(o);
  EXPECT_EQ(bytes_of_file(json), plan_json(plan));
  EXPECT_EQ(bytes_of_file(ini), plan_config(plan));
  EXPECT_EQ(bytes_of_file(text), plan_text(plan));
}

TEST(CommandLine, PlansByAFitAsTheLibraryDoes) {
  const test::Scratch scratch;
  const std::string fit = scratch.file("fit.json"), json = scratch.file("plan.json"),
                    text = scratch.file("plan.txt");
  ASSERT_EQ(run_skein("fit " + kFlags + " --output.path=" + fit, text), 0)
      << bytes_of_file(text + ".log");
  EXPECT_EQ(bytes_of_file(fit),
            study_json(make_study(read_input(points_input()), few_resamples())));
  ASSERT_EQ(
      run_skein("plan --plan.budget=5.88e23 --plan.fit=" + fit + " --output.path=" + json, text), 0)
      << bytes_of_file(text + ".log");
  PlanOptions o = plan_defaults();
  o.budget = 5.88e23;
  o.fit = fit;
  const Plan plan = make_plan(o);
  EXPECT_EQ(bytes_of_file(json), plan_json(plan));
  EXPECT_EQ(bytes_of_file(text), plan_text(plan));
  // Of the converged fit to these points; the shape is one of a grid.
  EXPECT_NEAR(plan.best_n.value / 7.397e10, 1, 1e-3);
  EXPECT_NEAR(plan.best_loss.value, 1.97334, 2e-5);
}

TEST(CommandLine, ReportsAsTheLibraryDoes) {
  const test::Scratch scratch;
  const std::string folder = scratch.file("program"), text = scratch.file("report.txt");
  ASSERT_EQ(run_skein("report " + kFlags + " --output.path=" + folder, text), 0)
      << bytes_of_file(text + ".log");
  const study::Study study = make_study(read_input(points_input()), few_resamples());
  const plot::ReportFiles made = report::write_report(study, scratch.file("library"));
  std::string said;
  for (const std::string& sentence : report::conclusions(study)) said += "- " + sentence + "\n";
  EXPECT_EQ(bytes_of_file(text), said);
  EXPECT_EQ(bytes_of_file(folder + "/report.html"), bytes_of_file(made.page));
  EXPECT_GE(made.others.size(), 24u);
  for (const std::string& path : made.others) {
    const std::string other = folder + "/" + fs::path(path).filename().string();
    EXPECT_EQ(bytes_of_file(other), bytes_of_file(path)) << other;
  }
}

}  // namespace
}  // namespace skein::scaling::plan
