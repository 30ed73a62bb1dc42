// What ops refuse: each operand in turn undefined, of another type, rank or size; and the texts.
#include "skein/comm/local.h"
#include "skein/ops/collective.h"
#include "skein/ops/likeliest.h"
#include "skein/ops/recompute.h"

#include "support/op_cases.h"

namespace skein {
namespace {

using test::CaseOperand;
using test::internal_error_of;
using test::OpCase;
using Tensors = std::vector<Tensor>;

std::string refusal_with(const OpCase& one, size_t operand, const Tensor& spoilt) {
  Tensors operands = test::tensors_of(one);
  operands[operand] = spoilt;
  return internal_error_of([&] { one.call(operands); });
}

void expect_refused(const OpCase& one, size_t operand, const Tensor& spoilt, bool refused = true) {
  const std::string text = refusal_with(one, operand, spoilt);
  SCOPED_TRACE(fmt::format("{}: {} spoilt to {} {}: \"{}\"", one.op, one.operands[operand].name,
                           name_of(spoilt.dtype()), spoilt.shape(), text));
  EXPECT_EQ(text.empty(), !refused);
  EXPECT_TRUE(!refused || text.starts_with(one.op + ": "));
}

bool is_float(const CaseOperand& operand) {
  return operand.tensor.dtype() == DType::f32 || operand.tensor.dtype() == DType::f64;
}

bool shapes_are_tied(const OpCase& one) {
  return std::any_of(one.operands.begin(), one.operands.end(),
                     [](const CaseOperand& operand) { return operand.form == "="; });
}

// Whether another size of that dim fits no more.
bool is_tied(const OpCase& one, const CaseOperand& operand, int dim) {
  if (operand.any_shape) return false;
  if (operand.form == "=") return true;
  const bool ahead = operand.form.starts_with("...");
  const std::string letters = ahead ? operand.form.substr(3) : operand.form;
  const int letter = dim - (operand.tensor.shape().rank() - static_cast<int>(letters.size()));
  if (letter < 0) return shapes_are_tied(one);
  return one.free.find(letters[static_cast<size_t>(letter)]) == std::string::npos;
}

TEST(OpChecks, RightCallsAreNotRefused) {
  for (const OpCase& one : test::op_cases())
    EXPECT_EQ(internal_error_of([&] { one.call(test::tensors_of(one)); }), "") << one.op;
}

TEST(OpChecks, OperandsThatAreMissing) {
  for (const OpCase& one : test::op_cases())
    for (size_t i = 0; i < one.operands.size(); ++i)
      expect_refused(one, i, {}, !one.operands[i].may_be_undefined);
}

TEST(OpChecks, OperandsOfAnotherType) {
  for (const OpCase& one : test::op_cases()) {
    const auto alike = std::count_if(one.operands.begin(), one.operands.end(),
                                     [](const CaseOperand& operand) { return operand.alike; });
    for (size_t i = 0; i < one.operands.size(); ++i) {
      const CaseOperand& operand = one.operands[i];
      expect_refused(one, i, Tensor::zeros(operand.tensor.shape(), DType::u8));
      if (is_float(operand) && !(operand.alike && alike == 1))
        expect_refused(one, i, Tensor::zeros(operand.tensor.shape(), DType::f16));
    }
  }
}

TEST(OpChecks, OperandsOfAnotherRank) {
  for (const OpCase& one : test::op_cases())
    for (size_t i = 0; i < one.operands.size(); ++i) {
      const CaseOperand& operand = one.operands[i];
      std::vector<int64_t> dims = operand.tensor.shape().dims();
      dims.insert(dims.begin(), 1);
      const bool any_rank =
          operand.any_shape || (operand.form.starts_with("...") && !shapes_are_tied(one));
      expect_refused(one, i, operand.tensor.reshape(Shape(dims)), !any_rank);
    }
}

TEST(OpChecks, OperandsOfAnotherSize) {
  for (const OpCase& one : test::op_cases())
    for (size_t i = 0; i < one.operands.size(); ++i) {
      const CaseOperand& operand = one.operands[i];
      for (int dim = 0; dim < operand.tensor.shape().rank(); ++dim) {
        Shape shape = operand.tensor.shape();
        ++shape[dim];
        expect_refused(one, i, Tensor::zeros(shape, operand.tensor.dtype()),
                       is_tied(one, operand, dim));
      }
    }
}

Tensor f32(const Shape& shape) { return Tensor::zeros(shape, DType::f32); }
Tensor i32(const Shape& shape) { return Tensor::zeros(shape, DType::i32); }
WeightMemory learning(const Shape& shape) { return {f32(shape), f32(shape)}; }
WeightMemory frozen(const Shape& shape) { return {f32(shape), {}, nullptr, false}; }

struct Refusal {
  std::function<void()> call;
  std::string text;
};

void expect_texts(const std::vector<Refusal>& refusals) {
  for (const Refusal& one : refusals) EXPECT_EQ(internal_error_of(one.call), one.text);
}

TEST(OpChecks, TextsNameTheOpBothValuesAndAllOperands) {
  const Var x(f32({2, 6}));
  const WeightMemory gain = frozen({4}), table = frozen({3, 4}), weight{f32({3, 6}), f32({3, 5})};
  expect_texts({
      {[&] { ops::norm(x, ops::Norm::rms, gain, {}, 1e-5); },
       "norm: gain [C] must have C = 6 as x [...,C], not 4: x f32 [2,6], gain f32 [4]"},
      {[&] {
         ops::add(x, Var(f32({6, 2})));
       },
       "add: b must have the shape [2,6] of a, not [6,2]: a f32 [2,6], b f32 [6,2]"},
      {[&] {
         ops::add(x, Var(Tensor::zeros({2, 6}, DType::bf16)));
       },
       "add: b must be f32 as a, not bf16: a f32 [2,6], b bf16 [2,6]"},
      {[&] { ops::scale(Var(i32({2})), 2); },
       "scale: x must be of a float type, not i32: x i32 [2]"},
      {[&] {
         ops::embedding(Tensor::zeros({1, 2}, DType::i64), table, 0);
       },
       "embedding: ids must be i32, not i64: table f32 [3,4], ids i64 [1,2]"},
      {[&] {
         ops::rotary(x, i32({2, 6}), {});
       },
       "rotary: x must have the form [B,T,H,D], not [2,6]: x f32 [2,6], positions i32 [2,6]"},
      {[&] { ops::add(x, Var(Tensor())); }, "add: b must have values: a f32 [2,6], b undefined"},
      {[&] { ops::linear(x, weight, {}); },
       "linear: weight's gradient [N,K] must have K = 6 as x [...,K], not 5: x f32 [2,6], weight "
       "f32 [3,6], weight's gradient f32 [3,5]"},
  });
  const Var dropped(f32({2, 6}));
  dropped.drop_value();
  expect_texts({{[&] { ops::activation(dropped, ops::Activation::relu); },
                 "activation: x must have values: x f32 [2,6]"}});
}

// A tensor without elements needs no GPU.
TEST(OpChecks, TextsOfDevices) {
  const Tensor here = f32({0}), there = Tensor::empty({0}, DType::f32, {DeviceKind::cuda, 1});
  expect_texts({
      {[&] { ops::add(Var(here), Var(there)); },
       "add: b must be on the host as a, not on cuda:1: a f32 [0], b f32 [0]"},
      {[&] { ops::add(Var(there), Var(here)); },
       "add: b must be on cuda:1 as a, not on the host: a f32 [0], b f32 [0]"},
      {[&] {
         const Tensor known = Tensor::empty({0, 2, 3}, DType::f32, there.device());
         ops::preference_losses(Var(here), known, {});
       },
       "preference_losses: known must be on the host, not on cuda:1: scores f32 [0], known f32 "
       "[0,2,3]"},
  });
}

Var attended(const ops::AttentionArguments& arguments, const Shape& q, const Shape& k) {
  return ops::attention(Var::leaf(f32(q)), Var::leaf(f32(k)), Var::leaf(f32(k)), arguments);
}

TEST(OpChecks, TextsOfAttention) {
  ops::AttentionArguments plain, of_queries, of_keys, of_both, dropped, placed, listed, counted,
      emptied;
  of_queries.pattern.query_segments = of_both.pattern.query_segments = i32({1, 3});
  of_keys.pattern.key_segments = i32({1, 5});
  of_both.pattern.key_segments = i32({1, 3});
  placed.pattern.query_places = i32({1, 3});
  listed.pattern.lists = {2, i32({2, 3}), i32({4})};
  counted.pattern.lists = {2, i32({1, 3}), i32({4}), i32({1, 3})};
  emptied.pattern.lists.size = -1;
  dropped.dropout = 1;
  dropped.sample_ids = Tensor::zeros({1}, DType::i64);
  const Shape q{1, 3, 4, 2}, k{1, 5, 4, 2};
  const auto refused = [&](const ops::AttentionArguments& arguments, const Shape& keys,
                           const char* text) {
    expect_texts({{[&] { attended(arguments, q, keys); }, text}});
  };
  refused(plain, {1, 3, 3, 2},
          "attention: the 4 heads of q must be a multiple of the 3 of k: q [1,3,4,2], k [1,3,3,2]");
  refused(of_queries, k, "attention: query_segments need key_segments, which are undefined");
  refused(of_keys, k, "attention: key_segments need query_segments, which are undefined");
  refused(of_both, k,
          "attention: key_segments [B,S] must have S = 5 as k [B,S,G,D], not 3: q f32 [1,3,4,2], k "
          "f32 [1,5,4,2], v f32 [1,5,4,2], query_segments i32 [1,3], key_segments i32 [1,3]");
  refused(dropped, q, "attention: dropout must be below 1, not 1");
  refused(placed, k, "attention: query_places need key_places, which are undefined");
  refused(listed, k,
          "attention: lists.starts must be [1,3] or [4,3] for blocks of 2, not [2,3]: q [1,3,4,2]");
  refused(counted, k, "attention: lists.origins need lists.rows, which are undefined");
  refused(emptied, k, "attention: blocks of lists must have places, not -1");
  expect_texts({
      {[&] {
         ops::attention(Var(f32(q)), Var(f32(k)), Var(f32(k)), plain, Var(f32({2, 4, 7})));
       },
       "attention: bias must be [P,H,T+S-1] or [P,H,T,S] with the 1 samples a multiple of P: bias "
       "[2,4,7], q [1,3,4,2], k [1,5,4,2]"},
  });
}

TEST(OpChecks, TextsOfShapesAndPlaces) {
  const Var x(f32({2, 3, 4}));
  data::Batch batch;
  batch.tokens = i32({2, 3});
  batch.places = i32({2, 2});
  batch.place_rows = i32({5});
  batch.row_places = i32({6});
  expect_texts({
      {[&] {
         ops::reshape(x, {5, 5});
       },
       "reshape: [5,5] does not hold the 24 values of x [2,3,4]"},
      {[&] {
         ops::reshape(x, {-1, 5});
       },
       "reshape: [-1,5] does not hold the 24 values of x [2,3,4]"},
      {[&] {
         ops::reshape(x, {-1, -1});
       },
       "reshape: [-1,-1] does not hold the 24 values of x [2,3,4]"},
      {[&] {
         ops::dropout(x, {1, 7, Tensor::zeros({2}, DType::i64)});
       },
       "dropout: the probability must be below 1, not 1"},
      {[&] {
         ops::dropout(x, {0.5, 7, Tensor::zeros({2}, DType::i64), 0, 6, 9});
       },
       "dropout: the 4 columns of x from 6 on must lie in the 9 of the mask"},
      {[&] { ops::take_places(x, batch); },
       "take_places: place_rows must have 4 values as places, and row_places 6 as x has rows, not "
       "5 and 6"},
      {[] {
         ops::last_position(f32({2, 0, 4}));
       },
       "last_position: there must be 1 position or more: x [2,0,4]"},
      {[&] {
         const WeightMemory table = learning({2, 4});
         ops::prepend(table, x);
       },
       "prepend: table must have 1 row, not 2: table [2,4]"},
  });
  EXPECT_EQ(internal_error_of([&] { ops::reshape(x, {4, -1}); }), "");
}

ops::PolicyLoss policy_loss(const Tensor& known) {
  const auto row = [] { return Out(f32({3})); };
  return {{}, known, {row(), row(), row(), row(), row()}};
}

TEST(OpChecks, TextsOfLosses) {
  const Var x = Var::leaf(f32({3, 4}));
  const Tensor targets = i32({3}), weights = f32({3});
  const WeightMemory weight = learning({5, 4});
  const auto loss = [&](int64_t valid, int64_t sample_rows, const ops::RowExtras& extras = {}) {
    return ops::linear_cross_entropy(x, {weight, {}, {0, valid}}, targets, weights, sample_rows,
                                     extras);
  };
  expect_texts({
      {[&] { loss(6, 3); },
       "linear_cross_entropy: shard.valid must be from 0 to the 5 rows of the weight, not 6"},
      {[&] { loss(5, 0); }, "linear_cross_entropy: a sample must have 1 row or more, not 0"},
      {[&] { loss(5, 3, {weights}); },
       "linear_cross_entropy: entropy_weights need entropies, which nobody asks for"},
      {[&] {
         backward(loss(5, 3), Tensor::from(std::vector<float>{0, 1, 0}, {3}));
       },
       "linear_cross_entropy: backward was given other row_weights than forward"},
      {[&] {
         loss(5, 3, {{}, policy_loss(f32({3, 5}))});
       },
       "linear_cross_entropy: known must have 6 columns: known [3,5]"},
      {[&] {
         ops::PolicyLoss pays = policy_loss(f32({3, 6}));
         pays.outs.bonus = Out(f32({3}));
         loss(5, 3, {{}, pays});
       },
       "linear_cross_entropy: a bonus needs entropies, which nobody asks for"},
      {[] {
         ops::value_losses(Var(f32({3})), {}, f32({3, 7}));
       },
       "value_losses: known must have 6 columns: known [3,7]"},
      {[] { ops::end_to_end({}); }, "end_to_end: there must be 1 part or more"},
      {[] {
         ops::preference_losses(Var(f32({6})), f32({2, 3, 2}), {});
       },
       "preference_losses: known must be [B,K,3] for B * K scores: scores [6], known [2,3,2]"},
      {[] {
         ops::preference_loss(std::vector<double>{1, 2}, std::vector<float>{1, 2, 3}, {});
       },
       "preference_loss: known must have 3 numbers for each of 2 scores, not 3 in all"},
  });
}

TEST(OpChecks, TextsOfTheTape) {
  const Var x = Var::leaf(f32({2, 3})), y = ops::scale(x, 2);
  int calls = 0;
  const Var again = ops::recompute({x}, [&](const std::vector<Var>& in) {
    return ops::reshape(in[0], calls++ ? Shape{6} : Shape{3, 2});
  });
  expect_texts({
      {[] { Var().value(); }, "an undefined Var has no value"},
      {[&] { backward(Var(f32({2})), f32({2})); },
       "backward: nothing behind the output wants a gradient, or it was made under NoGrad"},
      {[&] {
         backward(y, f32({3, 2}));
       },
       "backward: the gradient must have the shape [2,3] of the output, not [3,2]"},
      {[&] {
         backward({x, y}, {f32({2, 3})});
       },
       "backward: 2 outputs must have a gradient each, not 1 in all"},
      {[&] { x.add_gradient(f32({5})); },
       "add_gradient: a gradient of f32 [5] was added to a value of f32 [2,3]"},
      {[&] {
         x.add_gradient(Tensor::zeros({2, 3}, DType::f64));
       },
       "add_gradient: a gradient of f64 [2,3] was added to a value of f32 [2,3]"},
      {[&] {
         backward(again, f32({3, 2}));
       },
       "recompute: the function gave [3,2] first and [6] when run again"},
  });
}

using Collective = Var (*)(const Var&, Group&);

TEST(OpChecks, TextsOfCollectives) {
  for (int ranks : {1, 2})
    run_ranks(ranks, [](Group& group) {
      const Var flat(f32({2, 3})), whole(i32({2, 3, 4}));
      for (const auto& [name, op] :
           {std::pair<std::string, Collective>{"gather_sequence", &ops::gather_sequence},
            {"gather_sequence_alike", &ops::gather_sequence_alike},
            {"reduce_scatter_sequence", &ops::reduce_scatter_sequence},
            {"slice_sequence", &ops::slice_sequence}})
        expect_texts({
            {[&] { op(flat, group); },
             name + ": x must have the form [B,T,C], not [2,3]: x f32 [2,3]"},
            {[&] { op(whole, group); },
             name + ": x must be of a float type, not i32: x i32 [2,3,4]"},
        });
      for (const auto& [name, op] :
           {std::pair<std::string, Collective>{"copy_to_shards", &ops::copy_to_shards},
            {"reduce_from_shards", &ops::reduce_from_shards},
            {"once", &ops::once}})
        expect_texts({
            {[&] { op(whole, group); },
             name + ": x must be of a float type, not i32: x i32 [2,3,4]"},
            {[&] { op(Var(Tensor()), group); }, name + ": x must have values: x undefined"},
        });
      expect_texts({
          {[&] { ops::whole_columns(f32({6}), group); },
           "whole_columns: x must have the form [M,N], not [6]: x f32 [6]"},
          {[&] {
             ops::likeliest(f32({2, 3}), {0, 4}, group);
           },
           "likeliest: shard.valid must be from 0 to the 3 columns of logits, not 4"},
          {[&] {
             ops::likeliest_ids(f32({2, 3}), {0, 4}, {}, group);
           },
           "likeliest_ids: shard.valid must be from 0 to the 3 columns of logits, not 4"},
          {[&] {
             ops::likeliest_ids(f32({6}), {0, 4}, {}, group);
           },
           "likeliest_ids: logits must have the form [M,V], not [6]: logits f32 [6]"},
      });
    });
}

TEST(OpChecks, TextsOfSequencesThatDoNotDivide) {
  run_ranks(2, [](Group& group) {
    const Var x(f32({2, 3, 4}));
    for (const auto& [name, op] : {std::pair<std::string, Collective>{
                                       "reduce_scatter_sequence", &ops::reduce_scatter_sequence},
                                   {"slice_sequence", &ops::slice_sequence}})
      expect_texts(
          {{[&] { op(x, group); }, name + ": 3 positions do not divide by 2 ranks: x [2,3,4]"}});
    expect_texts({{[&] {
                     ops::gather_again(Var(f32({2, 5, 4})), x, group);
                   },
                   "gather_again: made must be x [B,T/t,C] of 2 ranks gathered: x [2,3,4], made "
                   "[2,5,4]"}});
  });
}

}  // namespace
}  // namespace skein
