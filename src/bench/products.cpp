#include "parts.h"
#include "skein/kernels/attention.h"
#include "skein/kernels/matmul.h"
#include "skein/kernels/peak.h"

namespace skein {
namespace {

using kernels::Transpose;

struct Product {
  std::string name;
  int64_t outputs, inputs;
};

std::vector<Product> products_of(const GptConfig& c) {
  const int64_t kv = c.kv_heads() * c.head_width();
  std::vector<Product> all{{"q, out", c.d_model, c.d_model}, {"up", c.hidden(), c.d_model}, {"down", c.d_model, c.hidden()},
                           {"head", c.vocab_size, c.d_model}};
  if (kv != c.d_model) all.insert(all.begin() + 1, {"k, v", kv, c.d_model});
  return all;
}

}  // namespace

void bench_products(const PretrainConfig& run, const BenchConfig& config, Figures& figures) {
  const int64_t rows = run.train.micro_batch * run.model.context;
  const DType dtype = run.train.precision;
  const auto peak = [=] { return kernels::register_peak(Cpu{}, dtype); };
  figures.title(fmt::format("matrix products of {} rows, {}, against multiply-adds on registers", rows, name_of(dtype)));
  for (const Product& p : products_of(run.model)) {
    const Tensor x = random_values({rows, p.inputs}, dtype, 1), w = random_values({p.outputs, p.inputs}, dtype, 2),
                 y = random_values({rows, p.outputs}, dtype, 3), dx = Tensor::empty({rows, p.inputs}, dtype),
                 dw = Tensor::zeros({p.outputs, p.inputs}, gradient_dtype(dtype));
    const double flops = 2.0 * static_cast<double>(rows) * static_cast<double>(p.outputs) * static_cast<double>(p.inputs);
    const auto add = [&](const char* form, const std::function<void()>& work) {
      const Timed t = timed(config.samples, peak, work);
      figures.add({"gemm", fmt::format("{} {}x{} {}", p.name, p.outputs, p.inputs, form), t.seconds, flops, 0, t.peak});
    };
    add("forward", [&] { kernels::matmul(Cpu{}, x, Transpose::no, w, Transpose::yes, y); });
    add("dx", [&] { kernels::matmul(Cpu{}, y, Transpose::no, w, Transpose::no, dx); });
    add("dw", [&] { kernels::matmul(Cpu{}, y, Transpose::yes, x, Transpose::no, dw, kernels::Write::accumulate); });
  }
}

void bench_attention(const PretrainConfig& run, const BenchConfig& config, Figures& figures) {
  const GptConfig& c = run.model;
  const DType dtype = run.train.precision;
  const int64_t batch = run.train.micro_batch, length = c.context;
  const Shape queries{batch, length, c.n_heads, c.head_width()}, keys{batch, length, c.kv_heads(), c.head_width()};
  const Tensor q = random_values(queries, dtype, 1), k = random_values(keys, dtype, 2), v = random_values(keys, dtype, 3),
               dout = random_values(queries, dtype, 4), out = Tensor::empty(queries, dtype), dq = Tensor::empty(queries, dtype),
               dk = Tensor::empty(keys, dtype), dv = Tensor::empty(keys, dtype),
               logsumexp = Tensor::empty({batch, c.n_heads, length}, gradient_dtype(dtype));
  kernels::AttentionArguments arguments;
  arguments.scale = 0.125;
  const auto peak = [=] { return kernels::register_peak(Cpu{}, dtype); };
  const double scores = static_cast<double>(batch * c.n_heads * length) * static_cast<double>(length + 1) / 2;
  const double flops = 4.0 * scores * static_cast<double>(c.head_width());
  figures.title(fmt::format("causal attention, {} sequences of {} tokens, {}", batch, length, name_of(dtype)));
  const Timed forward = timed(config.samples, peak, [&] { kernels::attention(Cpu{}, q, k, v, arguments, out, logsumexp); });
  figures.add({"attention", "forward", forward.seconds, flops, 0, forward.peak});
  const Timed backward = timed(config.samples, peak, [&] {
    kernels::attention_backward(Cpu{}, q, k, v, arguments, out, logsumexp, dout, dq, dk, dv);
  });
  figures.add({"attention", "backward", backward.seconds, 2.5 * flops, 0, backward.peak});
}

}  // namespace skein
