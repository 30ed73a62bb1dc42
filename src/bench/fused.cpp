#include "skein/comm/device_transport.h"
#include "skein/kernels/adamw.h"
#include "skein/kernels/elementwise.h"
#include "skein/kernels/loss.h"
#include "skein/kernels/norm.h"
#include "skein/kernels/reduce.h"

#include "parts.h"

namespace skein::bench {
namespace {

double bytes_of(const Tensor& x) { return x.bytes(); }

// Measures kernels against a yardstick in bytes/s.
class Passes {
 public:
  explicit Passes(const Bench& bench) : bench_(bench), yardsticks_(bench.device, bench.config) {}
  template <class Work>
  void add(const char* name, double bytes, const Work& work, bool as_update = false) {
    const auto peak = [&] { return as_update ? yardsticks_.update() : yardsticks_.copy(); };
    add_timed(bench_, {.group = "fused", .name = name, .bytes = bytes}, peak,
              [&] { on_device(bench_.device, work); });
  }

 private:
  const Bench& bench_;
  Yardsticks yardsticks_;
};

void bench_blocks(const ModelConfig& c, int64_t rows, DType dtype, Device device, Passes& passes) {
  const auto values = [&](const Shape& shape, uint64_t key) {
    return random_values(shape, dtype, key, device);
  };
  const Tensor x = values({rows, c.d_model}, 1), y = values({rows, c.d_model}, 2),
               z = Tensor::empty(x.shape(), dtype, device);
  const Tensor wide = values({rows, c.hidden()}, 3),
               wide_out = Tensor::empty(wide.shape(), dtype, device);
  const Tensor gain = values({c.d_model}, 4), bias = values({c.d_model}, 5);
  const DType sums = gradient_dtype(dtype);
  const Tensor mean = Tensor::empty({rows}, sums, device),
               rstd = Tensor::empty({rows}, sums, device),
               dgain = Tensor::zeros({c.d_model}, sums, device),
               dbias = Tensor::zeros({c.d_model}, sums, device);
  passes.add("residual add", 3 * bytes_of(x), [&](auto on) { kernels::add(on, x, y, Out(z)); });
  passes.add("layer norm", 2 * bytes_of(x), [&](auto on) {
    kernels::norm(on, x, {kernels::Norm::layer, gain, bias}, Out(z), Out(mean), Out(rstd));
  });
  passes.add("layer norm backward", 3 * bytes_of(x), [&](auto on) {
    kernels::norm_backward(on, {kernels::Norm::layer, x, gain, mean, rstd}, y, {}, Out(z),
                           Out(dgain), Out(dbias));
  });
  passes.add("gelu", 2 * bytes_of(wide), [&](auto on) {
    kernels::activation(on, kernels::Activation::gelu_tanh, wide, Out(wide_out));
  });
  passes.add("gelu backward", 3 * bytes_of(wide), [&](auto on) {
    kernels::activation_backward(on, kernels::Activation::gelu_tanh, wide, wide, Out(wide_out));
  });
}

// Rows of logits as the loss holds them at once.
void bench_cross_entropy(int64_t tokens, int64_t vocabulary, DType dtype, Device device,
                         Passes& passes) {
  const int64_t rows = std::clamp<int64_t>((32 << 20) / vocabulary, 1, tokens);
  const DType sums = gradient_dtype(dtype);
  const Tensor logits = random_values({rows, vocabulary}, sums, 6, device),
               gradient = Tensor::empty(logits.shape(), dtype, device);
  const Tensor targets = Tensor::zeros({rows}, DType::i32, device),
               maximum = Tensor::empty({rows}, sums, device),
               sum_exp = Tensor::empty({rows}, sums, device),
               target = Tensor::empty({rows}, sums, device),
               scales = random_values({rows}, sums, 7, device);
  passes.add("cross entropy", bytes_of(logits), [&](auto on) {
    kernels::row_statistics(on, logits, vocabulary, targets, Out(maximum), Out(sum_exp),
                            Out(target));
  });
  passes.add("cross entropy backward", bytes_of(logits) + bytes_of(gradient), [&](auto on) {
    kernels::cross_entropy_backward(on, {logits, {0, vocabulary}, targets, maximum, sum_exp},
                                    scales, Out(gradient));
  });
}

void bench_optimizer(int64_t elements, DType dtype, Device device, Passes& passes) {
  const auto zeros = [&] { return Tensor::zeros({elements}, DType::f32, device); };
  const Tensor gradient = zeros(), master = zeros(), m = zeros(), v = zeros();
  const Tensor working = dtype == DType::f32 ? Tensor() : Tensor::empty({elements}, dtype, device);
  passes.add(
      "adamw, against its own pattern",
      7 * bytes_of(gradient) + (working.defined() ? bytes_of(working) : 0),
      [&](auto on) {
        kernels::adamw(on, {}, {{1e-4, 0, gradient}},
                       {{Out(master), Out(m), Out(v), Out(working)}});
      },
      true);
  const Tensor squares = Tensor::empty({elements / 1024}, DType::f64, device);
  passes.add("gradient norm", bytes_of(gradient),
             [&](auto on) { kernels::chunk_square_sums(on, gradient, 1024, Out(squares)); });
}

}  // namespace

void bench_fused(const Bench& bench) {
  const train::PretrainConfig& run = bench.run;
  const int64_t rows = run.train.micro_batch * run.model.context;
  bench.figures.title(fmt::format("one-pass kernels of {} rows, {}, against a copy of {} MiB", rows,
                                  name_of(run.precision()), bench.config.stream_mib));
  Passes passes(bench);
  bench_blocks(run.model, rows, run.precision(), bench.device, passes);
  bench_cross_entropy(rows, run.model.vocab_size, run.precision(), bench.device, passes);
  bench_optimizer(bench.config.stream_mib << 18, run.precision(), bench.device, passes);
}

void bench_collectives(const Bench& bench) {
  Group& world = bench.world;
  Figures& figures = bench.figures;
  const Device device = bench.device;
  if (world.size() == 1) return figures.title("collectives need more than one rank: none measured");
  connect_devices(world, device, {"world"},
                  job_watchdog(world, device, bench.run.parallel.timeout));
  figures.title(
      fmt::format("collectives over {} ranks; bytes are those of one rank's tensor", world.size()));
  for (int64_t kib : {64, 1024, 16384, 65536, 262144}) {
    const Tensor x = Tensor::zeros({kib * 256}, DType::f32, device),
                 own = Tensor::zeros({x.size() / world.size()}, DType::f32, device);
    const auto add = [&](const char* name, const std::function<void()>& work) {
      std::vector<double> seconds;
      work();
      for (int64_t i = 0; i < bench.config.samples; ++i) {
        world.barrier();
        seconds.push_back(seconds_of(device, work));
      }
      figures.add({"collectives", fmt::format("{} of {} KiB", name, kib), median(seconds), 0,
                   static_cast<double>(x.bytes()), 0});
    };
    add("all-reduce", [&] { world.all_reduce_sum(x).wait(); });
    if (x.size() % world.size()) continue;
    add("reduce-scatter", [&] { world.reduce_scatter(x, own).wait(); });
    add("all-gather", [&] { world.all_gather(own, x).wait(); });
  }
}

}  // namespace skein::bench
