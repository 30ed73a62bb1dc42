// Runs know their data: wrong sums end them before the first commit, and other data under the same
// name is refused when they go on.
#include "skein/train/run_data.h"

#include <fstream>
#include <gtest/gtest.h>

#include "skein/train/run_state.h"

#include "support/expect_error.h"
#include "train/train_fixture.h"

namespace skein::train {
namespace {

// Makes one token another one of its vocabulary.
void change_a_token(const std::string& path) {
  std::vector<int32_t> ids(64);
  data::TokenStore(path).read(1990, ids);
  std::string whole = test::bytes_of_file(path);
  const size_t begin = whole.find(std::string(ids.begin(), ids.end()));
  ASSERT_NE(begin, std::string::npos);
  whole[begin] = static_cast<char>(whole[begin] ^ 1);
  std::ofstream(path, std::ios::binary) << whole;
}

class DataOfARun : public testing::Test {
 protected:
  void SetUp() override { write_small_store(store()); }
  std::string store() const { return folder_.file("train.h5"); }
  PretrainConfig config(int64_t steps) const {
    PretrainConfig c = small_config(store());
    c.checkpoint.every = 2;
    c.train.steps = steps;
    return c;
  }
  // Other tokens, as many.
  static void write_other_store(const std::string& path) {
    data::TokenStoreWriter writer(path, 64, -1, R"({"type":"bytes","version":1})");
    std::vector<int32_t> ids;
    for (int i = 0; i < 4000; ++i) ids.push_back(i * 5 % 64);
    writer.add_document(ids, 4000);
    writer.finish();
  }
  std::string refused(const PretrainConfig& c, int ranks, ExitCode code,
                      const std::string& name = "run") const {
    return training_error(c, ranks, folder_, name, code);
  }
  std::string said(const PretrainConfig& c) const {
    testing::internal::CaptureStderr();
    train(c, 1, folder_, "run");
    return testing::internal::GetCapturedStderr();
  }
  RunState newest() const {
    const auto alone = single_rank();
    const auto info = checkpoint::find_checkpoint(folder_.file("run"), *alone);
    return run_state(info->metadata, info->path);
  }

  test::Scratch folder_;
};

TEST_F(DataOfARun, AWrongSumEndsItBeforeTheFirstCommit) {
  change_a_token(store());
  for (int ranks : {1, 2}) {
    PretrainConfig c = config(4);
    c.checkpoint.every = 1;
    test::expect_words(refused(c, ranks, ExitCode::failure),
                       {store() + " is damaged: the XXH3 sum of its tokens is ", ", it should be ",
                        "copy it again"});
    EXPECT_TRUE(checkpoint::list_checkpoints(folder_.file("run/checkpoints")).empty());
  }
}

TEST_F(DataOfARun, AWrongSumOfHeldOutDataEndsItToo) {
  PretrainConfig c = config(4);
  c.data.validation = {folder_.file("held_out.h5")};
  write_small_store(c.data.validation.front());
  change_a_token(c.data.validation.front());
  c.validation.every = 1;
  c.validation.patience = 1;
  test::expect_words(refused(c, 2, ExitCode::failure), {"held_out.h5 is damaged: the XXH3 sum"});
  EXPECT_TRUE(checkpoint::list_checkpoints(folder_.file("run/checkpoints")).empty());
  EXPECT_TRUE(checkpoint::list_checkpoints(folder_.file("run/best")).empty());
}

TEST_F(DataOfARun, IsComparedOnceARunAndPath) {
  train(config(4), 1, folder_, "run");
  change_a_token(store());
  EXPECT_NO_THROW(train(config(6), 1, folder_, "run")) << "a checkpoint knows the file";
  std::filesystem::rename(store(), folder_.file("moved.h5"));
  PretrainConfig c = config(8);
  c.data.train = {folder_.file("moved.h5")};
  test::expect_words(refused(c, 1, ExitCode::failure), {"moved.h5 is damaged: the XXH3 sum"});
}

TEST_F(DataOfARun, OfAnotherContentUnderItsNameIsRefusedUnlessAskedFor) {
  train(config(4), 1, folder_, "run");
  const data::DataFile before = newest().data.at(0);
  write_other_store(store());
  const std::string text = refused(config(8), 2, ExitCode::usage);
  const data::DataFile now =
      data::store_files("data.train", {std::make_shared<data::TokenStore>(store())}).at(0);
  EXPECT_FALSE(before.same_content(now));
  test::expect_words(text, {folder_.file("run"),
                            "data.train: " + store() + " was " + before.identity() +
                                ", now it is " + now.identity(),
                            "checkpoint.other_data=true"});
  PretrainConfig c = config(8);
  c.checkpoint.other_data = true;
  test::expect_words(said(c), {"checkpoint.other_data):", now.identity(), "goes on from"});
  EXPECT_TRUE(newest().data.at(0).same_content(now));
  EXPECT_NO_THROW(train(config(10), 1, folder_, "run"))
      << "what was accepted is the run's data from then on";
}

TEST_F(DataOfARun, MayLieElsewhere) {
  train(config(4), 1, folder_, "run");
  std::filesystem::rename(store(), folder_.file("moved.h5"));
  PretrainConfig c = config(6);
  c.data.train = {folder_.file("moved.h5")};
  const std::string text = said(c);
  test::expect_words(text, {"data.train: " + store() + " -> " + folder_.file("moved.h5")});
  EXPECT_EQ(text.find("learnt from other data"), std::string::npos) << text;
}

// Another run that goes on from its state is bound by it, one that takes its weights alone is not.
TEST_F(DataOfARun, BindsWhoGoesOnFromItsState) {
  train(config(4), 1, folder_, "first");
  write_other_store(store());
  PretrainConfig c = config(6);
  c.checkpoint.load = folder_.file("first");
  test::expect_words(refused(c, 1, ExitCode::usage),
                     {folder_.file("first"), "was 4000 bytes with sum "});
  c.checkpoint.weights_only = true;
  EXPECT_NO_THROW(train(c, 1, folder_, "run"));
}

TEST_F(DataOfARun, NobodyRememberedIsAccepted) {
  const auto alone = single_rank();
  const auto files = data::store_files("data.train", {std::make_shared<data::TokenStore>(store())});
  RunData data(files, *alone);
  data.go_on({{}, "old", true, false});
  data.begin();
  EXPECT_NO_THROW(data.finish());
  change_a_token(store());
  RunData damaged(data::store_files("data.train", {std::make_shared<data::TokenStore>(store())}),
                  *alone);
  damaged.go_on({{}, "old", true, false});
  damaged.begin();
  EXPECT_THROW(damaged.finish(), Error) << "what no checkpoint knows is compared";
}

TEST(RunState, RemembersFilesOfData) {
  RunState state;
  EXPECT_EQ(to_json(state, {1, 1, 1}).find("\"data\":["), std::string::npos);
  state.data = {{"data.train", "a b.h5", 1'000'000'000'000, 0x0123456789abcdef},
                {"data.validation", "v.h5", 1, 0xffffffffffffffff}};
  const std::string json = to_json(state, {1, 1, 1});
  const RunState read = run_state(json, "here");
  ASSERT_EQ(read.data.size(), 2u);
  EXPECT_EQ(read.data[0].option, "data.train");
  EXPECT_EQ(read.data[0].path, "a b.h5");
  EXPECT_TRUE(read.data[0].same_content(state.data[0]));
  EXPECT_TRUE(read.data[1].same_content(state.data[1]));
  for (const char* digits : {"\"0123\"", "\"0123456789abcdeg\"", "17", "null"}) {
    std::string damaged = json;
    damaged.replace(damaged.find("\"0123456789abcdef\""), 18, digits);
    EXPECT_THROW(run_state(damaged, "here"), Error) << digits;
  }
}

}  // namespace
}  // namespace skein::train
