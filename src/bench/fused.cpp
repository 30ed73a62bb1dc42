#include "parts.h"
#include "skein/kernels/adamw.h"
#include "skein/kernels/elementwise.h"
#include "skein/kernels/norm.h"
#include "skein/kernels/peak.h"
#include "skein/kernels/reduce.h"

namespace skein {
namespace {

constexpr int64_t kStreamElements = 64 << 20;

// Tensors too large for any cache, for the yardsticks.
struct Streams {
  Tensor a = Tensor::zeros({kStreamElements}, DType::f32), b = Tensor::zeros({kStreamElements}, DType::f32);
};

}  // namespace

void bench_fused(const PretrainConfig& run, const BenchConfig& config, Figures& figures) {
  const DType dtype = run.train.precision;
  const GptConfig& c = run.model;
  const int64_t rows = run.train.micro_batch * c.context;
  figures.title(fmt::format("one-pass kernels of {} rows, {}, against a copy of {} MiB", rows, name_of(dtype), kStreamElements >> 18));
  const Streams streams;
  const double copied = 2.0 * static_cast<double>(streams.a.bytes());
  const auto copy = [&] { return copied / seconds_of([&] { kernels::stream_copy(Cpu{}, streams.a, streams.b); }); };
  const auto add = [&](const char* name, double bytes, const std::function<void()>& work) {
    const Timed t = timed(config.samples, copy, work);
    figures.add({"fused", name, t.seconds, 0, bytes, t.peak});
  };
  const Tensor x = random_values({rows, c.d_model}, dtype, 1), y = random_values({rows, c.d_model}, dtype, 2), z = Tensor::empty({rows, c.d_model}, dtype);
  const Tensor wide = random_values({rows, c.hidden()}, dtype, 3), wide_out = Tensor::empty({rows, c.hidden()}, dtype);
  const Tensor gain = random_values({c.d_model}, dtype, 4), bias = random_values({c.d_model}, dtype, 5);
  const DType sums = gradient_dtype(dtype);
  const Tensor mean = Tensor::empty({rows}, sums), rstd = Tensor::empty({rows}, sums), dgain = Tensor::zeros({c.d_model}, sums),
               dbias = Tensor::zeros({c.d_model}, sums);
  const auto size = static_cast<double>(x.bytes()), wide_size = static_cast<double>(wide.bytes());
  add("residual add", 3 * size, [&] { kernels::add(Cpu{}, x, y, z); });
  add("layer norm", 2 * size, [&] { kernels::norm(Cpu{}, kernels::Norm::layer, x, gain, bias, 1e-5, z, mean, rstd); });
  add("layer norm backward", 3 * size, [&] {
    kernels::norm_backward(Cpu{}, kernels::Norm::layer, x, gain, mean, rstd, y, z, dgain, dbias);
  });
  add("gelu", 2 * wide_size, [&] { kernels::activation(Cpu{}, kernels::Activation::gelu_tanh, wide, wide_out); });
  add("gelu backward", 3 * wide_size, [&] { kernels::activation_backward(Cpu{}, kernels::Activation::gelu_tanh, wide, wide, wide_out); });

  const auto updated = 7.0 * static_cast<double>(streams.a.bytes());
  const Tensor m = Tensor::zeros({kStreamElements}, DType::f32), v = Tensor::zeros({kStreamElements}, DType::f32);
  const auto pattern = [&] { return updated / seconds_of([&] { kernels::stream_update(Cpu{}, streams.a, streams.b, m, v); }); };
  const Tensor working = dtype == DType::f32 ? Tensor() : Tensor::empty({kStreamElements}, dtype);
  const double written = working.defined() ? static_cast<double>(working.bytes()) : 0;
  const Timed adamw = timed(config.samples, pattern, [&] { kernels::adamw(Cpu{}, {1e-4}, streams.a, streams.b, m, v, working); });
  figures.add({"fused", "adamw, against its own pattern", adamw.seconds, 0, updated + written, adamw.peak});
  const Tensor squares = Tensor::empty({kStreamElements / 1024}, DType::f64);
  add("gradient norm", static_cast<double>(streams.a.bytes()), [&] { kernels::chunk_square_sums(Cpu{}, streams.a, 1024, squares); });
}

void bench_collectives(const BenchConfig& config, Group& world, Figures& figures) {
  if (world.size() == 1) return figures.title("collectives need more than one rank: none measured");
  figures.title(fmt::format("collectives over {} ranks; bytes are those of one rank's tensor", world.size()));
  for (int64_t kib : {64, 1024, 16384, 65536, 262144}) {
    const Tensor x = Tensor::zeros({kib * 256}, DType::f32), own = Tensor::zeros({x.size() / world.size()}, DType::f32);
    const auto add = [&](const char* name, const std::function<void()>& work) {
      std::vector<double> seconds;
      work();
      for (int64_t i = 0; i < config.samples; ++i) {
        world.barrier();
        seconds.push_back(seconds_of(work));
      }
      figures.add({"collectives", fmt::format("{} of {} KiB", name, kib), median(seconds), 0, static_cast<double>(x.bytes()), 0});
    };
    add("all-reduce", [&] { world.all_reduce_sum(x); });
    if (x.size() % world.size()) continue;
    add("reduce-scatter", [&] { world.reduce_scatter(x, own); });
    add("all-gather", [&] { world.all_gather(own, x); });
  }
}

}  // namespace skein
