#include <algorithm>

#include "skein/bench/structures.h"
#include "skein/core/numbers.h"
#include "skein/kernels/attention.h"
#include "skein/kernels/matmul.h"
#include "skein/nn/vocab_padding.h"

#include "parts.h"

namespace skein::bench {
namespace {

struct Product {
  std::string name;
  int64_t outputs, inputs;
};

std::vector<Product> products_of(const ModelConfig& c, Device device) {
  const int64_t kv = c.kv_heads() * c.head_width();
  std::vector<Product> all{{"q, out", c.d_model, c.d_model},
                           {"up", c.hidden(), c.d_model},
                           {"down", c.d_model, c.hidden()},
                           {"head", rounded_up(c.vocab_size, vocab_granule(device)), c.d_model}};
  if (kv != c.d_model) all.insert(all.begin() + 1, {"k, v", kv, c.d_model});
  return all;
}

}  // namespace

void bench_products(const Bench& bench) {
  const train::PretrainConfig& run = bench.run;
  const Device device = bench.device;
  const int64_t rows = run.train.micro_batch * run.model.context;
  const DType dtype = run.precision();
  Yardsticks yardsticks(device, bench.config);
  const auto peak = [&] { return yardsticks.products(dtype); };
  bench.figures.title(
      fmt::format("matrix products of {} rows, {}, against {}", rows, name_of(dtype),
                  device.kind == DeviceKind::cpu
                      ? "multiply-adds on registers"
                      : fmt::format("the one of {0} x {0} x {0}", bench.config.peak_size)));
  for (const Product& p : products_of(run.model, device)) {
    const Tensor x = random_values({rows, p.inputs}, dtype, 1, device),
                 w = random_values({p.outputs, p.inputs}, dtype, 2, device),
                 y = random_values({rows, p.outputs}, dtype, 3, device),
                 dx = Tensor::empty({rows, p.inputs}, dtype, device),
                 dw = Tensor::zeros({p.outputs, p.inputs}, gradient_dtype(dtype), device);
    const double flops = 2.0 * rows * p.outputs * p.inputs;
    const auto add = [&](const char* form, const auto& work) {
      const std::string name = fmt::format("{} {}x{} {}", p.name, p.outputs, p.inputs, form);
      add_timed(bench, {.group = "gemm", .name = name, .flops = flops}, peak,
                [&] { on_device(device, work); });
    };
    add("forward", [&](auto on) { kernels::matmul(on, x, w, {.transpose_b = true}, Out(y)); });
    add("dx", [&](auto on) { kernels::matmul(on, y, w, {}, Out(dx)); });
    add("dw", [&](auto on) {
      kernels::matmul(on, y, x, {.transpose_a = true, .accumulate = true}, Out(dw));
    });
  }
}

namespace {

void to_device(kernels::Pattern& pattern, Device device) {
  for (Tensor* x : {&pattern.query_segments, &pattern.key_segments, &pattern.lists.starts,
                    &pattern.lists.blocks, &pattern.lists.origins, &pattern.lists.rows,
                    &pattern.prefix, &pattern.marked})
    if (x->defined()) *x = x->to(device);
}

}  // namespace

void bench_attention(const Bench& bench) {
  const train::PretrainConfig& run = bench.run;
  const Device device = bench.device;
  const ModelConfig& c = run.model;
  check(c, 1, false);
  if (std::ranges::count(bench.config.structures, kModelStructure)) bench_layers(bench);
  const DType dtype = run.precision();
  const int64_t batch = run.train.micro_batch, length = c.context;
  const Shape queries{batch, length, c.n_heads, c.head_width()},
      keys{batch, length, c.kv_heads(), c.head_width()};
  const Tensor q = random_values(queries, dtype, 1, device),
               k = random_values(keys, dtype, 2, device), v = random_values(keys, dtype, 3, device),
               dout = random_values(queries, dtype, 4, device),
               out = Tensor::empty(queries, dtype, device),
               dq = Tensor::empty(queries, dtype, device), dk = Tensor::empty(keys, dtype, device),
               dv = Tensor::empty(keys, dtype, device),
               level = Tensor::empty({batch, c.n_heads, length}, gradient_dtype(dtype), device);
  Yardsticks yardsticks(device, bench.config);
  const auto peak = [&] { return yardsticks.products(dtype); };
  for (const std::string& name : structure_names()) {
    if (std::ranges::count(bench.config.structures, name) == 0) continue;
    kernels::AttentionArguments arguments;
    arguments.scale = 0.125;
    arguments.pattern = structure(name, batch, length, bench.config.reach);
    const double flops =
        4.0 * static_cast<double>(c.head_width()) *
        kernels::visible_pairs(arguments.pattern, batch, c.n_heads, length, length);
    to_device(arguments.pattern, device);
    bench.figures.title(fmt::format("{} attention, {} sequences of {} tokens, {}", name, batch,
                                    length, name_of(dtype)));
    // Plain names are those of causal attention.
    const std::string before = name == "causal" ? "" : name + " ";
    const auto add = [&](const char* way, double work_flops, const auto& work) {
      add_timed(bench, {.group = "attention", .name = before + way, .flops = work_flops}, peak,
                [&] { on_device(device, work); });
    };
    add("forward", flops,
        [&](auto on) { kernels::attention(on, q, k, v, arguments, Out(out), Out(level)); });
    add("backward", 2.5 * flops, [&](auto on) {
      kernels::attention_backward(on, {q, k, v, out, level}, arguments, {dout, {}},
                                  {Out(dq), Out(dk), Out(dv), {}});
    });
  }
}

}  // namespace skein::bench
