// One function a command of `skein`: args exclude the program's and the command's name. It starts
// the world itself, once its options are read, and returns the exit code; whatever goes wrong is an
// Error.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "skein/comm/group.h"
#include "skein/core/options/options.h"
#include "skein/parallel/layout.h"
#include "skein/train/config.h"

namespace skein::cli {

using CommandFunction = int(const std::vector<std::string>& args, std::unique_ptr<Group>& world);
CommandFunction pretrain_command, finetune_command, sft_command, ppo_command, reward_command,
    dpo_command, evaluate_command, fit_command, report_command, bench_command, sweep_command,
    predict_command, embed_command, plan_command, generate_command, attend_command, chat_command,
    verify_resume_command, compare_layouts_command, doctor_command, folds_command, board_command;

// False when the command line asked for a text (help, resolved options) that has been printed now.
// settle gives options that depend on others their values, before anything shows or uses them.
bool parse(Options& options, const std::vector<std::string>& args, bool allow_words,
           const std::function<void()>& settle = {});
// The same for a command that trains, with what train.precision means, and what else depends on
// other options.
bool parse_run(Options& options, const std::vector<std::string>& args,
               const train::PretrainConfig& config, const std::function<void()>& settle = {});

// Prints what was asked for instead of a run; a reader that leaves, such as `head`, ends the
// process quietly.
void answer(const std::string& text);

// A micro-batch that nobody gave becomes the largest up to its default that divides the batch at
// this layout. It changes no result.
void fit_micro_batch(Options& options, const ParallelConfig& layout, int64_t global_batch,
                     int64_t micro_batch, const Group& world);

// The world, with a fair share of each host's cores for every rank unless OMP_NUM_THREADS says
// otherwise.
std::unique_ptr<Group> begin_world();

}  // namespace skein::cli
