// Gradients of whole models against central differences in f64.
#pragma once

#include <algorithm>

#include "skein/comm/local.h"
#include "skein/models/architecture.h"
#include "skein/models/description.h"

#include "support/gradient_check.h"

namespace skein::test {

// Of all terms, as their objective weighs them.
inline double total(const Losses& losses) {
  double sum = 0;
  for (int64_t i = 0; i < losses.row_weights.size(); ++i)
    sum += losses.rows.value().data<double>()[i] * losses.row_weights.data<double>()[i];
  return sum;
}

inline void check_gradients_of(const ModelConfig& config, const data::Batch& batch) {
  const auto alone = single_rank();
  Parameters parameters(DType::f64, 0, 1);
  const auto model = config.architecture->piece(config, whole_piece(config), false, parameters);
  parameters.allocate(true);
  parameters.initialize(3);
  const auto objective = model->objective();
  const data::Batch here = placed(batch, {});
  LossPass pass;
  pass.tp = alone.get();
  pass.batch = &here;
  pass.train = true;
  pass.seed = 5;
  pass.sample_scale = 0.7;
  const auto loss = [&] {
    const NoGrad no_grad;
    return total(objective->losses(model->forward({}, pass), pass));
  };
  const Losses losses = objective->losses(model->forward({}, pass), pass);
  backward(losses.rows, losses.row_weights);
  int64_t learnt = 0;
  for (const Parameter& p : parameters.all()) {
    if (p.tied() || p.constant) continue;
    learnt += p.value.size();
    for (const Parameter& second : parameters.all())
      if (second.tied_to == p.name)
        for (int64_t i = 0; i < p.value.size(); ++i)
          p.gradient.data<double>()[i] += second.gradient.data<double>()[i];
    compare_with_differences(p.value, p.gradient, loss, 1e-6, p.name,
                             std::max<int64_t>(1, p.value.size() / 7));
  }
  EXPECT_EQ(learnt, config.parameters());
}

}  // namespace skein::test
