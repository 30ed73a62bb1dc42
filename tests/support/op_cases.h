// A call of every op that is right, with the forms of its operands, for tests that spoil one of
// them at a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "skein/ops/attention.h"
#include "skein/ops/distance_bias.h"
#include "skein/ops/embedding.h"
#include "skein/ops/linear.h"
#include "skein/ops/links.h"
#include "skein/ops/loss.h"
#include "skein/ops/preference.h"

#include "support/expect_error.h"
#include "support/gradient_check.h"

namespace skein::test {

struct CaseOperand {
  std::string name, form;  // as the op's error tells them
  Tensor tensor;
  bool alike = true;  // of one float type with the others of which this is true; else of its own
  bool may_be_undefined = false;
  bool on_host = false;    // whatever the device
  bool any_shape = false;  // even where others have the shape of the first
};

struct OpCase {
  std::string op;
  std::vector<CaseOperand> operands;
  std::function<void(const std::vector<Tensor>& operands)> call;
  std::string free = {};  // letters of sizes that may change in one operand alone
};

inline CaseOperand numbers(const char* name, const char* form, const Shape& shape) {
  return {name, form, random_tensor(shape, 1, DType::f32)};
}
inline CaseOperand sums(const char* name, const char* form, const Shape& shape) {
  return {name, form, random_tensor(shape, 1, DType::f32), false};
}
inline CaseOperand gradient(const char* name, const char* form, const Shape& shape) {
  return {name, form, Tensor::zeros(shape, DType::f32), false, true};
}
inline CaseOperand ids(const char* name, const char* form, const Shape& shape,
                       DType dtype = DType::i32) {
  return {name, form, Tensor::zeros(shape, dtype), false};
}
inline CaseOperand optional(CaseOperand operand) {
  operand.may_be_undefined = true;
  return operand;
}
inline CaseOperand on_host(CaseOperand operand) {
  operand.on_host = true;
  return operand;
}

inline CaseOperand any_shape(CaseOperand operand) {
  operand.any_shape = true;
  return operand;
}

// It learns where there is a gradient.
inline WeightMemory weight_of(const Tensor& value, const Tensor& gradient = {}) {
  return {value, gradient, nullptr, gradient.defined()};
}

inline std::vector<OpCase> elementwise_cases() {
  const CaseOperand x = numbers("x", "...", {2, 3}), gain = numbers("gain", "C", {3}),
                    bias = optional(numbers("bias", "C", {3})),
                    dgain = gradient("gain's gradient", "C", {3}),
                    dbias = gradient("bias's gradient", "C", {3});
  return {
      {"add",
       {numbers("a", "...", {2, 3}), numbers("b", "=", {2, 3})},
       [](const auto& in) { ops::add(Var(in[0]), Var(in[1])); }},
      {"converted", {x}, [](const auto& in) { ops::converted(in[0], DType::bf16); }},
      {"scale", {x}, [](const auto& in) { ops::scale(Var(in[0]), 2); }},
      {"activation",
       {x},
       [](const auto& in) { ops::activation(Var(in[0]), ops::Activation::relu); }},
      {"gated",
       {numbers("gate", "...", {2, 3}), numbers("up", "=", {2, 3})},
       [](const auto& in) { ops::gated(Var(in[0]), Var(in[1]), ops::Activation::relu); }},
      {"dropout",
       {numbers("x", "BTC", {2, 3, 4}), ids("sample_ids", "B", {2}, DType::i64)},
       [](const auto& in) {
         ops::dropout(Var(in[0]), {0.5, 1, in[1]});
       },
       "TC"},
      {"norm",
       {numbers("x", "...C", {2, 3}), gain, bias, dgain, dbias},
       [](const auto& in) {
         const WeightMemory gain_held = weight_of(in[1], in[3]),
                            bias_held = weight_of(in[2], in[4]);
         ops::norm(Var(in[0]), ops::Norm::layer, gain_held, bias_held, 1e-5);
       }},
      {"add_norm",
       {numbers("x", "...C", {2, 3}), numbers("branch", "=", {2, 3}), gain, bias, dgain, dbias},
       [](const auto& in) {
         const WeightMemory gain_held = weight_of(in[2], in[4]),
                            bias_held = weight_of(in[3], in[5]);
         ops::add_norm(Var(in[0]), Var(in[1]), ops::Norm::layer, gain_held, bias_held, 1e-5);
       }},
  };
}

inline std::vector<OpCase> product_cases() {
  const CaseOperand x = numbers("x", "...K", {2, 4}), weight = numbers("weight", "NK", {3, 4}),
                    bias = numbers("bias", "N", {3}), dbias = gradient("bias's gradient", "N", {3});
  return {
      {"linear",
       {x, weight, optional(bias), gradient("weight's gradient", "NK", {3, 4}), dbias},
       [](const auto& in) {
         const WeightMemory weight_held = weight_of(in[1], in[3]),
                            bias_held = weight_of(in[2], in[4]);
         ops::linear(Var(in[0]), weight_held, bias_held);
       }},
      {"linear_sums",
       {x, weight, optional(bias)},
       [](const auto& in) {
         const WeightMemory weight_held = weight_of(in[1]), bias_held = weight_of(in[2]);
         ops::linear_sums(in[0], weight_held, bias_held);
       }},
      {"add_bias",
       {numbers("x", "...N", {2, 3}), bias, dbias},
       [](const auto& in) {
         const WeightMemory bias_held = weight_of(in[1], in[2]);
         ops::add_bias(Var(in[0]), bias_held);
       }},
      {"embedding",
       {numbers("table", "VC", {5, 4}), ids("ids", "BT", {2, 3}),
        gradient("table's gradient", "VC", {5, 4})},
       [](const auto& in) {
         const WeightMemory table_held = weight_of(in[0], in[2]);
         ops::embedding(in[1], table_held, 0);
       },
       "BT"},
      {"take_places",
       {numbers("x", "BTC", {2, 3, 4}), optional(ids("places", "BP", {2, 2})),
        ids("place_rows", "M", {4}), ids("row_places", "N", {6})},
       [](const auto& in) {
         data::Batch batch;
         batch.tokens = Tensor::zeros({2, 3}, DType::i32);
         batch.places = in[1], batch.place_rows = in[2], batch.row_places = in[3];
         ops::take_places(Var(in[0]), batch);
       },
       "C"},
      {"prepend",
       {numbers("x", "BTC", {2, 3, 4}), numbers("table", "RC", {1, 4}),
        gradient("table's gradient", "RC", {1, 4})},
       [](const auto& in) {
         const WeightMemory table_held = weight_of(in[1], in[2]);
         ops::prepend(table_held, Var(in[0]));
       },
       "BT"},
      {"repeat_rows",
       {numbers("x", "MC", {2, 3})},
       [](const auto& in) { ops::repeat_rows(Var(in[0]), 2); },
       "MC"},
      {"first_position",
       {numbers("x", "BTC", {2, 3, 4})},
       [](const auto& in) { ops::first_position(Var(in[0])); },
       "BTC"},
      {"positions",
       {numbers("x", "BTC", {2, 3, 4})},
       [](const auto& in) { ops::positions(Var(in[0]), 1, 2); },
       "BTC"},
      {"append",
       {numbers("x", "BTC", {2, 3, 4}), numbers("y", "BSC", {2, 1, 4})},
       [](const auto& in) { ops::append(Var(in[0]), Var(in[1])); },
       "TS"},
      {"last_position",
       {numbers("x", "BTC", {2, 3, 4})},
       [](const auto& in) { ops::last_position(in[0]); },
       "BTC"},
      {"sample_means",
       {numbers("x", "BTC", {2, 3, 4}), optional(ids("segments", "BT", {2, 3}))},
       [](const auto& in) { ops::sample_means(Var(in[0]), in[1]); },
       "C"},
      {"merge_rounds",
       {numbers("parts", "PC", {4, 3}), sums("levels", "P", {4}), ids("rows", "RN", {2, 3})},
       [](const auto& in) { ops::merge_rounds(Var(in[0]), Var(in[1]), in[2]); },
       "CRN"},
      {"attention",
       {numbers("q", "BTHD", {2, 3, 4, 2}), numbers("k", "BSGD", {2, 5, 2, 2}),
        numbers("v", "BSGD", {2, 5, 2, 2}), ids("query_segments", "BT", {2, 3}),
        ids("key_segments", "BS", {2, 5}), optional(ids("first_key", "B", {2})),
        optional(ids("prefix", "B", {2})), optional(ids("marked", "BS", {2, 5})),
        ids("query_places", "BT", {2, 3}), ids("key_places", "BS", {2, 5}),
        ids("sample_ids", "B", {2}, DType::i64)},
       [](const auto& in) {
         ops::AttentionArguments arguments;
         ops::Pattern& p = arguments.pattern;
         p.query_segments = in[3], p.key_segments = in[4], p.first_key = in[5], p.prefix = in[6];
         p.marked = in[7], p.query_places = in[8], p.key_places = in[9];
         arguments.sample_ids = in[10];
         arguments.dropout = 0.5;
         ops::attention(Var(in[0]), Var(in[1]), Var(in[2]), arguments);
       }},
      {"distance_bias",
       {numbers("table", "HN", {2, 4}), gradient("table's gradient", "HN", {2, 4})},
       [](const auto& in) {
         const WeightMemory table = weight_of(in[0], in[1]);
         ops::distance_bias(table, 2, {3, 5, 0, {4, 8, true}});
       }},
      {"rotary",
       {numbers("x", "BTHD", {2, 3, 2, 4}), ids("positions", "BT", {2, 3})},
       [](const auto& in) { ops::rotary(Var(in[0]), in[1], {}); },
       "H"},
  };
}

inline std::vector<OpCase> loss_cases() {
  const CaseOperand x = numbers("x", "...", {3});
  const auto row = [](const char* name) { return sums(name, "M", {3}); };
  const auto known = [] { return sums("known", "ME", {3, kernels::known::columns}); };
  return {
      {"linear_cross_entropy",
       {numbers("x", "MC", {3, 4}), numbers("weight", "VC", {5, 4}),
        optional(numbers("bias", "V", {5})), ids("targets", "M", {3}),
        gradient("weight's gradient", "VC", {5, 4}), gradient("bias's gradient", "V", {5}),
        sums("row_weights", "M", {3}), sums("entropies", "M", {3}),
        optional(sums("entropy_weights", "M", {3}))},
       [](const auto& in) {
         const WeightMemory weight = weight_of(in[1], in[4]), bias = weight_of(in[2], in[5]);
         ops::RowExtras extras;
         extras.entropy_weights = in[8];
         ops::linear_cross_entropy(Var(in[0]), {weight, bias, {0, 3}}, in[3], in[6], 3, extras,
                                   Out(in[7]));
       }},
      {"linear_cross_entropy",
       {numbers("x", "MC", {3, 4}), numbers("weight", "VC", {5, 4}), ids("targets", "M", {3}),
        row("row_weights"), row("entropies"), known(), row("loss"), row("approx_kl"),
        row("clipped"), row("ratio"), row("ratio_off"), optional(row("bonus"))},
       [](const auto& in) {
         const WeightMemory weight = weight_of(in[1]);
         ops::RowExtras extras;
         extras.policy = ops::PolicyLoss{
             {}, in[5], {Out(in[6]), Out(in[7]), Out(in[8]), Out(in[9]), Out(in[10]), Out(in[11])}};
         ops::linear_cross_entropy(Var(in[0]), {weight, {}, {0, 3}}, in[2], in[3], 3, extras,
                                   Out(in[4]));
       },
       "V"},
      {"linear_cross_entropy",
       {numbers("x", "MC", {3, 4}), numbers("weight", "VC", {5, 4}), ids("targets", "M", {3}),
        row("row_weights"), optional(row("plain")), gradient("weight's gradient", "VC", {5, 4})},
       [](const auto& in) {
         const WeightMemory weight = weight_of(in[1], in[5]);
         ops::RowExtras extras;
         extras.smoothed = ops::SmoothedLoss{{0.1, 3}, Out(in[4])};
         ops::linear_cross_entropy(Var(in[0]), {weight, {}, {0, 3}}, in[2], in[3], 3, extras);
       }},
      {"stand_in",
       {x, numbers("gradient", "=", {3}), any_shape(numbers("value", "...", {1}))},
       [](const auto& in) { ops::stand_in(Var(in[0]), in[2], in[1]); }},
      {"cross_entropy",
       {numbers("logits", "MN", {3, 4}), ids("targets", "M", {3})},
       [](const auto& in) { ops::cross_entropy(Var(in[0]), in[1]); },
       "N"},
      {"cross_entropy",
       {numbers("logits", "MN", {3, 4}), ids("targets", "M", {3}), optional(row("plain"))},
       [](const auto& in) {
         const Shape& shape = in[0].shape();  // as many classes as there are
         ops::cross_entropy(Var(in[0]), in[1],
                            ops::SmoothedLoss{{0.1, shape.rank() == 2 ? shape[1] : 4}, Out(in[2])});
       },
       "N"},
      {"squared_error",
       {numbers("x", "MN", {3, 2}), sums("values", "MN", {3, 2})},
       [](const auto& in) { ops::squared_error(Var(in[0]), in[1]); }},
      {"value_losses",
       {numbers("x", "M", {3}), known()},
       [](const auto& in) { ops::value_losses(Var(in[0]), {}, in[1]); }},
      {"end_to_end",
       {numbers("the first part", "M", {3}), numbers("a part", "N", {2})},
       [](const auto& in) {
         ops::end_to_end({Var(in[0]), Var(in[1])});
       },
       "MN"},
      {"preference_losses",
       {numbers("scores", "N", {6}),
        on_host({"known", "BKE", Tensor::zeros({2, 3, data::kKnownColumns}, DType::f32), false})},
       [](const auto& in) { ops::preference_losses(Var(in[0]), in[1], {}); }},
  };
}

// From 2 rows to 3 columns, beside a tensor.
inline ops::Links some_links(const Tensor& beside) {
  const std::vector<int64_t> starts{0, 3, 4}, columns{0, 2, 2, 0};
  return kernels::make_links(starts, columns, 3).to(beside.device());
}

inline std::vector<OpCase> link_cases() {
  return {
      {"gather_sum",
       {numbers("x", "KHD", {3, 2, 5}), optional(sums("weights", "EH", {4, 2}))},
       [](const auto& in) { ops::gather_sum(Var(in[0]), some_links(in[1]), Var(in[1])); },
       "D"},
      {"gather_max",
       {numbers("x", "KHD", {3, 2, 5})},
       [](const auto& in) { ops::gather_max(Var(in[0]), some_links(in[0])); },
       "HD"},
      {"link_dot",
       {numbers("q", "RHD", {2, 2, 5}), numbers("k", "KHD", {3, 2, 5})},
       [](const auto& in) { ops::link_dot(Var(in[0]), Var(in[1]), some_links(in[1]), 1); }},
      {"link_pick",
       {numbers("s", "NH", {3, 2})},
       [](const auto& in) { ops::link_pick(Var(in[0]), some_links(in[0]), ops::LinkEnd::column); },
       "H"},
      {"link_additive",
       {optional(numbers("row", "RHD", {2, 2, 5})), optional(numbers("column", "KHD", {3, 2, 5})),
        optional(numbers("link", "EHD", {4, 2, 5})), optional(numbers("weights", "HD", {2, 5})),
        gradient("weights' gradient", "HD", {2, 5})},
       [](const auto& in) {
         const WeightMemory weights = weight_of(in[3], in[4]);
         ops::link_additive({Var(in[0]), Var(in[1]), Var(in[2])}, weights, some_links(in[2]), 0.2);
       }},
      {"link_softmax",
       {numbers("a", "EH", {4, 2})},
       [](const auto& in) { ops::link_softmax(Var(in[0]), some_links(in[0])); },
       "H"},
      {"link_product",
       {numbers("a", "EH", {4, 2}), numbers("b", "EH", {4, 2})},
       [](const auto& in) { ops::link_product(Var(in[0]), Var(in[1])); }},
  };
}

inline std::vector<OpCase> op_cases() {
  std::vector<OpCase> all;
  for (const auto& some : {elementwise_cases(), product_cases(), loss_cases(), link_cases()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

inline std::vector<Tensor> tensors_of(const OpCase& one) {
  std::vector<Tensor> made;
  for (const CaseOperand& operand : one.operands) made.push_back(operand.tensor);
  return made;
}

// What the call is refused with, as an internal error; empty where it is not.
inline std::string internal_error_of(const std::function<void()>& call) {
  return error_text(ExitCode::internal, call);
}

}  // namespace skein::test
