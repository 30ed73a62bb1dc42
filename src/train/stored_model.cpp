#include <algorithm>

#include "skein/checkpoint/parameters.h"
#include "skein/core/error.h"
#include "skein/models/description.h"
#include "skein/train/run_state.h"

#include "stored_section.h"

namespace skein::train {
namespace {

std::string text_of(const std::vector<int64_t>& dims) { return Shape(dims).str(); }

[[noreturn]] void refuse(const std::string& origin, const std::string& why) {
  fail_usage("{} describes another model than it holds: {}; it was edited or put together by hand",
             origin, why);
}

// `name` is that of the model, without the folder of the weights.
void check_tensor(const std::string& name, const std::vector<int64_t>& shape,
                  const TensorShapes& held, const std::string& origin) {
  const auto found = held.find(checkpoint::weight_name(name));
  if (found == held.end()) refuse(origin, fmt::format("there is no {}", name));
  if (found->second != shape)
    refuse(origin,
           fmt::format("{} is {} and would be {}", name, text_of(found->second), text_of(shape)));
}

}  // namespace

ModelConfig stored_model(const RunState& state, const std::string& origin) {
  const auto model = stored_section<ModelConfig>(state, kModelSections, origin);
  with_origin(origin + ", in the options that it was saved with", [&] { check(model, 1, false); });
  return model;
}

// Ends at the first block that is not there, however many the model says.
void check_held(const ModelConfig& model, const TensorShapes& held, const std::string& origin) {
  const auto check_all = [&](const TensorShapes& tensors) {
    for (const auto& [name, shape] : tensors) check_tensor(name, shape, held, origin);
  };
  const auto last = static_cast<int>(model.n_layers);
  check_all(tensor_shapes(model, {0, 0, true, false, 0}));
  check_all(tensor_shapes(model, {last, last, false, true, 0}));
  for (int i = 0; i < last; ++i) {
    const TensorShapes block = tensor_shapes(model, {i, i + 1, false, false, 0});
    if (std::ranges::none_of(block, [&](const auto& tensor) {
          return held.contains(checkpoint::weight_name(tensor.first));
        }))
      refuse(origin,
             fmt::format("model.n_layers is {}, and there is no block {}", model.n_layers, i));
    check_all(block);
  }
}

}  // namespace skein::train
