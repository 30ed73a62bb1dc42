#include "skein/core/files/files.h"
#include "skein/core/profile.h"
#include "skein/formats/chrome_trace.h"
#include "skein/models/architecture.h"
#include "skein/models/flops.h"
#include "skein/tensor/buffer.h"
#include "skein/train/replica.h"

#include "parts.h"

namespace skein::bench {

namespace {

// Matrix products against everything else.
void add_summary(const std::vector<ProfileEvent>& events, double peak, Figures& figures) {
  double whole = 0, product_seconds = 0, product_flops = 0;
  for (const ProfileShare& share : shares_of(events)) {
    whole += share.seconds;
    if (!share.name.starts_with("matmul")) continue;
    product_seconds += share.seconds;
    product_flops += share.flops;
  }
  figures.add({"step", "all matrix products of it", product_seconds, product_flops, 0, peak, 0,
               product_seconds / whole});
  figures.add({"step", "everything else", whole - product_seconds, 0, 0, 0, 0,
               1 - product_seconds / whole});
}

void add_memory(const train::ReplicaMemory& m, Device device, Figures& figures) {
  figures.title("memory of rank 0");
  const auto add = [&](const char* name, double bytes) {
    figures.add({"memory", name, 0, 0, bytes});
  };
  add("parameters", m.parameters);
  add("gradients", m.gradients);
  add("optimizer", m.optimizer);
  add("packed weights", m.packed);
  add("work space, at most", m.work);
  add("of it activations, by formula", m.activations);
  if (device.kind == DeviceKind::cuda) add("on the GPU, at most", memory_use(device.kind).peak);
  add("resident set, at most", peak_resident_bytes());
}

}  // namespace

void bench_step(const Bench& bench) {
  const train::PretrainConfig& run = bench.run;
  const BenchConfig& config = bench.config;
  Group& world = bench.world;
  Figures& figures = bench.figures;
  check_recording(run, world.size());
  const MeshShape shape = mesh_shape(run.parallel, world.size());
  Mesh mesh(world, shape);
  const BatchPlan plan =
      plan_batch(run.parallel, shape, run.train.global_batch, run.train.micro_batch);
  const int64_t tokens = plan.global_batch * run.model.context;
  figures.title(
      fmt::format("training step: {} sequences of {} tokens in micro-batches of {}, {}, pipeline "
                  "{} x data {} x tensor {}",
                  plan.global_batch, run.model.context, plan.micro_batch, name_of(run.precision()),
                  shape.pp, shape.dp, shape.tp));
  const data::Batch batch = random_batch(plan.samples_per_rank, run.model, 7 + mesh.dp().rank());
  train::Replica replica(run, plan, mesh);
  const Device device = replica.model().parameters().device();
  Yardsticks yardsticks(device, config);
  replica.step(batch, 0, 1e-4);
  std::vector<double> seconds, peaks;
  for (int64_t i = 0; i < config.samples; ++i) {
    peaks.push_back(yardsticks.products(run.precision()));
    world.barrier();
    seconds.push_back(seconds_of(device, [&] { replica.step(batch, i + 1, 1e-4); }));
  }
  const double peak = median(peaks);
  const auto flops = [&](AttentionCount count) {
    return model_flops_per_token(run.model, run.model.context, count) * tokens;
  };
  figures.add({"step", "whole", median(seconds), flops(AttentionCount::half), 0,
               peak * world.size(), static_cast<double>(tokens)});
  figures.add({"step", "counting all of causal attention", median(seconds),
               flops(AttentionCount::full), 0, peak * world.size()});
  world.barrier();
  Profile::start();
  replica.step(batch, config.samples + 1, 1e-4);
  const auto events = Profile::stop();
  figures.title("that step by kernel, on rank 0; each without what it calls");
  add_breakdown(events, figures, peak);
  add_summary(events, peak, figures);
  add_memory(replica.memory(), device, figures);
  if (!config.trace.empty() && !events.empty()) {
    const auto parts =
        world.all_gather(formats::chrome_trace_events(events, world.rank(), events.front().begin));
    if (world.rank() == 0) replace_file(config.trace, formats::chrome_trace(parts));
  }
}

}  // namespace skein::bench
