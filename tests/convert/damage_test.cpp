// Files with bytes changed at random end in a usage error or are read as what they now say; nothing
// else may happen.
#include "support/damage.h"

#include <gtest/gtest.h>

#include "skein/checkpoint/manifest.h"
#include "skein/convert/huggingface_config.h"
#include "skein/core/philox.h"

#include "convert/fresh_run.h"

namespace skein::convert {
namespace {

// Changes, removes or doubles a few bytes among the first `reach`.
std::string damaged(std::string text, size_t reach, uint64_t seed) {
  auto draw = [&, count = uint64_t{0}](uint64_t below) mutable {
    return static_cast<size_t>(derive_key(seed, std::to_string(count++)) % below);
  };
  for (uint64_t i = 0, count = 1 + draw(4); i < count && !text.empty(); ++i) {
    const size_t at = draw(std::min(reach, text.size()));
    const char digits[] = "0123456789-{}[]\",:e.";
    switch (draw(4)) {
      case 0: text[at] = static_cast<char>(draw(256)); break;
      case 1: text[at] = digits[draw(sizeof(digits) - 1)]; break;
      case 2: text.erase(at, 1 + draw(3)); break;
      default: text.insert(at, text.substr(at, 1 + draw(12)));
    }
  }
  return text;
}

// Runs `read`; how it ended. Anything but an Error for the user goes through and fails the test.
bool ends_refused(const std::function<void()>& read) {
  try {
    read();
    return false;
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(ExitCode::usage)) << error.what();
    return true;
  }
}

// The kinds of damage that storage does: bits, ends and pages. What lacks an end, but for its last
// byte, or a page is refused.
void expect_damage_refused(const std::string& good, int usual, const std::string& path,
                           const std::function<void()>& read) {
  test::each_damage(good, usual, [&](const std::string& bad, test::DamageKind kind) {
    test::write_file(path, bad);
    const bool refused = ends_refused(read);
    EXPECT_TRUE(refused || kind == test::DamageKind::bit || bad.size() + 1 == good.size());
  });
}

TEST(Damage, OfSafetensorsIsRefused) {
  const test::Scratch scratch;
  const std::string good = test::bytes_of_file("formats/reference.safetensors");
  const auto read = [&] {
    const formats::SafetensorsFile file(scratch.file("bad"));
    for (const formats::SafeTensor& tensor : file.tensors()) {
      std::vector<std::byte> bytes(static_cast<size_t>(tensor.bytes()));
      file.read(tensor, 0, bytes);
    }
  };
  int count = 0;
  for (int seed = 0; seed < test::damages(600); ++seed) {
    test::write_file(scratch.file("bad"), damaged(good, 740, static_cast<uint64_t>(seed)));
    count += ends_refused(read);
  }
  EXPECT_GT(count, test::damages(400));
  expect_damage_refused(good, 1700, scratch.file("bad"), read);
}

TEST(Damage, OfConfigIsRefused) {
  for (const std::string& name : test::golden_names()) {
    const std::string good = test::bytes_of_file(test::golden(name) + "/config.json");
    int count = 0;
    for (int seed = 0; seed < test::damages(100); ++seed)
      count += ends_refused([&] {
        huggingface_names(model_from_huggingface(
            damaged(good, good.size(), static_cast<uint64_t>(seed)), "config.json", {}));
      });
    EXPECT_GT(count, test::damages(25)) << name;
  }
}

TEST(Damage, OfAnIndexIsRefused) {
  const test::Scratch scratch;
  const std::string folder = test::copy_of(scratch, "llama"),
                    index = folder + "/model.safetensors.index.json";
  const std::string good = test::bytes_of_file(index);
  int count = 0;
  for (int seed = 0; seed < test::damages(150); ++seed) {
    test::write_file(index, damaged(good, good.size(), static_cast<uint64_t>(seed)));
    count += ends_refused([&] { open_safetensors(folder); });
  }
  EXPECT_GT(count, test::damages(80));
  expect_damage_refused(good, 1700, index, [&] { open_safetensors(folder); });
}

TEST(Damage, OfLlmcFilesIsRefused) {
  const test::Scratch scratch;
  std::string good(1024, '\0');
  const int32_t header[] = {20240326, 3, 4, 5, 1, 2, 4, 128};
  std::memcpy(good.data(), header, sizeof(header));
  good += std::string(static_cast<size_t>(4 * (128 * 4 + 4 * 4 + 12 * 16 + 13 * 4 + 8)), '\1');
  test::write_file(scratch.file("good"), good);
  EXPECT_FALSE(ends_refused([&] { open_llmc(scratch.file("good")); }));
  int count = 0;
  for (int seed = 0; seed < test::damages(200); ++seed) {
    test::write_file(scratch.file("bad"), damaged(good, 32, static_cast<uint64_t>(seed)));
    count += ends_refused([&] { open_llmc(scratch.file("bad")); });
  }
  EXPECT_GT(count, test::damages(150));
}

TEST(Damage, OfAModelsSizesIsFoundBeforeAnythingIsMadeOfThem) {
  const test::Scratch scratch;
  test::save_fresh(scratch.file("run"), test::small_model(), 1);
  const auto alone = single_rank();
  const std::string path = checkpoint::find_checkpoint(scratch.file("run"), *alone)->path,
                    file = path + "/manifest.json";
  checkpoint::Manifest manifest = checkpoint::parse_manifest(test::bytes_of_file(file), file);
  const std::string said = R"("model.n_layers":"2")";
  ASSERT_NE(manifest.metadata.find(said), std::string::npos);
  manifest.metadata.replace(manifest.metadata.find(said), said.size(),
                            R"("model.n_layers":"10000")");
  test::write_file(file, manifest_text(manifest));
  test::expect_error(ExitCode::usage, {path, "model.n_layers is 10000", "no block 2"},
                     [&] { test::export_folder(path, scratch.file("out")); });
}

}  // namespace
}  // namespace skein::convert
