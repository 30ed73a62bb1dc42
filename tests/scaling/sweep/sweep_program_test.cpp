// What `skein sweep` comes to from the command line is what the library comes to.
#include <cstdlib>
#include <gtest/gtest.h>

#include "scaling/sweep_fixture.h"

namespace skein::scaling::sweep {
namespace {

// The program that was built beside this one; its log is OUTPUT.log.
int run_program(const std::string& arguments, const std::string& output) {
  const std::string program =
      (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "skein").string();
  return std::system(
      fmt::format("OMP_NUM_THREADS=1 '{}' {} >'{}' 2>'{}.log'", program, arguments, output, output)
          .c_str());
}

TEST(SweepProgram, GivesTheAnswersOfTheLibrary) {
  const test::Scratch folder;
  const std::string store = folder.file("store.h5");
  train::write_small_store(store);
  SweepConfig c = tiny_sweep(store, folder.file("library"));
  c.run.model.vocab_size = 0;
  c.repeat_seeds = {2};
  c.repeat_shapes = {"1x8"};
  const SweepConfig whole = settled(c);
  const SweepResult result = sweep_by(1, whole);
  ASSERT_EQ(result.count("done"), 6);
  const std::string options = fmt::format(
      "sweep --sweep.shapes=1x8,1x16 --sweep.tokens=2048,4096 --sweep.batch=128 --sweep.d_head=8 "
      "--sweep.repeat_seeds=2 --sweep.repeat_shapes=1x8 --model.context=16 --data.train={0} "
      "--data.validation={0} --validation.points=6 --train.micro_batch=2 --lr.lr=1e-2 "
      "--checkpoint.every=5",
      store);
  ASSERT_EQ(run_program(fmt::format("{} --run.dir={}", options, folder.file("program")),
                        folder.file("sweep")),
            0)
      << test::bytes_of_file(folder.file("sweep.log"));
  EXPECT_EQ(table_without_seconds(folder.file("program")),
            table_without_seconds(folder.file("library")));
  EXPECT_EQ(read_store_settings(folder.file("program/results.h5")),
            read_store_settings(folder.file("library/results.h5")));

  ASSERT_EQ(run_program(options + " --run.dir=none --dry-run --sweep.flops_per_second=1e9",
                        folder.file("forecast")),
            0)
      << test::bytes_of_file(folder.file("forecast.log"));
  SweepConfig forecast = whole;
  forecast.flops_per_second = 1e9;
  EXPECT_EQ(test::bytes_of_file(folder.file("forecast")), forecast_text(forecast, *single_rank()));
}

}  // namespace
}  // namespace skein::scaling::sweep
