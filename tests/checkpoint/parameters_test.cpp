#include "skein/checkpoint/parameters.h"

#include "scenario.h"

namespace skein::checkpoint {
namespace {

using namespace scenario;

constexpr const char* kGain = "norm.gain";

void describe(Parameters& parameters, bool with_gain) {
  parameters.enter("block.0", 0);
  parameters.add({"block.0.weight", {3, 4}, Split::none, {Start::normal, 0.5}});
  if (with_gain) parameters.add({kGain, {4}, Split::none, {Start::ones}});
}

TEST(LoadWeights, FillsEveryParameterAndMakesNoGradient) {
  const test::Scratch directory;
  const auto alone = single_rank();
  Parameters saved(DType::f32, 0, 1);
  describe(saved, true);
  saved.allocate(false);
  saved.initialize(3);
  CheckpointStore store(directory.path(), 1, *alone);
  store.save(7, parameter_pieces(saved), "{}");

  Parameters loaded(DType::f32, 0, 1);
  describe(loaded, true);
  load_weights(*find_checkpoint(directory.path(), *alone), loaded, *alone);
  ASSERT_EQ(loaded.all().size(), saved.all().size());
  for (size_t i = 0; i < saved.all().size(); ++i) {
    const Tensor &wanted = saved.all()[i].value, &found = loaded.all()[i].value;
    EXPECT_EQ(
        std::memcmp(found.bytes_data(), wanted.bytes_data(), static_cast<size_t>(wanted.bytes())),
        0)
        << saved.all()[i].name;
    EXPECT_FALSE(loaded.all()[i].gradient.defined()) << saved.all()[i].name;
  }
}

TEST(LoadWeights, NamesAParameterThatTheCheckpointLacks) {
  const test::Scratch directory;
  const auto alone = single_rank();
  Parameters saved(DType::f32, 0, 1), wanted(DType::f32, 0, 1);
  describe(saved, false);
  saved.allocate(false);
  saved.initialize(3);
  CheckpointStore store(directory.path(), 1, *alone);
  store.save(7, parameter_pieces(saved), "{}");
  describe(wanted, true);
  const CheckpointInfo info = *find_checkpoint(directory.path(), *alone);
  expect_error(ExitCode::usage, [&] { load_weights(info, wanted, *alone); }, {kGain, info.path});
}

}  // namespace
}  // namespace skein::checkpoint
