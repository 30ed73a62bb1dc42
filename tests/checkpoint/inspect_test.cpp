#include "skein/checkpoint/inspect.h"

#include <limits>
#include <sstream>

#include "scenario.h"

namespace skein::checkpoint {
namespace {

using namespace scenario;

struct Outcome {
  int code;
  std::string text;
  bool says(const std::string& words) const { return text.find(words) != std::string::npos; }
};

Outcome look(const std::vector<std::string>& words) {
  std::ostringstream out;
  const int code = inspect(words, out);
  return {code, out.str()};
}

std::string save_values(const std::string& directory, const std::vector<float>& values) {
  const auto alone = single_rank();
  State state;
  const auto size = static_cast<int64_t>(values.size());
  state.add({"x", DType::f32, {size}}, whole({size}));
  std::memcpy(state.pieces[0].data, values.data(), values.size() * sizeof(float));
  return CheckpointStore(directory, 3, *alone).save(1, state.pieces, R"({"seed": 5})");
}

TEST(Inspect, ListsAndVerifies) {
  const test::Scratch directory;
  save(directory.path(), cases()[1], 10, 1);
  const std::string newer = save(directory.path(), cases()[2], 20, 1);
  EXPECT_TRUE(look({"list", directory.path()}).says("good"));
  EXPECT_EQ(look({"verify", directory.path()}).code, 0);
  write(newer + "/rank-00002.h5", "short");
  EXPECT_TRUE(look({"list", directory.path()}).says("DAMAGED"));
  const Outcome verdict = look({"verify", newer});
  EXPECT_EQ(verdict.code, 2);
  EXPECT_TRUE(verdict.says("rank-00002.h5 has 5 bytes")) << verdict.text;
}

// As training passes it over; what is asked about it alone still sees it.
TEST(Inspect, PassesOverAnEmptyCheckpoint) {
  const test::Scratch directory;
  const std::string path = save(directory.path(), cases()[1], 10, 1);
  std::filesystem::create_directory(directory.file("step-99999999.g000001"));
  EXPECT_EQ(look({"diff", directory.path(), path}).code, 0);
  EXPECT_TRUE(look({"tensors", directory.path()}).says("param/block.0.weight"));
  expect_loads(directory.path(), cases()[0], 1, 10);
  EXPECT_TRUE(look({"list", directory.path()}).says("DAMAGED"));
  const Outcome verdict = look({"verify", directory.path()});
  EXPECT_EQ(verdict.code, 2);
  EXPECT_TRUE(verdict.says("step-99999999.g000001/manifest.json: No such file")) << verdict.text;
  write(path + "/manifest.json", "");
  expect_error(ExitCode::usage,
               [&] {
                 look({"diff", directory.path(), path});
               },
               {"none of the 2 checkpoints", "good manifest"});
}

TEST(Inspect, ShowsTensorsAndConfig) {
  const test::Scratch directory;
  save(directory.path(), cases()[5], 10, 1);
  const Outcome tensors = look({"tensors", directory.path()});
  for (const char* line :
       {"adam_m/block.0.weight  f64   [3,4,5]", "count                  i64   []"})
    EXPECT_TRUE(tensors.says(line)) << tensors.text;
  EXPECT_TRUE(look({"config", directory.path()}).says("\"tokens\": 12"));
}

TEST(Inspect, Stats) {
  const test::Scratch directory;
  const float infinity = std::numeric_limits<float>::infinity();
  const std::string path = save_values(directory.path(), {3, -4, 0, infinity, 1});
  const Outcome stats = look({"stats", path, "x"});
  for (const char* words : {"min -4", "max 3", "mean 0", "norm 5.09901951", "1 zeros",
                            "1 not finite", "first: 3 -4 0 inf 1"})
    EXPECT_TRUE(stats.says(words)) << stats.text;
  expect_error(ExitCode::usage, [&] { look({"stats", path, "y"}); }, {"no tensor 'y'"});
}

TEST(Inspect, DiffCountsSteps) {
  const test::Scratch first, second, third;
  const float next = std::nextafter(std::nextafter(2.0f, 3.0f), 3.0f);
  const std::string a = save_values(first.path(), {1, 2, 3});
  const std::string b = save_values(second.path(), {1, next, 3});
  const std::string c = save_values(third.path(), {1, 2});
  EXPECT_EQ(look({"diff", a, a}).code, 0);
  const Outcome values = look({"diff", a, b});
  EXPECT_EQ(values.code, 1);
  EXPECT_TRUE(values.says("first differing tensor: x")) << values.text;
  EXPECT_TRUE(values.says("1 of 3 elements differ, the first at 1")) << values.text;
  EXPECT_TRUE(values.says("at most 2 ulp")) << values.text;
  EXPECT_TRUE(look({"diff", a, c}).says("shape [3] against [2]"));
}

TEST(Inspect, EqualStatesOfDifferentLayoutsDoNotDiffer) {
  const test::Scratch first, second;
  const std::string a = save(first.path(), cases()[1], 10, 1),
                    b = save(second.path(), cases()[7], 99, 1);
  EXPECT_EQ(look({"diff", a, b}).code, 0);
  const std::string c = save(second.path(), cases()[7], 100, 2);
  EXPECT_EQ(look({"diff", a, c}).code, 1);
}

TEST(Inspect, ACommandSaysWhatItDoes) {
  const auto help = look({"list", "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_TRUE(help.says("Usage: skein-inspect list DIR")) << help.text;
  EXPECT_TRUE(help.text.starts_with("Checkpoints of a run, newest first")) << help.text;
  EXPECT_TRUE(look({"diff", "-h"}).says("Usage: skein-inspect diff CKPT1 CKPT2"));
}

TEST(Inspect, AListOfNothingSaysWhatIsThere) {
  const test::Scratch directory;
  const auto list = [&] { look({"list", directory.path()}); };
  expect_error(ExitCode::usage, list,
               {directory.path(), "holds no checkpoint; give a run's folder"});
  write(directory.path() + "/config.json", "{}");
  expect_error(ExitCode::usage, list, {"a model of Hugging Face", "skein-convert"});
}

TEST(Inspect, WrongWordsAreExplained) {
  expect_error(ExitCode::usage, [] { look({"verfy", "x"}); }, {"verfy", "did you mean 'verify'"});
  expect_error(ExitCode::usage, [] { look({"verify"}); }, {"CKPT", "0 arguments"});
  expect_error(ExitCode::usage, [] { look({}); }, {"no command", "skein-inspect --help"});
  expect_error(ExitCode::usage, [] { look({"list", "/nowhere/at/all"}); }, {"/nowhere/at/all"});
}

}  // namespace
}  // namespace skein::checkpoint
