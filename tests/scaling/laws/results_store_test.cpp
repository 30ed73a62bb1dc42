#include "skein/scaling/laws/results_store.h"

#include <cmath>
#include <gtest/gtest.h>

#include "skein/data/stores/hdf5.h"

#include "scaling/sweep_fixture.h"

namespace skein::scaling {
namespace {

std::vector<ScalingRun> two_runs() {
  ScalingRun done;
  done.name = "1x8";
  done.folder = "cells/1x8";
  done.seed = 3;
  done.d_model = 8;
  done.n_blocks = 768;
  done.tokens = 4096;
  done.loss = 0.1 + 0.2;
  done.curve = {{128, 3.5}, {4096, 0.3}};
  ScalingRun failed;
  failed.name = "größer, \"2x8\"";
  failed.status = "failed";
  failed.reason = "out of memory";
  return {done, failed};
}

TEST(ResultsStore, GivesBackWhatWasWritten) {
  test::Scratch folder;
  const std::string path = folder.file("results.h5");
  write_store(path, two_runs(), {{{"lr.lr", "0.1"}, {"data.train", "a,b"}}, {}});
  const ScalingTable table = read_store(path);
  ASSERT_EQ(table.runs.size(), 2u);
  EXPECT_EQ(table.runs[0].name, "1x8");
  EXPECT_EQ(table.runs[0].loss, 0.1 + 0.2);
  EXPECT_EQ(table.runs[0].seed, 3);
  EXPECT_EQ(table.runs[0].line, 2);
  EXPECT_TRUE(std::isnan(table.runs[0].seconds));
  ASSERT_EQ(table.runs[0].curve.size(), 2u);
  EXPECT_EQ(table.runs[0].curve[1].tokens, 4096);
  EXPECT_EQ(table.runs[0].curve[1].loss, 0.3);
  EXPECT_EQ(table.runs[1].name, "größer, \"2x8\"");
  EXPECT_EQ(table.runs[1].reason, "out of memory");
  EXPECT_TRUE(table.runs[1].curve.empty());
  EXPECT_EQ(read_store_settings(path)[0].at("data.train"), "a,b");
  EXPECT_TRUE(read_store_settings(path)[1].empty());
}

TEST(ResultsStore, EqualResultsAreEqualBytes) {
  test::Scratch folder;
  write_store(folder.file("a.h5"), two_runs(), {{}, {}});
  write_store(folder.file("b.h5"), two_runs(), {{}, {}});
  EXPECT_EQ(test::bytes_of_file(folder.file("a.h5")), test::bytes_of_file(folder.file("b.h5")));
  write_store(folder.file("b.h5"), {}, {});
  EXPECT_TRUE(read_store(folder.file("b.h5")).runs.empty()) << "an empty table replaces the other";
}

TEST(ResultsStore, OtherFilesAreRefusedByName) {
  test::Scratch folder;
  const std::string path = folder.file("results.h5");
  std::ofstream(path) << "run,loss\n";
  test::expect_error(ExitCode::usage, {"results.h5 is not an HDF5 file", "`skein sweep` makes"},
                     [&] { read_store(path); });
  train::write_small_store(path);
  test::expect_error(ExitCode::usage, {"results.h5: it is not a store of results"},
                     [&] { read_store(path); });
}

// What leads out of the file, to a good column of another.
TEST(ResultsStore, ColumnsElsewhereAreNotRead) {
  test::Scratch folder;
  const std::string path = folder.file("results.h5"), other = folder.file("other.h5");
  write_store(other, two_runs(), {{}, {}});
  using Change = std::function<void(hid_t file)>;
  const std::vector<Change> changes = {
      [&](hid_t file) {
        H5Lcreate_external(other.c_str(), "/runs/loss", file, "/runs/loss", H5P_DEFAULT,
                           H5P_DEFAULT);
      },
      [&](hid_t file) {
        H5Lcreate_soft("/runs/tokens", file, "/runs/loss", H5P_DEFAULT, H5P_DEFAULT);
      },
      [&](hid_t file) {
        const hsize_t two = 2;
        const data::Hdf5Id space(H5Screate_simple(1, &two, nullptr), H5Sclose),
            plan(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
        H5Pset_external(plan.get(), other.c_str(), 0, 16);
        const data::Hdf5Id made(H5Dcreate2(file, "/runs/loss", H5T_IEEE_F64LE, space.get(),
                                           H5P_DEFAULT, plan.get(), H5P_DEFAULT),
                                H5Dclose);
      }};
  for (const Change& change : changes) {
    write_store(path, two_runs(), {{}, {}});
    {
      const data::Hdf5Lock lock;
      const data::Hdf5Id file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
      ASSERT_TRUE(file.valid() && H5Ldelete(file.get(), "/runs/loss", H5P_DEFAULT) >= 0);
      change(file.get());
    }
    test::expect_error(ExitCode::usage, {"/runs/loss is missing or not as"},
                       [&] { read_store(path); });
  }
}

// Whatever byte is broken, it is read or refused, never worse.
TEST(ResultsStore, DamageIsReadOrRefused) {
  test::Scratch folder;
  const std::string path = folder.file("results.h5");
  write_store(path, two_runs(), {{{"lr.lr", "0.1"}}, {}});
  const std::string whole = test::bytes_of_file(path);
  int refused = 0;
  std::mt19937 random(5);
  for (int i = 0; i < 160; ++i) {
    std::string broken = whole;
    if (i % 4 == 0)
      broken.resize(random() % whole.size());
    else
      broken[random() % std::min<size_t>(whole.size(), 12000)] = static_cast<char>(random());
    std::ofstream(path, std::ios::trunc) << broken;
    try {
      read_store(path);
      read_store_settings(path);
    } catch (const Error& error) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 36);
}

}  // namespace
}  // namespace skein::scaling
