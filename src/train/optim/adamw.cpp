#include "skein/train/optim/adamw.h"

#include "skein/kernels/adamw.h"
#include "skein/train/optim/optimizer.h"

namespace skein::train {
namespace {

class AdamW : public Optimizer {
 public:
  explicit AdamW(const AdamWConfig& config) : config_(config) {}

  std::vector<std::string> state_names() const override { return {"adam_m", "adam_v"}; }

  void update(const Shard& shard, const Update& update) const override {
    const kernels::AdamWArguments arguments{
        update.lr,       config_.beta1,       config_.beta2,
        config_.epsilon, update.weight_decay, update.gradient_scale,
        update.number,   update.square_sum,   update.clip};
    on_device(shard.values.device(), [&](auto device) {
      kernels::adamw(device, arguments, shard.gradient, Out(shard.values), Out(shard.state[0]),
                     Out(shard.state[1]), Out(shard.rounded));
    });
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

std::unique_ptr<Optimizer> make_adamw(const AdamWConfig& config) {
  return std::make_unique<AdamW>(config);
}

}  // namespace skein::train
