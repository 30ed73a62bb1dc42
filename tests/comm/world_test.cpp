#include "skein/comm/world.h"

#include "skein/comm/mpi.h"
#include "skein/core/log.h"

#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <stdlib.h>
#include <vector>

namespace skein {
namespace {

// The environment of a process started by hand, plus what a test sets; the former one comes back at the end.
class World : public testing::Test {
 protected:
  World() {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_SIZE", "SLURM_PROCID", "SLURM_NTASKS",
                             "SLURM_STEP_NUM_TASKS"}) {
      const char* value = getenv(name);
      former_[name] = value ? std::optional<std::string>(value) : std::nullopt;
      unsetenv(name);
    }
  }
  ~World() override {
    for (const auto& [name, value] : former_) {
      if (value)
        setenv(name.c_str(), value->c_str(), 1);
      else
        unsetenv(name.c_str());
    }
  }
  static Launch launch_with(const std::vector<std::pair<const char*, const char*>>& variables) {
    for (const auto& [name, value] : variables) setenv(name, value, 1);
    return detect_launch();
  }

 private:
  std::map<std::string, std::optional<std::string>> former_;
};

void expect_launch(const Launch& launch, bool under_launcher, int ranks, const std::string& description) {
  EXPECT_EQ(launch.under_launcher, under_launcher);
  EXPECT_EQ(launch.ranks, ranks);
  EXPECT_EQ(launch.description, description);
}

TEST_F(World, WithoutALauncherIsOneRank) {
  expect_launch(detect_launch(), false, 1, "no launcher, 1 rank");
  log::set_rank(5);
  const auto world = start_world();
  EXPECT_EQ(world->size(), 1);
  EXPECT_EQ(world->rank(), 0);
  EXPECT_EQ(log::rank(), 0);
  EXPECT_EQ(world->sum(2.5), 2.5);
}

TEST_F(World, KnowsMpirun) {
  expect_launch(launch_with({{"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "0"}}), true, 4, "mpirun, 4 ranks");
  expect_launch(launch_with({{"OMPI_COMM_WORLD_SIZE", "1"}}), true, 1, "mpirun, 1 rank");
}

TEST_F(World, MpirunInsideAnAllocationIsMpirun) {
  expect_launch(launch_with({{"OMPI_COMM_WORLD_SIZE", "2"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}),
                true, 2, "mpirun, 2 ranks");
}

TEST_F(World, KnowsSrunWithPmix) {
  expect_launch(launch_with({{"PMIX_RANK", "3"}, {"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "8"}}), true, 8,
                "srun, 8 ranks");
  expect_launch(launch_with({{"SLURM_STEP_NUM_TASKS", "1"}}), true, 1, "srun, 1 rank");
}

TEST_F(World, KnowsAnotherPmixLauncher) {
  expect_launch(launch_with({{"PMIX_RANK", "0"}}), true, 0, "a PMIx launcher");
}

TEST_F(World, KnowsAnotherMpi) {
  expect_launch(launch_with({{"PMI_SIZE", "3"}}), true, 3, "mpiexec, 3 ranks");
}

TEST_F(World, AnInteractiveAllocationIsOneRank) {
  expect_launch(launch_with({{"SLURM_NTASKS", "8"}}), false, 1, "no launcher, 1 rank");
}

TEST_F(World, ASlurmStepOfOneTaskIsOneRank) {
  expect_launch(launch_with({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_STEP_NUM_TASKS", "1"}}),
                false, 1, "no launcher, 1 rank");
  EXPECT_EQ(start_world()->size(), 1);
}

TEST_F(World, NumbersThatAreNoneAreIgnored) {
  expect_launch(launch_with({{"OMPI_COMM_WORLD_SIZE", "many"}, {"PMI_SIZE", "-2"}}), false, 1,
                "no launcher, 1 rank");
}

TEST_F(World, SrunWithoutPmixSaysHowToStart) {
  expect_launch(launch_with({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "4"}}), true, 4, "srun, 4 ranks");
  try {
    start_world();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    for (const char* word : {"4 separate jobs", "srun --mpi=pmix", "mpirun", "PMIX_RANK", "srun --ntasks=1"})
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << word << " in: " << error.what();
  }
}

TEST(Mpi, NamesItsVersionInOneLine) {
  const std::string version = mpi_version();
  EXPECT_FALSE(version.empty());
  EXPECT_EQ(version.find_first_of(",\n"), std::string::npos);
}

}  // namespace
}  // namespace skein
