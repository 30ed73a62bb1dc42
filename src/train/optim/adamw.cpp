#include "skein/train/optim/adamw.h"

#include <cmath>

#include "skein/kernels/adamw.h"
#include "skein/train/optim/optimizer.h"

namespace skein::train {
namespace {

class AdamW : public Optimizer {
 public:
  explicit AdamW(const AdamWConfig& config) : config_(config) {}

  std::vector<std::string> state_names() const override { return {"adam_m", "adam_v"}; }

  void update(const std::vector<Shard>& shards, const Update& update) const override {
    const kernels::AdamWArguments arguments{
        config_.beta1, config_.beta2,     config_.epsilon, update.gradient_scale,
        update.number, update.square_sum, update.clip};
    std::vector<kernels::AdamWSlice> slices;
    std::vector<kernels::AdamWOuts> to;
    for (const Shard& s : shards) {
      slices.push_back({s.lr, s.weight_decay, s.gradient});
      to.push_back({Out(s.values), Out(s.state[0]), Out(s.state[1]), Out(s.rounded)});
    }
    on_device(update.square_sum.device(),
              [&](auto device) { kernels::adamw(device, arguments, slices, to); });
  }

 private:
  AdamWConfig config_;
};

}  // namespace

void bind(Options& options, AdamWConfig& c) {
  options.add("optimizer.beta1", c.beta1, "decay of the first moment");
  options.add("optimizer.beta2", c.beta2, "decay of the second moment");
  options.add("optimizer.epsilon", c.epsilon, "added to the root of the second moment");
}

void check(const AdamWConfig& c) {
  require(c.beta1 >= 0 && c.beta1 < 1 && c.beta2 >= 0 && c.beta2 < 1,
          "optimizer.beta1={} and optimizer.beta2={} must be at least 0 and less than 1", c.beta1,
          c.beta2);
  require(std::isfinite(c.epsilon) && c.epsilon > 0, "optimizer.epsilon={} must be above 0",
          c.epsilon);
}

std::unique_ptr<Optimizer> make_adamw(const AdamWConfig& config) {
  return std::make_unique<AdamW>(config);
}

}  // namespace skein::train
