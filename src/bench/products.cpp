#include <algorithm>
#include <set>

#include "skein/core/philox.h"
#include "skein/kernels/attention.h"
#include "skein/kernels/matmul.h"

#include "parts.h"

namespace skein::bench {
namespace {

struct Product {
  std::string name;
  int64_t outputs, inputs;
};

std::vector<Product> products_of(const ModelConfig& c) {
  const int64_t kv = c.kv_heads() * c.head_width();
  std::vector<Product> all{{"q, out", c.d_model, c.d_model},
                           {"up", c.hidden(), c.d_model},
                           {"down", c.d_model, c.hidden()},
                           {"head", c.vocab_size, c.d_model}};
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
  for (const Product& p : products_of(run.model)) {
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

// [B,T]: documents of `length` tokens, in each row from 0.
Tensor documents_of(int64_t samples, int64_t tokens, int64_t length) {
  const Tensor made = Tensor::empty({samples, tokens}, DType::i32);
  for (int64_t i = 0; i < made.size(); ++i)
    made.data<int32_t>()[i] = narrow<int32_t>(i % tokens / length);
  return made;
}

// The first and the last block, those beside a query's own, and three of a drawn offset (Zaheer and
// others, "Big Bird", 2020).
kernels::BlockLists block_lists(int64_t tokens) {
  kernels::BlockLists made{64, {}, {}};
  const int64_t blocks = (tokens + made.size - 1) / made.size;
  std::vector<int32_t> starts{0}, listed;
  for (int64_t i = 0; i < blocks; ++i) {
    std::set<int64_t> seen{0, std::max<int64_t>(i - 1, 0), i, std::min(i + 1, blocks - 1),
                           blocks - 1};
    for (uint64_t draw = 0; draw < 3; ++draw)
      seen.insert(philox(5, draw, static_cast<uint64_t>(i))[0] % static_cast<uint64_t>(blocks));
    for (int64_t block : seen) listed.push_back(narrow<int32_t>(block));
    starts.push_back(narrow<int32_t>(std::ssize(listed)));
  }
  made.starts = Tensor::from(starts, {1, blocks + 1});
  made.blocks = Tensor::from(listed, {std::ssize(listed)});
  return made;
}

kernels::Pattern pattern_of(AttentionStructure structure, int64_t samples, int64_t tokens,
                            int64_t reach) {
  using kernels::Pattern;
  Pattern made = Pattern::causal();
  switch (structure) {
    case AttentionStructure::causal: return made;
    case AttentionStructure::full: return Pattern::full();
    case AttentionStructure::band: return {reach / 2, reach / 2};
    case AttentionStructure::documents:
      made.query_segments = made.key_segments = documents_of(samples, tokens, reach);
      return made;
    case AttentionStructure::blocks: made = Pattern::full(); made.lists = block_lists(tokens);
  }
  return made;
}

void to_device(kernels::Pattern& pattern, Device device) {
  for (Tensor* x : {&pattern.query_segments, &pattern.key_segments, &pattern.lists.starts,
                    &pattern.lists.blocks})
    if (x->defined()) *x = x->to(device);
}

}  // namespace

void bench_attention(const Bench& bench) {
  const train::PretrainConfig& run = bench.run;
  const Device device = bench.device;
  const ModelConfig& c = run.model;
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
  for (const auto& [name, structure] : kStructures) {
    const auto& asked = bench.config.structures;
    if (std::find(asked.begin(), asked.end(), name) == asked.end()) continue;
    kernels::AttentionArguments arguments;
    arguments.scale = 0.125;
    arguments.pattern = pattern_of(structure, batch, length, bench.config.reach);
    const double flops =
        4.0 * static_cast<double>(c.head_width()) *
        kernels::visible_pairs(arguments.pattern, batch, c.n_heads, length, length);
    to_device(arguments.pattern, device);
    bench.figures.title(fmt::format("{} attention, {} sequences of {} tokens, {}", name, batch,
                                    length, name_of(dtype)));
    // Plain names are those of causal attention.
    const std::string before =
        structure == AttentionStructure::causal ? "" : std::string(name) + " ";
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
