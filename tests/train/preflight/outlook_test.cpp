// What a run would be, beside what it then is.
#include "skein/train/preflight/outlook.h"

#include <gtest/gtest.h>

#include "skein/core/files/files.h"
#include "skein/core/files/private_folder.h"
#include "skein/parallel/rank_memory.h"
#include "skein/tensor/buffer.h"
#include "skein/train/preflight/outlook_lines.h"
#include "skein/train/replica.h"

#include "train/graphs/graph_config.h"
#include "train/train_fixture.h"

namespace skein::train {
namespace {

struct Case {
  std::string name;
  std::function<void(PretrainConfig&)> change;
};

PretrainConfig wide_config() {
  PretrainConfig c = small_config("unused.h5");
  c.model.vocab_size = 2000;
  c.model.context = 256;
  c.model.d_model = 128;
  c.model.dropout = 0;
  c.train.global_batch = 8;
  c.train.micro_batch = 4;
  return c;
}

void like_llama(PretrainConfig& c) {
  c.model.positions = Positions::rotary;
  c.model.n_kv_heads = 2;
  c.model.activation = MlpKind::swiglu;
  c.model.norm = ops::Norm::rms;
  c.model.bias = false;
  c.model.tie_embeddings = false;
}

const std::vector<Case> kCases{
    {"plain", [](PretrainConfig&) {}},
    {"bf16", [](PretrainConfig& c) { c.train.precision = DType::bf16; }},
    {"recompute full", [](PretrainConfig& c) { c.parallel.recompute = Recompute::full; }},
    {"recompute selective", [](PretrainConfig& c) { c.parallel.recompute = Recompute::selective; }},
    {"many ids", [](PretrainConfig& c) { c.model.vocab_size = 32000; }},
    {"many ids, bf16",
     [](PretrainConfig& c) {
       c.model.vocab_size = 32000;
       c.train.precision = DType::bf16;
     }},
    {"like Llama", like_llama},
    {"a row at a time", [](PretrainConfig& c) { c.train.micro_batch = 1; }},
    {"one group", [](PretrainConfig& c) { c.parallel.reduction_groups = 1; }},
    {"eight groups", [](PretrainConfig& c) { c.parallel.reduction_groups = 8; }},
    {"dropout", [](PretrainConfig& c) { c.model.dropout = 0.1; }},
    {"frozen blocks", [](PretrainConfig& c) { c.train.frozen_layers = 1; }},
    {"all frozen but the head",
     [](PretrainConfig& c) {
       c.model.d_model = 256;
       c.model.n_layers = c.train.frozen_layers = 4;
       c.model.tie_embeddings = false;
     }},
    {"frozen blocks, bf16",
     [](PretrainConfig& c) {
       c.model.n_layers = 4;
       c.train.frozen_layers = 3;
       c.train.precision = DType::bf16;
     }},
    {"wide and flat",
     [](PretrainConfig& c) {
       c.model.d_model = 512;
       c.model.n_layers = 1;
     }},
};

struct Bytes {
  double foreseen = 0, found = 0;
};

// Of the first step of one rank: several, as threads, are not at their most at the same time
// (tests/cli/dry_run.sh has those). batch: of so many samples.
Bytes bytes_of(const PretrainConfig& c, const std::function<data::Batch(int64_t samples)>& batch,
               Learning learning = {}) {
  Bytes made;
  run_ranks(1, [&](Group& world) {
    const MeshShape shape = mesh_shape(c.parallel, 1);
    Mesh mesh(world, shape);
    const BatchPlan plan = plan_batch(c.parallel, shape, c.train.global_batch, c.train.micro_batch);
    const LocalModel described(c.model, c.parallel, mesh, c.precision(), c.train.frozen_layers);
    const MemoryShape needed = learning_shape(c, plan, mesh, described);
    const data::Batch samples = batch(c.train.global_batch);
    const int64_t before = memory_use().live;
    reset_peak_memory();
    Replica replica(c, plan, mesh, learning);
    replica.step(samples, 0, 1e-4);
    made = {estimated_memory(needed, described.parameters()).total(),
            static_cast<double>(memory_use().peak - before)};
  });
  return made;
}

void expect_near(const std::string& name, const Bytes& bytes) {
  EXPECT_NEAR(bytes.foreseen / bytes.found, 1, 0.1)
      << name << ": " << bytes.foreseen / (1 << 20) << " MiB of " << bytes.found / (1 << 20);
}

TEST(Outlook, ForeseesTheMemoryOfRunsWithinATenth) {
  for (const Case& one : kCases) {
    PretrainConfig c = wide_config();
    one.change(c);
    const auto batch = [&](int64_t samples) { return some_batch(samples, c.model); };
    expect_near(one.name, bytes_of(c, batch));
  }
}

// Communities of 120 nodes of 35 links each, on average.
std::string write_blocks(const std::string& path) {
  data::GraphStoreConfig config;
  config.made = {.maker = data::GraphMaker::blocks, .count = 16};
  config.positions = {.laplacian = 0, .walks = 0, .colours = 0, .distances = true};
  config.output = path;
  data::write_graph_store(config);
  return path;
}

struct GraphCase {
  std::string name;
  std::function<void(PretrainConfig&, GraphOptions&)> change;
};

const std::vector<GraphCase> kGraphCases{
    {"dot", [](auto&, auto&) {}},
    {"gat", [](auto&, auto& own) { own.score = LinkScoring::gat; }},
    {"gat2", [](auto&, auto& own) { own.score = LinkScoring::gat2; }},
    {"mean", [](auto&, auto& own) { own.score = LinkScoring::mean; }},
    {"bf16", [](auto& c, auto&) { c.train.precision = DType::bf16; }},
    {"recompute full", [](auto& c, auto&) { c.parallel.recompute = Recompute::full; }},
    {"dropout", [](auto& c, auto&) { c.model.dropout = c.model.attention_dropout = 0.1; }},
    {"graphormer", [](auto&, auto& own) { own.form = GraphFormKind::graphormer; }},
};

TEST(Outlook, ForeseesTheMemoryOfGraphRunsWithinATenth) {
  const test::Scratch folder;
  const std::string store = write_blocks(folder.file("blocks.h5"));
  for (const GraphCase& one : kGraphCases) {
    GraphConfig c = small_graph_run(store);
    c.run.model.d_model = 64;
    c.run.model.n_heads = 8;
    c.run.train.global_batch = 8;
    c.run.train.micro_batch = 4;
    one.change(c.run, graph_options(c.run.model));
    const auto task = graph_task(c.run, c.graphs);
    const Learning learning{[&task](const LocalModel& model) { return task->objective(model); },
                            task->terms()};
    const auto batch = [&](int64_t samples) { return task->samples().batch(0, samples); };
    expect_near(one.name, bytes_of(c.run, batch, learning));
  }
}

TEST(Outlook, RefusesWhatTheRunWouldBeforeThatIsClaimed) {
  const test::Scratch folder;
  write_small_store(folder.file("tokens.h5"));
  const std::vector<std::pair<std::string, std::function<void(PretrainConfig&)>>> cases{
      {"train.loss_scale=128 is for train.precision=f16, but that is f32",
       [](PretrainConfig& c) { c.train.loss_scale.fixed = 128; }},
      {"train.loss_scale_window=0 at least 1",
       [](PretrainConfig& c) { c.train.loss_scale.window = 0; }},
      {"parallel.cuda_graph records a whole model on one GPU, but here are 1 pieces of 1 shards on "
       "a CPU",
       [](PretrainConfig& c) { c.parallel.cuda_graph = true; }},
      {"parallel.cuda_graph repeats one recording, but model.dropout=0.1",
       [](PretrainConfig& c) {
         c.parallel.device = DeviceKind::cuda;
         c.parallel.cuda_graph = true;
       }},
  };
  for (const auto& [text, change] : cases) {
    PretrainConfig c = small_config(folder.file("tokens.h5"));
    change(c);
    const auto task = language_task(c);
    const auto alone = single_rank();
    EXPECT_NE(refusal_of([&] { look_ahead(c, *task, *alone); }).find(text), std::string::npos)
        << text;
    EXPECT_NE(training_error(c, 1, folder, "run", ExitCode::usage).find(text), std::string::npos);
    EXPECT_FALSE(is_folder(folder.file("run"))) << text;
  }
}

TEST(Outlook, WarnsWhereCheckpointsMayNotFit) {
  const PrivateFolder folder("skein-outlook");
  PretrainConfig config;
  config.run.dir = folder.path() + "/not/yet";
  for (const double bytes : {1.0, 1e18}) {
    testing::internal::CaptureStderr();
    EXPECT_NE(disk_line(config, bytes).find("are free in " + folder.path()), std::string::npos);
    const std::string told = testing::internal::GetCapturedStderr();
    EXPECT_EQ(told.find("are free in " + folder.path() + ", and checkpoints take up to ") !=
                  std::string::npos,
              bytes > 1)
        << told;
  }
}

}  // namespace
}  // namespace skein::train
