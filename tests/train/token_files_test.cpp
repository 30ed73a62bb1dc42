// Training on the token files of other programs.
#include <gtest/gtest.h>

#include "skein/data/stores/convert.h"
#include "skein/text/tokenizer.h"

#include "train/train_fixture.h"

namespace skein::train {
namespace {

class TokenFileTraining : public testing::Test {
 protected:
  void SetUp() override {
    write("left.h5", 1);
    write("right.h5", 2);
  }

  void write(const std::string& name, uint32_t seed) const {
    data::TokenStoreWriter writer(folder_.file(name), 257, 256, text::byte_tokenizer()->to_json());
    std::mt19937 random(seed);
    std::vector<int32_t> document;
    for (int i = 0; i < 2000; ++i) {
      document.push_back(static_cast<int32_t>((random() % 3 + static_cast<uint32_t>(i)) % 200));
      if (i % 97 != 96) continue;
      writer.add_document(document, static_cast<int64_t>(document.size()));
      document.clear();
    }
    writer.finish();
  }

  PretrainConfig config(const std::string& right) const {
    PretrainConfig c = small_config("");
    c.data.train = {"0.4:" + folder_.file("left.h5"), "0.6:" + folder_.file(right)};
    c.data.cross_document_attention = false;
    c.train.steps = 6;
    return c;
  }

  test::Scratch folder_;
};

TEST_F(TokenFileTraining, ABlendWithThemGivesTheBitsOfNativeStores) {
  const Finished expected = train(config("right.h5"), 1, folder_, "native");
  for (const auto& [name, format] : {std::pair{"megatron", data::TokenFormat::megatron},
                                     std::pair{"nanogpt.bin", data::TokenFormat::nanogpt},
                                     std::pair{"llmc.bin", data::TokenFormat::llmc}}) {
    convert_tokens(data::TokenStore(folder_.file("right.h5")), folder_.file(name), format);
    const Finished made = train(config(name), 1, folder_, std::string("run-") + name);
    EXPECT_EQ(made.losses, expected.losses) << name;
    EXPECT_EQ(first_difference(made.state, expected.state), "") << name;
  }
}

TEST_F(TokenFileTraining, TheTokenizerMayBeGivenAsAnOption) {
  const Finished expected = train(config("right.h5"), 1, folder_, "native");
  convert_tokens(data::TokenStore(folder_.file("right.h5")), folder_.file("m"),
                 data::TokenFormat::megatron);
  std::filesystem::remove(folder_.file("m.meta.json"));
  PretrainConfig c = config("m.idx");
  c.data.tokenizer = "bytes";
  EXPECT_EQ(train(c, 1, folder_, "given").losses, expected.losses);
  c.data.tokenizer.clear();
  try {
    train(c, 1, folder_, "unknown");
    ADD_FAILURE() << "an unknown vocabulary was trained on";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_NE(std::string(error.what()).find("data.tokenizer"), std::string::npos) << error.what();
  }
}

TEST_F(TokenFileTraining, WithoutATokenizerNoBitsPerByteAreTold) {
  convert_tokens(data::TokenStore(folder_.file("right.h5")), folder_.file("n.bin"),
                 data::TokenFormat::nanogpt);
  std::filesystem::remove(folder_.file("n.meta.json"));
  PretrainConfig c = config("n.bin");
  c.data.train = c.data.validation = {folder_.file("n.bin")};
  c.model.vocab_size = 257;
  c.validation.every = 3;
  EXPECT_EQ(train(c, 1, folder_, "bare").losses.size(), 6u);
  const std::string metrics = read_text(folder_.file("bare") + "/metrics.jsonl");
  EXPECT_NE(metrics.find("validation_loss"), std::string::npos);
  EXPECT_EQ(metrics.find("bits_per_byte"), std::string::npos) << metrics;
}

}  // namespace
}  // namespace skein::train
