#include "support/damage.h"

#include <span>

#include "skein/checkpoint/generation.h"
#include "skein/checkpoint/manifest.h"
#include "skein/formats/crc32c.h"

#include "scenario.h"

namespace skein::checkpoint {
namespace {

using namespace scenario;

class Damage : public testing::Test {
 protected:
  Damage() : path_(save(directory_.path(), cases()[1], 10, 1)), alone_(single_rank()) {}

  std::vector<std::string> files() const {
    return {"manifest.json", "rank-00000.h5", "rank-00001.h5"};
  }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  void expect_refused(const std::vector<std::string>& words) {
    expect_error(
        ExitCode::usage, [&] { find_checkpoint(directory_.path(), *alone_); }, words);
  }

  test::Scratch directory_;
  std::string path_;
  std::unique_ptr<Group> alone_;
};

TEST_F(Damage, OfEveryKindIsFound) {
  for (const std::string& name : files()) {
    SCOPED_TRACE(name);
    const std::string good = test::bytes_of_file(file(name));
    test::each_damage(good, 1700, [&](const std::string& bad, test::DamageKind kind) {
      write(file(name), bad);
      expect_refused({name, kind == test::DamageKind::cut ? "" : "checksum"});
    });
    write(file(name), good + '\0');
    expect_refused({name});
    write(file(name), good);
  }
  EXPECT_TRUE(find_checkpoint(directory_.path(), *alone_).has_value());
}

// A file that is damaged fences nothing, with a warning; none is believed.
TEST(DamagedGeneration, IsNeverBelieved) {
  const Generation written{.number = 7,
                           .run = "abc",
                           .base = "step-00000040.g000006",
                           .ranks = 4,
                           .writer = {"h1", "space", 4711, 99},
                           .heartbeat = "heartbeat-000007.x"};
  const std::string good = generation_text(written);
  ASSERT_EQ(parse_generation(good).base, written.base);
  test::each_damage(good, 1700, [&](const std::string& bad, test::DamageKind) {
    try {
      const Generation read = parse_generation(bad);
      EXPECT_EQ(read.base, written.base);
      EXPECT_EQ(read.run, written.run);
      EXPECT_EQ(read.heartbeat, written.heartbeat);
      EXPECT_EQ(bad.find("\"crc32c\""), bad.npos) << "only a name that is not known";
    } catch (const std::exception&) {
    }
  });
}

TEST_F(Damage, MissingFilesAreNamed) {
  for (const std::string& name : files()) {
    const std::string good = test::bytes_of_file(file(name));
    std::filesystem::remove(file(name));
    expect_refused({name, "No such file"});
    std::filesystem::create_directory(file(name));
    expect_refused({name, "regular file"});
    std::filesystem::remove(file(name));
    write(file(name), good);
  }
}

TEST_F(Damage, ForeignShardsAreRefused) {
  const std::string first = test::bytes_of_file(file("rank-00000.h5")),
                    second = test::bytes_of_file(file("rank-00001.h5"));
  write(file("rank-00000.h5"), second);
  write(file("rank-00001.h5"), first);
  expect_refused({"rank-00000.h5"});
  write(file("rank-00001.h5"), second);
  test::Scratch other_run;
  const std::string other = save(other_run.path(), cases()[1], 11, 1);
  write(file("rank-00000.h5"), test::bytes_of_file(other + "/rank-00000.h5"));
  expect_refused({"rank-00000.h5", "another"});
}

TEST_F(Damage, AManifestOfAnotherStepIsRefused) {
  test::Scratch other_run;
  const std::string other = save(other_run.path(), cases()[1], 11, 1);
  for (const std::string& name : files())
    write(file(name), test::bytes_of_file(other + "/" + name));
  expect_refused({"step-00000011"});
}

TEST_F(Damage, LoadChecksAgain) {
  const auto info = find_checkpoint(directory_.path(), *alone_);
  std::string bad = test::bytes_of_file(file("rank-00001.h5"));
  bad[bad.size() / 2] ^= 1;
  write(file("rank-00001.h5"), bad);
  const State state = empty_state(rows(), 1, 0);
  expect_error(ExitCode::usage, [&] { load_checkpoint(*info, state.pieces, true, *alone_); },
               {"rank-00001.h5", "checksum"});
}

TEST_F(Damage, TheOlderCheckpointIsTaken) {
  const std::string newer = save(directory_.path(), cases()[1], 20, 2);
  expect_loads(directory_.path(), cases()[2], 2, 20);
  write(newer + "/rank-00001.h5", "");
  expect_loads(directory_.path(), cases()[2], 1, 10);
  write(file("manifest.json"), "{}");
  expect_refused({"none of the 2 checkpoints", "step-00000020", "step-00000010", "rank-00001.h5",
                  "manifest.json"});
}

TEST_F(Damage, OtherFilesAreIgnored) {
  write(file("notes.txt"), "mine");
  write(directory_.file("step-00000099.g000009"), "no directory");
  write(directory_.file("step-99.g1"), "no name of ours");
  expect_loads(directory_.path(), cases()[0], 1, 10);
}

TEST(ManifestText, EditsWithoutANewSumAreRefused) {
  const test::Scratch directory;
  const std::string path = save(directory.path(), cases()[0], 10, 1);
  const std::string text = test::bytes_of_file(path + "/manifest.json");
  EXPECT_EQ(parse_manifest(text, "here").step, 10);
  std::string edited = text;
  edited.replace(edited.find("\"step\": 10"), 10, "\"step\": 11");
  expect_error(ExitCode::usage, [&] { parse_manifest(edited, "here"); }, {"here", "checksum"});
  expect_error(ExitCode::usage, [&] { parse_manifest("", "here"); }, {"here", "0 bytes"});
}

TEST(ManifestText, TensorsMustBeWhole) {
  Manifest manifest;
  manifest.metadata = "{}";
  std::string text = manifest_text(manifest);
  EXPECT_EQ(parse_manifest(text, "here").ranks(), 0);
  manifest.tensors["x"] = {DType::f32, {2}, {}};
  expect_error(ExitCode::usage, [&] { parse_manifest(manifest_text(manifest), "here"); },
               {"x", "0 of its 2 elements"});
}

// Copies and prints of it recurse.
TEST(ManifestText, MetadataMustNotBeDeep) {
  Manifest manifest;
  manifest.metadata = R"("here")";
  const std::string text = manifest_text(manifest);
  const auto nested = [&](size_t depth) {
    std::string body = text.substr(0, text.rfind(" \"crc32c\""));
    body.replace(body.find(manifest.metadata), 6,
                 std::string(depth, '[') + std::string(depth, ']'));
    return body + fmt::format(" \"crc32c\": \"{:08x}\"\n}}\n",
                              formats::crc32c(std::as_bytes(std::span(body))));
  };
  EXPECT_EQ(parse_manifest(nested(16), "here").metadata,
            std::string(16, '[') + std::string(16, ']'));
  for (const size_t depth : {size_t{30}, size_t{100'000}})
    expect_error(ExitCode::usage, [&] { parse_manifest(nested(depth), "here"); },
                 {"here", "the manifest is nested deeper"});
}

// Else a small file would ask for any amount of memory.
TEST(ManifestText, TensorsTakeNoMoreThanTheirShardsHave) {
  Manifest manifest;
  manifest.metadata = "{}";
  manifest.shards = {{"rank-00000.h5", 1000, {1}, 1}};
  const auto with = [&](int64_t elements, DType dtype) {
    manifest.tensors["x"] = {dtype, {elements}, {{0, "x", {{0}, {elements}, 0, elements}}}};
    return manifest_text(manifest);
  };
  EXPECT_EQ(parse_manifest(with(250, DType::f32), "here").tensors.size(), 1u);
  for (const int64_t elements : {int64_t{251}, (int64_t{1} << 62) + 1, int64_t{1} << 62})
    expect_error(ExitCode::usage, [&] { parse_manifest(with(elements, DType::f32), "here"); },
                 {"x", std::to_string(elements), "shard 0", "1000"});
  const std::string twice = with(200, DType::f32);
  manifest.tensors["y"] = manifest.tensors["x"];
  expect_error(ExitCode::usage, [&] { parse_manifest(manifest_text(manifest), "here"); },
               {"y", "no room"});
  EXPECT_EQ(parse_manifest(twice, "here").tensors.size(), 1u);
}

}  // namespace
}  // namespace skein::checkpoint
