// The layout and resume tests of tests/train with ranks as processes: every layout that the job's
// ranks allow has the bits of one rank, also when it goes on with what another layout saved.
#include <cstdio>

#include "skein/comm/mpi.h"
#include "skein/core/log.h"

#include "train/train_fixture.h"

namespace skein {
namespace {

struct Layout {
  int pipeline, data, tensor;
  bool zero, sequence;
  int chunks;
  ScheduleKind schedule;
  int64_t micro_batch;
  Recompute recompute;
  int ranks() const { return pipeline * data * tensor; }
};

constexpr auto k1f1b = ScheduleKind::one_f_one_b;
const Layout kLayouts[] = {
    {1, 1, 1, false, false, 1, k1f1b, 4, Recompute::none},
    {1, 2, 1, false, false, 1, k1f1b, 1, Recompute::none},
    {1, 2, 1, true, false, 1, k1f1b, 2, Recompute::full},
    {2, 1, 1, false, false, 1, k1f1b, 2, Recompute::selective},
    {2, 1, 1, true, false, 2, ScheduleKind::interleaved, 1, Recompute::none},
    {1, 4, 1, true, false, 1, k1f1b, 4, Recompute::none},
    {4, 1, 1, false, false, 1, k1f1b, 1, Recompute::full},
    {2, 2, 1, true, false, 1, ScheduleKind::gpipe, 1, Recompute::none},
    {2, 2, 1, false, false, 2, ScheduleKind::interleaved, 1, Recompute::none},
    {2, 4, 1, true, false, 1, k1f1b, 2, Recompute::full},
    {4, 2, 1, false, false, 1, k1f1b, 1, Recompute::none},
    {2, 4, 1, false, false, 2, ScheduleKind::interleaved, 1, Recompute::selective},
    {4, 4, 1, true, false, 1, k1f1b, 1, Recompute::none},
    {2, 2, 4, true, true, 1, k1f1b, 1, Recompute::none},
    {1, 1, 2, false, false, 1, k1f1b, 2, Recompute::none},
    {1, 2, 2, true, true, 1, k1f1b, 1, Recompute::none},
    {2, 1, 2, false, true, 1, k1f1b, 1, Recompute::selective},
    {1, 1, 4, false, true, 1, k1f1b, 4, Recompute::none}};

train::PretrainConfig laid_out(train::PretrainConfig c, const Layout& layout) {
  c.parallel.pipeline = layout.pipeline;
  c.parallel.tensor = layout.tensor;
  c.parallel.zero = layout.zero;
  c.parallel.group_order = layout.zero ? GroupOrder::strided : GroupOrder::contiguous;
  c.parallel.sequence = layout.sequence;
  c.parallel.chunks = layout.chunks;
  c.parallel.schedule = layout.schedule;
  c.parallel.recompute = layout.recompute;
  c.train.micro_batch = layout.micro_batch;
  return c;
}

// Runs on the first ranks of the world; rank 0 returns what came of it.
train::Finished run(const train::PretrainConfig& config, int ranks, Group& world) {
  const auto part = world.split(world.rank() < ranks ? 0 : 1, world.rank());
  train::Finished finished;
  if (world.rank() < ranks) finished.losses = pretrain(config, *part).losses;
  world.barrier();
  if (world.rank() == 0) finished.state = train::state_of(config.run.dir);
  return finished;
}

void compare(const train::Finished& found, const train::Finished& expected, size_t first,
             bool exact, const std::string& what) {
  if (found.losses.size() + first != expected.losses.size())
    fail("{}: {} losses", what, found.losses.size());
  for (size_t i = 0; i < found.losses.size(); ++i) {
    const double wanted = expected.losses[first + i],
                 difference = std::abs(found.losses[i] - wanted);
    if (difference > (exact ? 0 : 1e-5 * wanted))
      fail("{}: loss {} at step {}, not {}", what, found.losses[i], i, wanted);
  }
  const std::string tensor = exact ? train::first_difference(found.state, expected.state) : "";
  if (!tensor.empty()) fail("{}: {} differs", what, tensor);
}

// Every `stride`-th layout.
int run_layouts(train::PretrainConfig c, const std::string& folder, int stride, Group& world) {
  c.checkpoint.every = 8;
  c.checkpoint.keep = 10;
  c.run.dir = folder + "/expected";
  const train::Finished expected = run(c, 1, world);
  int count = 0;
  for (size_t i = 0; i < std::size(kLayouts); i += static_cast<size_t>(stride)) {
    const Layout& layout = kLayouts[i];
    // A job of 16 takes what smaller ones cannot.
    if (layout.ranks() > world.size() || (world.size() > 4 && layout.ranks() <= 4)) continue;
    train::PretrainConfig laid = laid_out(c, layout);
    laid.run.dir = fmt::format("{}/run{}", folder, count);
    const std::string what = fmt::format("layout {} (pipeline {}, data {}, tensor {})", count,
                                         layout.pipeline, layout.data, layout.tensor);
    const train::Finished found = run(laid, layout.ranks(), world);
    if (world.rank() == 0) compare(found, expected, 0, layout.tensor == 1, what);
    laid.checkpoint.load = c.run.dir + "/checkpoints/step-00000008.g000001";
    laid.run.dir = fmt::format("{}/resumed{}", folder, count++);
    const train::Finished resumed = run(laid, layout.ranks(), world);
    if (world.rank() == 0) compare(resumed, expected, 8, layout.tensor == 1, what + ", resumed");
  }
  return count;
}

int run_all(Group& world) {
  const std::unique_ptr<test::Scratch> own =
      world.rank() == 0 ? std::make_unique<test::Scratch>() : nullptr;
  const std::string folder = world.broadcast(own ? own->path() : "", 0);
  if (own) {
    train::write_small_store(own->file("train.h5"));
    test::write_sentence_store(own->file("sentences.h5"));
  }
  world.barrier();
  return run_layouts(train::small_config(folder + "/train.h5"), folder + "/gpt", 1, world) +
         run_layouts(train::encoder_config(folder + "/sentences.h5"), folder + "/encoder", 3,
                     world);
}

}  // namespace
}  // namespace skein

int main() {
  std::unique_ptr<skein::Group> world;
  try {
    world = skein::start_mpi();
    skein::log::set_rank(world->rank());
    const int count = skein::run_all(*world);
    if (world->rank() == 0) std::printf("%d layouts passed\n", count);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "failed: %s\n", error.what());
    if (world) world->abort(1);
    return 1;
  }
}
