// What a checkpoint says of its model: options, tensors and notes, each as JSON, with "----"
// between them. A model that is taken has tensors of sizes that can be, and all of them are held.
#include "skein/core/numbers.h"
#include "skein/core/strict_json.h"
#include "skein/train/run_state.h"
#include "skein/train/tasks/label_head.h"

#include "../fuzz.h"

namespace {

template <class Wanted>
Wanted part(std::string_view& input) {
  const std::string text(skein::test::take_part(input));
  return skein::parse_strictly<nlohmann::json>(text, "fuzz", 16).get<Wanted>();
}

void check_shapes(const skein::TensorShapes& shapes) {
  for (const auto& [name, shape] : shapes)
    if (name.empty() || !skein::checked_product(shape, 1 << 8)) std::abort();
}

}  // namespace

void fuzz(std::string_view input) {
  try {
    skein::train::RunState state;
    state.config = part<std::map<std::string, std::string>>(input);
    const skein::ModelConfig model = skein::train::stored_model(state, "fuzz");
    check_shapes(skein::tensor_shapes(model, {0, 1, true, true, 0}));
    if (model.parameters() < 0) std::abort();
    skein::train::check_held(model, part<skein::TensorShapes>(input), "fuzz");
    skein::train::label_head(skein::train::TaskNotes(std::string(skein::test::take_part(input))),
                             "fuzz");
  } catch (const nlohmann::json::exception&) {
    // Values of other kinds.
  }
}
