#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <new>
#include <thread>

#include "skein/comm/world.h"
#include "skein/core/log.h"
#include "skein/core/options/program.h"
#include "skein/core/stop_signals.h"

#include "command.h"
#include "long_run.h"

namespace skein::cli {
namespace {

using Words = std::vector<std::string>;

struct ListedCommand {
  const char* name;
  const char* help;
  CommandFunction* run;
  bool trains = false;  // so that a request to stop is more than its end
};

constexpr ListedCommand kCommands[] = {
    {"pretrain", "pretrain a model on tokens, pairs of texts or pictures, or go on with a run",
     pretrain_command, true},
    {"finetune",
     "teach a pretrained model labels of texts, words or pictures, or targets of sources",
     finetune_command, true},
    {"sft", "teach a pretrained decoder to answer, from conversations", sft_command, true},
    {"ppo", "tune a policy by rewards of its own answers: PPO, RLOO, GRPO", ppo_command, true},
    {"reward", "teach a pretrained model which answers people prefer", reward_command, true},
    {"dpo", "tune a policy by preferences alone: DPO, IPO, SimPO, KTO", dpo_command, true},
    {"eval", "what a checkpoint makes of held-out text: loss, bits per byte, masked tokens, labels",
     evaluate_command},
    {"fit", "fit scaling laws to a table of runs", fit_command},
    {"report", "draw runs, or fit scaling laws and draw them: one HTML page, PNG, CSV",
     report_command},
    {"board", "show the runs in a folder, while they go on, in a browser", board_command},
    {"bench", "measure what this machine makes of a model", bench_command},
    {"sweep", "train the models of a scaling experiment, as many at a time as there are ranks",
     sweep_command, true},
    {"folds", "train a model of graphs once for each fold of a store: mean and deviation",
     folds_command, true},
    {"predict", "label texts, pairs, words or pictures with a trained model", predict_command},
    {"embed", "turn texts, pictures, graphs or nodes into vectors", embed_command},
    {"attend", "what a model looks at in a text: weights of attention as numbers and pictures",
     attend_command},
    {"plan", "from a budget to a model, its tokens, settings, layout, run time and cost",
     plan_command},
    {"verify-resume", "train, and train again with a resume between; compare every byte",
     verify_resume_command, true},
    {"compare-layouts", "train at two layouts; the first step and tensor that differ",
     compare_layouts_command, true},
    {"generate", "continue prompts with a checkpoint", generate_command},
    {"chat", "talk with a model that was tuned on conversations", chat_command},
    {"doctor", "what this machine, or all hosts of a job, are like for runs", doctor_command},
};

constexpr const char* kNotes =
    "Run a command alone, under `mpirun -np N` or `srun`, or on several hosts without either:\n"
    "set SKEIN_RENDEZVOUS, SKEIN_RANK and SKEIN_RANKS (docs/pretraining.md). skein-data makes\n"
    "token stores, skein-convert reads and writes other programs' models, skein-inspect looks\n"
    "into checkpoints. Where Skein is installed, `man skein-pretrain` is about a command.\n";

std::vector<CommandHelp> all_commands() {
  std::vector<CommandHelp> all;
  for (const ListedCommand& command : kCommands) all.push_back({command.name, "", command.help});
  return all;
}

bool trains(const Words& args) {
  return std::ranges::any_of(kCommands, [&](const ListedCommand& command) {
    return command.trains && !args.empty() && args.front() == command.name;
  });
}

int run(const Words& args, std::unique_ptr<Group>& world) {
  const auto help = [](HelpForm form) {
    return program_help("skein", "Trains language models across many processes.", all_commands(),
                        kNotes, form);
  };
  if (answered("skein", args, help)) return 0;
  for (const ListedCommand& command : kCommands)
    if (!args.empty() && args.front() == command.name)
      return command.run({args.begin() + 1, args.end()}, world);
  refuse_command("skein", args, all_commands());
}

// Once its code is known, a command that trains ends with it, whatever is asked on the way out.
int run_in_memory(const Words& args, std::unique_ptr<Group>& world) {
  try {
    const int code = run(args, world);
    ignore_stop_signals();
    return code;
  } catch (const std::bad_alloc&) {
    fail("out of memory; use a smaller train.micro_batch, parallel.recompute=full, or more ranks");
  }
}

// An error that every rank meets is told once, by rank 0, which then ends the job; the others only
// speak when rank 0 does not, because the error is theirs alone. The launcher's signal says that
// another rank has spoken.
int end_with(ExitCode code, const std::string& message, Group* world) {
  const int rank = world ? world->rank() : detect_launch().rank;
  if (rank > 0) {
    catch_stop_signals([code](int) { std::_Exit(static_cast<int>(code)); });
    std::this_thread::sleep_for(std::chrono::seconds(2));
  }
  ignore_stop_signals();
  log::write(log::Level::error, rank > 0 ? fmt::format("rank {}: {}", rank, message) : message);
  if (world) world->abort(static_cast<int>(code));
  return static_cast<int>(code);
}

}  // namespace
}  // namespace skein::cli

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  if (skein::cli::trains(args)) skein::cli::expect_stops();
  std::unique_ptr<skein::Group> world;
  return skein::run_program([&] { return skein::cli::run_in_memory(args, world); },
                            [&](skein::ExitCode code, const std::string& message) {
                              return skein::cli::end_with(code, message, world.get());
                            });
}
