// Models of the maximal update parametrisation, as other programs get them: without it, and saying
// the same.
#include <gtest/gtest.h>

#include "skein/checkpoint/parameters.h"
#include "skein/train/run_state.h"

#include "convert/fresh_run.h"

namespace skein::convert {
namespace {

using test::Scratch;

// The model of small_model() has a width of 8 and heads of 2.
ModelConfig scaled(ModelConfig model, int64_t base_width, int64_t base_head) {
  model.mup_base_width = base_width;
  model.mup_base_head = base_head;
  model.init_std = 0.5;
  return model;
}

ModelConfig plain_llama() {
  ModelConfig c = test::small_model();
  c.positions = Positions::rotary;
  c.norm = ops::Norm::rms;
  c.activation = MlpKind::swiglu;
  c.bias = c.tie_embeddings = false;
  return c;
}

Tensor logits_of(const std::string& path) {
  const NoGrad no_grad;
  const auto alone = single_rank();
  const auto info = *checkpoint::find_checkpoint(path, *alone);
  const ModelConfig model = stored_model(train::run_state(info.metadata, info.path), info.path);
  Parameters parameters(DType::f32, 0, 1);
  const Gpt gpt(model, {0, static_cast<int>(model.n_layers), true, true, 0}, false, parameters);
  load_weights(info, parameters, *alone);
  data::Batch batch;
  batch.tokens = Tensor::from(std::vector<int32_t>{3, 1, 4, 1, 5, 9, 2, 6}, {1, 8});
  batch.positions = Tensor::from(std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7}, {1, 8});
  Pass pass;
  pass.tp = alone.get();
  pass.batch = &batch;
  return gpt.logits(gpt.forward({}, pass).only().value());
}

double apart(const Tensor& left, const Tensor& right) {
  double most = 0;
  for (int64_t i = 0; i < left.size(); ++i)
    most = std::max(most,
                    static_cast<double>(std::abs(left.data<float>()[i] - right.data<float>()[i])));
  return most;
}

TEST(MupExport, FoldsItsFactorsIntoWeights) {
  ModelConfig normed = plain_llama();
  normed.qk_norm = true;
  ModelConfig gemma = normed;
  gemma.norm = ops::Norm::rms_zero_centered;
  gemma.norm_placement = NormPlacement::sandwich;
  gemma.activation = MlpKind::geglu_tanh;
  gemma.scale_embeddings = true;
  for (const ModelConfig& plain : {test::small_model(), plain_llama(), normed, gemma})
    for (const auto& [width, head] : {std::pair<int64_t, int64_t>{2, 0}, {3, 1}}) {
      const Scratch scratch;
      test::save_fresh(scratch.file("run"), scaled(plain, width, head), 2);
      test::export_folder(scratch.file("run"), scratch.file("out"));
      const std::string back = test::import_folder(scratch.file("out"), scratch.file("back"));
      const Tensor before = logits_of(scratch.file("run")), after = logits_of(back);
      EXPECT_LT(apart(before, after), 1e-5)
          << "norms of heads " << plain.qk_norm << ", base width " << width;
      EXPECT_GT(apart(before, Tensor::zeros(before.shape(), DType::f32)), 1e-2);
      if (width == 3 || plain.scale_embeddings) continue;  // gains that are sums are rounded
      EXPECT_EQ(apart(before, after), 0) << "factors that are powers of two cost no bit";
    }
}

TEST(MupExport, NeedsALastNorm) {
  const Scratch scratch;
  ModelConfig model = scaled(test::small_model(), 2, 0);
  model.norm_placement = NormPlacement::post;
  test::save_fresh(scratch.file("run"), model, 1);
  test::expect_error(ExitCode::usage, {"model.mup_base_width=2", "norm_placement=post", "0.25"},
                     [&] { test::export_folder(scratch.file("run"), scratch.file("out")); });
}

}  // namespace
}  // namespace skein::convert
