#include "skein/comm/world.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "skein/comm/mpi.h"
#include "skein/core/log.h"

#include "comm/rendezvous_limit.h"
#include "support/expect_error.h"

namespace skein {
namespace {

// The environment of a process started by hand, plus what a test sets; the former one comes back at
// the end.
class World : public testing::Test {
 protected:
  World() {
    for (const char* name :
         {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_SIZE", "SLURM_PROCID", "SLURM_NTASKS",
          "SLURM_STEP_NUM_TASKS", "SKEIN_RENDEZVOUS", "SKEIN_RENDEZVOUS_TIMEOUT",
          "SKEIN_RENDEZVOUS_SECRET", "SKEIN_RENDEZVOUS_SECRET_FILE", "SKEIN_RENDEZVOUS_OPEN",
          "SKEIN_KEEPALIVE", "SKEIN_RANK", "SKEIN_RANKS", "MASTER_ADDR", "MASTER_PORT", "RANK",
          "WORLD_SIZE"}) {
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

// The usage error that start_world ends with under these variables.
std::string start_error(const std::vector<std::pair<const char*, const char*>>& variables) {
  for (const auto& [name, value] : variables) setenv(name, value, 1);
  std::string text = "no error";
  try {
    start_world();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    text = error.what();
  }
  for (const auto& [name, value] : variables) unsetenv(name);
  return text;
}

void expect_launch(const Launch& launch, bool under_launcher, int ranks,
                   const std::string& description) {
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
  expect_launch(launch_with({{"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "0"}}), true, 4,
                "mpirun, 4 ranks");
  expect_launch(launch_with({{"OMPI_COMM_WORLD_SIZE", "1"}}), true, 1, "mpirun, 1 rank");
}

TEST_F(World, MpirunInsideAnAllocationIsMpirun) {
  expect_launch(
      launch_with({{"OMPI_COMM_WORLD_SIZE", "2"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}),
      true, 2, "mpirun, 2 ranks");
}

TEST_F(World, KnowsSrunWithPmix) {
  expect_launch(launch_with({{"PMIX_RANK", "3"}, {"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "8"}}),
                true, 8, "srun, 8 ranks");
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
  expect_launch(
      launch_with({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_STEP_NUM_TASKS", "1"}}),
      false, 1, "no launcher, 1 rank");
  EXPECT_EQ(start_world()->size(), 1);
}

TEST_F(World, NumbersThatAreNoneAreIgnored) {
  expect_launch(launch_with({{"OMPI_COMM_WORLD_SIZE", "many"}, {"PMI_SIZE", "-2"}}), false, 1,
                "no launcher, 1 rank");
}

TEST_F(World, SrunWithoutPmixSaysHowToStart) {
  expect_launch(launch_with({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "4"}}), true, 4,
                "srun, 4 ranks");
  try {
    start_world();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    for (const char* word :
         {"4 separate jobs", "srun --mpi=pmix", "mpirun", "PMIX_RANK", "srun --ntasks=1"})
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
          << word << " in: " << error.what();
  }
}

TEST_F(World, ARendezvousIsTcpWhateverTheLauncher) {
  const Launch launch = launch_with({{"SKEIN_RENDEZVOUS", "node7:4711"},
                                     {"SKEIN_RANK", "3"},
                                     {"SKEIN_RANKS", "4"},
                                     {"SLURM_PROCID", "1"},
                                     {"SLURM_NTASKS", "8"}});
  expect_launch(launch, true, 4, "TCP at node7:4711, 4 ranks");
  EXPECT_TRUE(launch.over_tcp);
  EXPECT_EQ(launch.rank, 3);
}

TEST_F(World, TheVariablesOfTheFieldAreTcpWithoutALauncher) {
  const std::vector<std::pair<const char*, const char*>> field{
      {"MASTER_ADDR", "::1"}, {"MASTER_PORT", "29500"}, {"RANK", "1"}, {"WORLD_SIZE", "2"}};
  expect_launch(launch_with(field), true, 2, "TCP at [::1]:29500, 2 ranks");
  EXPECT_FALSE(launch_with({{"OMPI_COMM_WORLD_SIZE", "2"}}).over_tcp);
}

TEST_F(World, TheVariablesOfTheFieldForOneRankAreNoLaunch) {
  expect_launch(
      launch_with(
          {{"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"}, {"RANK", "0"}, {"WORLD_SIZE", "1"}}),
      false, 1, "no launcher, 1 rank");
}

TEST_F(World, ARendezvousOfOneRankMeetsNobody) {
  setenv("SKEIN_RENDEZVOUS", "node7.invalid:4711", 1);
  setenv("SKEIN_RANK", "0", 1);
  setenv("SKEIN_RANKS", "1", 1);
  EXPECT_EQ(start_world()->sum(2.5), 2.5);
}

TEST_F(World, ARankThatWaitsInVainForTheOthersEnds) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto wait = [](int ranks) {
    { const RendezvousLimit met({true, ranks, 0, "mpirun"}, 1, "never"); }
    const RendezvousLimit limit({true, ranks, 0, "mpirun"}, 1, "in the first exchanges");
    sleep(3);
    std::_Exit(7);
  };
  EXPECT_EXIT(wait(2), testing::ExitedWithCode(75),
              "error: rank 0 .* has waited 1 s in the first exchanges: .*SKEIN_RENDEZVOUS_TIMEOUT");
  EXPECT_EXIT(wait(1), testing::ExitedWithCode(7), "^$");
}

TEST_F(World, WrongVariablesOfARendezvousAreNamed) {
  const std::pair<const char*, const char*> rendezvous{"SKEIN_RENDEZVOUS", "node7:4711"},
      ranks{"SKEIN_RANKS", "2"};
  test::expect_words(start_error({rendezvous, ranks}),
                     {"SKEIN_RENDEZVOUS=node7:4711", "SKEIN_RANK is not", "its own"});
  test::expect_words(start_error({rendezvous, {"SKEIN_RANK", "0"}}),
                     {"SKEIN_RANKS is not", "number"});
  test::expect_words(start_error({rendezvous, ranks, {"SKEIN_RANK", "one"}}),
                     {"SKEIN_RANK=one", "whole number from 0"});
  test::expect_words(start_error({rendezvous, ranks, {"SKEIN_RANK", "-1"}}),
                     {"SKEIN_RANK=-1", "whole number from 0"});
  test::expect_words(start_error({rendezvous, {"SKEIN_RANKS", "0"}, {"SKEIN_RANK", "0"}}),
                     {"SKEIN_RANKS=0", "whole number from 1"});
  test::expect_words(start_error({rendezvous, ranks, {"SKEIN_RANK", "2"}}),
                     {"SKEIN_RANK=2 is not below SKEIN_RANKS=2"});
  test::expect_words(
      start_error({rendezvous, ranks, {"SKEIN_RANK", "1"}, {"SKEIN_RENDEZVOUS_TIMEOUT", "5m"}}),
      {"SKEIN_RENDEZVOUS_TIMEOUT=5m", "seconds"});
  test::expect_words(
      start_error({rendezvous, ranks, {"SKEIN_RANK", "1"}, {"SKEIN_KEEPALIVE", "0"}}),
      {"SKEIN_KEEPALIVE=0 is no whole number from 1", "silent host"});
  test::expect_words(start_error({{"SKEIN_RENDEZVOUS", "node7"}, ranks, {"SKEIN_RANK", "1"}}),
                     {"SKEIN_RENDEZVOUS=node7", "write host:port"});
  test::expect_words(start_error({{"SKEIN_RANK", "1"}}),
                     {"SKEIN_RANK=1 is set, but SKEIN_RENDEZVOUS is not"});
  test::expect_words(
      start_error(
          {{"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"}, {"WORLD_SIZE", "2"}, {"RANK", "2"}}),
      {"RANK=2 is not below WORLD_SIZE=2"});
  test::expect_words(
      start_error(
          {{"MASTER_ADDR", "node7"}, {"MASTER_PORT", "http"}, {"WORLD_SIZE", "2"}, {"RANK", "1"}}),
      {"MASTER_ADDR:MASTER_PORT=node7:http", "1 to 65535"});
  test::expect_words(start_error({{"MASTER_ADDR", "node7"}, {"WORLD_SIZE", "2"}, {"RANK", "1"}}),
                     {"RANK=1 is set, but MASTER_PORT is not"});
  test::expect_words(
      start_error({{"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"}, {"RANK", "1"}}),
      {"RANK=1 is set, but WORLD_SIZE is not"});
  test::expect_words(
      start_error(
          {{"MASTER_ADDR", "node7"}, {"MASTER_PORT", "1"}, {"WORLD_SIZE", "2x"}, {"RANK", "1"}}),
      {"WORLD_SIZE=2x is no whole number"});
  EXPECT_EQ(start_error({{"RANK", "1"}}), "no error") << "which means nothing by itself";
  EXPECT_EQ(start_error({{"RANK", "0"}, {"WORLD_SIZE", "1"}}), "no error");
}

TEST_F(World, WrongSecretsOfARendezvousAreNamed) {
  const std::pair<const char*, const char*> rendezvous{"SKEIN_RENDEZVOUS", "node7:4711"},
      ranks{"SKEIN_RANKS", "2"}, rank{"SKEIN_RANK", "1"};
  const auto error_with = [&](const char* variable, const std::string& value) {
    return start_error({rendezvous, ranks, rank, {variable, value.c_str()}});
  };
  test::expect_words(start_error({rendezvous, ranks, rank}),
                     {"SKEIN_RENDEZVOUS=node7:4711 can be reached from other hosts"});
  test::expect_words(
      start_error(
          {{"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"}, {"WORLD_SIZE", "2"}, {"RANK", "1"}}),
      {"MASTER_ADDR:MASTER_PORT=node7:29500 can be reached", "SKEIN_RENDEZVOUS_SECRET_FILE"});
  test::expect_words(error_with("SKEIN_RENDEZVOUS_OPEN", "yes"),
                     {"SKEIN_RENDEZVOUS_OPEN=yes is neither 1 nor 0"});
  test::expect_words(error_with("SKEIN_RENDEZVOUS_SECRET", ""),
                     {"SKEIN_RENDEZVOUS_SECRET is set but empty"});
  test::expect_words(error_with("SKEIN_RENDEZVOUS_SECRET", "123"), {"has 3 bytes", "16 or more"});
  test::expect_words(error_with("SKEIN_RENDEZVOUS_SECRET_FILE", "/no/such"),
                     {"SKEIN_RENDEZVOUS_SECRET_FILE=/no/such", "does not exist"});
  test::expect_words(error_with("SKEIN_RENDEZVOUS_SECRET_FILE", "/dev/null"), {"is no file"});
  test::expect_words(start_error({rendezvous,
                                  ranks,
                                  rank,
                                  {"SKEIN_RENDEZVOUS_SECRET_FILE", "/key"},
                                  {"SKEIN_RENDEZVOUS_SECRET", "0123456789abcdef"}}),
                     {"are both set; unset one"});
}

TEST_F(World, AKeyFileHoldsTheSecret) {
  std::string path = (std::filesystem::temp_directory_path() / "skein-key-XXXXXX").string();
  const int file = mkstemp(path.data());  // of mode 0600
  ASSERT_EQ(write(file, "short\n", 6), 6);
  close(file);
  const auto error = [&] {
    return start_error({{"SKEIN_RENDEZVOUS", "node7:4711"},
                        {"SKEIN_RANKS", "2"},
                        {"SKEIN_RANK", "1"},
                        {"SKEIN_RENDEZVOUS_SECRET_FILE", path.c_str()}});
  };
  test::expect_words(error(), {"the secret of the rendezvous has 5 bytes"});
  chmod(path.c_str(), 0640);
  test::expect_words(error(), {path, "has mode 0640", "give it mode 0600"});
  chmod(path.c_str(), 0600);
  std::filesystem::resize_file(path, 0);
  test::expect_words(error(), {"is empty; put a secret into it"});
  std::filesystem::remove(path);
}

TEST(Mpi, NamesItsVersionInOneLine) {
  const std::string version = mpi_version();
  EXPECT_FALSE(version.empty());
  EXPECT_EQ(version.find_first_of(",\n"), std::string::npos);
}

}  // namespace
}  // namespace skein
