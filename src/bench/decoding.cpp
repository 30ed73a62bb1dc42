#include "parts.h"
#include "skein/core/philox.h"
#include "skein/core/profile.h"

namespace skein {
namespace {

// Seconds of each decoding step after the prompt's.
std::vector<double> decode_seconds(const std::vector<ProfileEvent>& events) {
  std::vector<double> all;
  for (const ProfileEvent& event : events)
    if (event.name == std::string_view("decode") && event.thread == 0) all.push_back(static_cast<double>(event.end - event.begin) * 1e-9);
  return all;
}

}  // namespace

void bench_decode(const PretrainConfig& run, const BenchConfig& config, Group& world, Figures& figures) {
  Mesh mesh(world, mesh_shape(run.parallel, world.size()));
  LocalModel local(run.model, run.parallel, mesh, run.precision());
  local.parameters().allocate(false);
  local.parameters().initialize(1);
  Yardsticks yardsticks(local.parameters().device(), config);
  double weights = 0;
  for (const Parameter& p : local.parameters().all())
    if (p.name != "embedding.positions.weight" && (!p.name.starts_with("embedding.tokens") || run.model.tie_embeddings))
      weights += p.tied() ? 0 : static_cast<double>(p.value.bytes());
  figures.title(fmt::format("decoding after a prompt of {} tokens, {}; batch 1 against reading every weight once a token",
                            config.prompt, name_of(run.precision())));
  for (int64_t batch : config.batches) {
    GenerateConfig generate;
    generate.batch = batch;
    generate.max_tokens = config.new_tokens;
    generate.stop_at_end = false;
    generate.sampling.temperature = 0;
    Generator generator(run.model, local, mesh, generate, -1);
    std::vector<Tokens> prompts(static_cast<size_t>(batch * mesh.dp().size()));
    for (size_t i = 0; i < prompts.size(); ++i)
      for (int64_t t = 0; t < config.prompt; ++t)
        prompts[i].push_back(static_cast<int32_t>(philox(3, i, static_cast<uint64_t>(t))[0] % static_cast<uint32_t>(run.model.vocab_size)));
    std::vector<double> medians, peaks;
    std::vector<ProfileEvent> events;
    for (int64_t i = 0; i < config.samples; ++i) {
      peaks.push_back(yardsticks.read());
      Profile::start();
      generator.run(prompts);
      events = Profile::stop();
      medians.push_back(median(decode_seconds(events)));
    }
    Figure made{"decode", fmt::format("batch {}", batch), median(medians), 0, 0, 0, static_cast<double>(prompts.size())};
    if (batch == 1) made.bytes = weights, made.peak = median(peaks);
    figures.add(made);
    figures.title("the last of these runs by kernel, with its prompt; each without what it calls");
    add_breakdown(events, figures);
  }
}

}  // namespace skein
