// Beam search with imported models finds the answers of transformers (tools/make_beam_golden.py).
#include <fstream>
#include <gtest/gtest.h>

#include "skein/checkpoint/parameters.h"
#include "skein/core/json.h"
#include "skein/generate/generator.h"
#include "skein/train/run_state.h"
#include "skein/train/trained_model.h"

#include "convert/golden_folder.h"

namespace skein {
namespace {

using Json = nlohmann::json;

generate::EarlyStop early_stop(const std::string& word) {
  if (word == "true") return generate::EarlyStop::at_once;
  return word == "never" ? generate::EarlyStop::never : generate::EarlyStop::when_unlikely;
}

generate::GenerateConfig asked(const Json& one) {
  generate::GenerateConfig made;
  made.max_tokens = 12;
  made.batch = 7;
  made.beam.size = one["size"];
  made.beam.length_penalty = one["length_penalty"];
  made.beam.early_stop = early_stop(one["early_stop"]);
  made.beam.no_repeat_ngram = one.value("no_repeat", 0);
  made.beam.min_tokens = one.value("min_tokens", 0);
  made.beam.first_token = one.value("first", -1);
  made.beam.last_token = one.value("last", -1);
  return made;
}

// transformers forces a first token behind prompts of one only.
std::vector<generate::Tokens> prompts_for(const Json& model, const Json& setting) {
  std::vector<generate::Tokens> prompts = model["prompts"];
  if (setting.contains("first"))
    for (generate::Tokens& prompt : prompts) prompt.resize(1);
  return prompts;
}

class Imported {
 public:
  explicit Imported(const std::string& name)
      : info_(*checkpoint::find_checkpoint(
            test::import_folder(test::golden(name), scratch_.file("run")), *alone_)),
        model_(train::stored_model(train::run_state(info_.metadata, info_.path), info_.path)),
        local_(model_, {}, mesh_, DType::f32) {
    checkpoint::load_weights(info_, local_.parameters(), *alone_);
  }

  std::vector<std::vector<generate::Continuation>> searched(
      const std::vector<generate::Tokens>& prompts, const generate::GenerateConfig& config,
      int32_t end) {
    return generate::Generator(model_, local_, mesh_, config, end).search(prompts);
  }

 private:
  test::Scratch scratch_;
  std::unique_ptr<Group> alone_ = single_rank();
  Mesh mesh_{*alone_, {1, 1, 1}};
  checkpoint::CheckpointInfo info_;
  ModelConfig model_;
  LocalModel local_;
};

std::string spelt(const generate::Continuation& one, const std::string& letters, int32_t end) {
  std::string made;
  for (int32_t id : one.tokens) made += letters.at(static_cast<size_t>(id));
  return one.ended ? made + letters.at(static_cast<size_t>(end)) : made;
}

class BeamsOf : public testing::TestWithParam<const char*> {};

TEST_P(BeamsOf, AreThoseOfTransformers) {
  std::ifstream file("convert/beams.golden.json");
  const Json all = Json::parse(file), &golden = all[GetParam()];
  const std::string letters = all["letters"];
  const int32_t end = golden["end"];
  Imported model(GetParam());
  for (const Json& setting : golden["settings"]) {
    const auto found = model.searched(prompts_for(golden, setting), asked(setting), end);
    ASSERT_EQ(found.size(), 200u);
    size_t differing = 0;
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].size(), 1u);
      if (spelt(found[i][0], letters, end) == setting["found"][i]) continue;
      if (++differing < 5)
        ADD_FAILURE() << "prompt " << i << ", beams " << setting["size"] << ": "
                      << spelt(found[i][0], letters, end) << ", not " << setting["found"][i];
    }
    EXPECT_EQ(differing, 0u) << "beams " << setting["size"];
  }
}

struct MapperSettings {
  const char* model;
  size_t part;  // every sixth setting from this one on
};

class BeamsOfMappers : public testing::TestWithParam<MapperSettings> {};

// Prompts are sources: what is forced or must not come twice counts for answers alone.
TEST_P(BeamsOfMappers, AreThoseOfTransformers) {
  std::ifstream file("convert/mapper_beams.golden.json");
  const Json all = Json::parse(file), &golden = all[GetParam().model];
  const std::string letters = all["letters"];
  const int32_t end = golden["end"];
  const std::vector<generate::Tokens> sources = golden["prompts"];
  ASSERT_EQ(sources.size(), 200u);
  ASSERT_EQ(golden["settings"].size(), 169u);
  Imported model(GetParam().model);
  for (size_t number = GetParam().part; number < 169; number += 6) {
    generate::GenerateConfig config = asked(golden["settings"][number]);
    config.start = {golden["start"].get<int32_t>()};
    config.batch = 40;
    const auto found = model.searched(sources, config, end);
    for (size_t i = 0; i < found.size(); ++i) {
      const Json& answers = golden["answers"][i];
      EXPECT_EQ(spelt(found[i].at(0), letters, end),
                answers["texts"][answers["best"][number].get<size_t>()])
          << "source " << i << ", " << golden["settings"][number];
    }
  }
}

std::vector<MapperSettings> mapper_settings() {
  std::vector<MapperSettings> made;
  for (const char* model : {"t5", "bart"})
    for (size_t part = 0; part < 6; ++part) made.push_back({model, part});
  return made;
}

INSTANTIATE_TEST_SUITE_P(Models, BeamsOfMappers, testing::ValuesIn(mapper_settings()),
                         [](const auto& info) {
                           return fmt::format("{}_{}", info.param.model, info.param.part);
                         });

INSTANTIATE_TEST_SUITE_P(Models, BeamsOf, testing::Values("gpt2", "llama"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace skein
