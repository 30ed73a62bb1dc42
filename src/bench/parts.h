// The parts of a bench. Internal to the floor.
#pragma once

#include <functional>

#include "skein/bench/bench.h"
#include "skein/comm/mesh.h"
#include "skein/core/profile.h"

namespace skein::bench {

// Where figures go as they are made: kept, and told by rank 0.
class Figures {
 public:
  explicit Figures(bool tells) : tells_(tells) {}
  void add(Figure figure);
  // Without telling it.
  void keep(Figure figure) { all_.push_back(std::move(figure)); }
  void title(const std::string& text) const;
  const std::vector<Figure>& all() const { return all_; }

 private:
  bool tells_;
  std::vector<Figure> all_;
};

double median(std::vector<double> values);
// Until the device has done it.
double seconds_of(Device device, const std::function<void()>& work);

// What a part measures: a run's shapes on a device, or over all ranks; and where its figures go.
struct Bench {
  const train::PretrainConfig& run;
  const BenchConfig& config;
  Group& world;
  Device device;
  Figures& figures;
};

// Adds the figure with its seconds and peak: one call of `work` unmeasured, then the median of
// config.samples measurements of enough calls to last a few milliseconds, per call; and the median
// of `peak` measured just before each.
void add_timed(const Bench& bench, Figure figure, const std::function<double()>& peak,
               const std::function<void()>& work);

// Completes a model so that it reads random_batch: pictures of its size, with 1,000 classes, or
// texts of 50,304 ids, unless it says how many.
void take_batches(ModelConfig& model);
// Random tokens, to predict random ones; or random pictures, of random classes. A usage error where
// the model reads graphs.
data::Batch random_batch(int64_t count, const ModelConfig& model, uint64_t key);
Tensor random_values(const Shape& shape, DType dtype, uint64_t key, Device device);

// What the device can do at most, measured when asked.
class Yardsticks {
 public:
  Yardsticks(Device device, const BenchConfig& config)
      : device_(device), side_(config.peak_size), elements_(config.stream_mib << 18) {}
  // FLOP/s: of multiply-adds on a CPU's registers; of the best a GPU does in one large matrix
  // product.
  double products(DType dtype);
  // Bytes/s, reads and writes counted, of tensors too large for any cache.
  double copy();
  // The same of AdamW's four reads and three writes; on a GPU a copy stands for it.
  double update();
  // Of reads alone; on a GPU a copy stands for them.
  double read();

 private:
  Tensor& stream(int number);

  Device device_;
  int64_t side_, elements_;
  Tensor streams_[4], left_, right_, result_;
};

// The events of thread 0 by name, their sum being the whole.
void add_breakdown(const std::vector<ProfileEvent>& events, Figures& figures, double peak = 0);

void bench_products(const Bench& bench);
void bench_attention(const Bench& bench);
void bench_layers(const Bench& bench);
void bench_links(const Bench& bench);
void bench_fused(const Bench& bench);
void bench_collectives(const Bench& bench);
void bench_step(const Bench& bench);
void bench_decode(const Bench& bench);
void bench_rollout(const Bench& bench);
void bench_coordinates(const Bench& bench);

}  // namespace skein::bench
