#include "skein/core/numbers.h"
#include "skein/core/philox.h"
#include "skein/core/profile.h"
#include "skein/models/architecture.h"

#include "parts.h"

namespace skein::bench {
namespace {

// Seconds of each decoding step after the prompt's.
std::vector<double> decode_seconds(const std::vector<ProfileEvent>& events) {
  std::vector<double> all;
  for (const ProfileEvent& event : events)
    if (event.name == std::string_view("decode") && event.thread == 0)
      all.push_back((event.end - event.begin) * 1e-9);
  return all;
}

std::vector<generate::Tokens> random_prompts(int64_t count, int64_t length, int64_t vocabulary) {
  std::vector<generate::Tokens> prompts(count);
  for (size_t i = 0; i < prompts.size(); ++i)
    for (int64_t t = 0; t < length; ++t)
      prompts[i].push_back(narrow<int32_t>(philox(3, i, t)[0] % vocabulary));
  return prompts;
}

int64_t prompt_ids(const ModelConfig& model) {
  return model.architecture->maps_source(model) ? model.architecture->source_ids(model)
                                                : model.vocab_size;
}

}  // namespace

void bench_decode(const Bench& bench) {
  const train::PretrainConfig& run = bench.run;
  const BenchConfig& config = bench.config;
  Mesh mesh(bench.world, mesh_shape(run.parallel, bench.world.size()));
  LocalModel local(run.model, run.parallel, mesh, run.precision());
  local.parameters().allocate(false);
  local.parameters().initialize(1);
  Yardsticks yardsticks(local.parameters().device(), config);
  double weights = 0;
  for (const Parameter& p : local.parameters().all())
    // Rows are looked up in the embedding's tables; a head that is one of them reads it whole.
    if (p.tied() || p.part.kind != Part::embedding || p.shape.rank() == 1)
      weights += static_cast<double>(p.value.bytes());
  bench.figures.title(fmt::format(
      "decoding after a prompt of {} tokens, {}; batch 1 against reading every weight once a token",
      config.prompt, name_of(run.precision())));
  for (int64_t batch : config.batches) {
    generate::GenerateConfig generate;
    generate.batch = batch;
    generate.max_tokens = config.new_tokens;
    generate.stop_at_end = false;
    generate.sampling.temperature = 0;
    if (run.model.architecture->maps_source(run.model)) generate.start = {0};
    generate::Generator generator(run.model, local, mesh, generate, -1);
    const auto prompts =
        random_prompts(batch * mesh.dp().size(), config.prompt, prompt_ids(run.model));
    std::vector<double> medians, peaks;
    std::vector<ProfileEvent> events;
    for (int64_t i = 0; i < config.samples; ++i) {
      peaks.push_back(yardsticks.read());
      Profile::start();
      generator.run(prompts);
      events = Profile::stop();
      medians.push_back(median(decode_seconds(events)));
    }
    Figure made{"decode", fmt::format("batch {}", batch), median(medians)};
    made.tokens = prompts.size();
    if (batch == 1) made.bytes = weights, made.peak = median(peaks);
    bench.figures.add(made);
    bench.figures.title(
        "the last of these runs by kernel, with its prompt; each without what it calls");
    add_breakdown(events, bench.figures);
  }
}

// Of so few tokens, all alike likely, one ends an answer: lengths are geometric.
void bench_rollout(const Bench& bench) {
  constexpr int64_t kAnswersOfARow = 8;
  const train::PretrainConfig& run = bench.run;
  const BenchConfig& config = bench.config;
  Mesh mesh(bench.world, mesh_shape(run.parallel, bench.world.size()));
  LocalModel local(run.model, run.parallel, mesh, run.precision());
  local.parameters().allocate(false);
  local.parameters().initialize(1);
  generate::GenerateConfig generate;
  generate.max_tokens = config.new_tokens;
  generate.sampling.temperature = 1e9;
  const int64_t mean = std::min(std::max<int64_t>(2, config.new_tokens / 4), run.model.vocab_size);
  bench.figures.title(
      fmt::format("{} answers for each place of the batch, of {} tokens at most and geometric "
                  "lengths of mean {}, to prompts of {}",
                  kAnswersOfARow, config.new_tokens, mean, config.prompt));
  for (int64_t batch : config.batches) {
    generate.batch = batch;
    generate::Generator generator(run.model, local, mesh, generate, 0, mean);
    const auto prompts = random_prompts(batch * kAnswersOfARow * mesh.dp().size(), config.prompt,
                                        run.model.vocab_size);
    std::vector<double> seconds;
    double tokens = 0;
    for (int64_t i = 0; i < config.samples; ++i) {
      tokens = 0;
      seconds.push_back(seconds_of(local.parameters().device(), [&] {
        for (const generate::Continuation& one : generator.run(prompts))
          tokens += one.tokens.size() + one.ended;
      }));
    }
    bench.figures.add(
        {"rollout", fmt::format("batch {}", batch), median(seconds), 0, 0, 0, tokens});
    const generate::DecodingWork& work = generator.work();
    bench.figures.title(fmt::format("{} steps of {:.1f} rows, of which {:.1f} were not finished",
                                    work.steps, ratio(work.rows, std::max<int64_t>(1, work.steps)),
                                    ratio(work.live, std::max<int64_t>(1, work.steps))));
  }
}

}  // namespace skein::bench
