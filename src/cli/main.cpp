#include <chrono>
#include <cstdio>
#include <memory>
#include <new>
#include <thread>

#include "command.h"
#include "skein/comm/world.h"
#include "skein/core/log.h"
#include "skein/core/version.h"

namespace skein {
namespace {

using Words = std::vector<std::string>;

struct Command {
  const char* name;
  const char* help;
  int (*run)(const Words& args, std::unique_ptr<Group>& world);
};

constexpr Command kCommands[] = {
    {"pretrain", "pretrain a decoder or an encoder on token stores, or go on with a run", pretrain_command},
    {"finetune", "teach a pretrained model labels of texts, pairs or words", finetune_command},
    {"sft", "teach a pretrained decoder to answer, from conversations", sft_command},
    {"ppo", "tune a policy by rewards of its own answers: PPO, RLOO, GRPO", ppo_command},
    {"reward", "teach a pretrained model which answers people prefer", reward_command},
    {"dpo", "tune a policy by preferences alone: DPO", dpo_command},
    {"eval", "what a checkpoint makes of held-out text: loss, bits per byte, masked tokens, labels", evaluate_command},
    {"fit", "fit scaling laws to a table of runs", fit_command},
    {"report", "fit scaling laws and draw them: one HTML page, PNG, CSV", report_command},
    {"bench", "measure what this machine makes of a model", bench_command},
    {"sweep", "train the models of a scaling experiment, as many at a time as there are ranks", sweep_command},
    {"predict", "label texts, pairs or words with a fine-tuned model", predict_command},
    {"embed", "turn texts into vectors", embed_command},
    {"plan", "from a budget to a model, its tokens, settings, layout, run time and cost", plan_command},
    {"generate", "continue prompts with a checkpoint", generate_command},
};

std::string usage() {
  std::string text = "skein: train language models across many processes\n\n";
  for (const Command& command : kCommands) text += fmt::format("  skein {:<9} {}\n", command.name, command.help);
  return text +
         "  skein --version\n\n"
         "`skein COMMAND --help` lists the options of a command. Run it alone, under `mpirun -np N` or `srun`, or on\n"
         "several hosts without either: set SKEIN_RENDEZVOUS, SKEIN_RANK and SKEIN_RANKS (docs/pretraining.md).\n"
         "skein-data makes token stores, skein-inspect looks into checkpoints.\n";
}

int run(const Words& args, std::unique_ptr<Group>& world) {
  const std::string name = args.empty() ? "--help" : args.front();
  std::vector<std::string> known;
  for (const Command& command : kCommands) {
    if (name == command.name) return command.run({args.begin() + 1, args.end()}, world);
    known.push_back(command.name);
  }
  if (name == "--help" || name == "-h" || name == "help") return std::fputs(usage().c_str(), stdout), 0;
  if (name == "--version") {
    std::printf("skein %s (%s)\n", std::string(kVersion).c_str(), std::string(kRevision).c_str());
    return 0;
  }
  const std::string near = nearest(name, known);
  fail_usage("unknown command '{}'{}; `skein --help` lists all", name, near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
}

// An error that every rank meets is told once, by rank 0, which then ends the job; the others only speak when rank 0 does
// not, because the error is theirs alone.
int end_with(ExitCode code, const std::string& message, Group* world) {
  const int rank = world ? world->rank() : detect_launch().rank;
  if (rank > 0) std::this_thread::sleep_for(std::chrono::seconds(2));
  log::write(log::Level::error, rank > 0 ? fmt::format("rank {}: {}", rank, message) : message);
  if (world) world->abort(static_cast<int>(code));
  return static_cast<int>(code);
}

}  // namespace
}  // namespace skein

int main(int argc, char** argv) {
  std::unique_ptr<skein::Group> world;
  try {
    return skein::run({argv + 1, argv + argc}, world);
  } catch (const skein::Error& error) {
    return skein::end_with(error.code(), error.what(), world.get());
  } catch (const std::bad_alloc&) {
    return skein::end_with(skein::ExitCode::failure, "out of memory; use a smaller train.micro_batch, parallel.recompute=full, or more ranks", world.get());
  } catch (const std::exception& error) {
    return skein::end_with(skein::ExitCode::internal, error.what(), world.get());
  }
}
