// One function a command of `skein`: args exclude the program's and the command's name. It starts
// the world itself, once its options are read, and returns the exit code; whatever goes wrong is an
// Error.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "skein/checkpoint/checkpoint.h"
#include "skein/comm/mesh.h"
#include "skein/core/options/options.h"
#include "skein/data/samples/masking.h"
#include "skein/models/config.h"
#include "skein/parallel/layout.h"
#include "skein/parallel/local_model.h"

namespace skein {

int pretrain_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world);
int evaluate_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world);
int bench_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world);
int ppo_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world);
int finetune_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world);
int sft_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world);
int reward_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world);
int dpo_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world);
int sweep_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world);
int predict_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world);
int embed_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world);
int plan_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world);
int fit_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world);
int report_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world);
int generate_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world);

// False when the command line asked for a text (help, resolved options) that has been printed now.
// settle gives options that depend on others their values, before anything shows or uses them.
bool parse(Options& options, const std::vector<std::string>& args, bool allow_words,
           const std::function<void()>& settle = {});

// Prints what was asked for in place of a run; a reader that leaves, such as `head`, ends the
// process quietly.
void answer(const std::string& text);

// A micro-batch that nobody gave becomes the largest up to its default that divides the batch at
// this layout. It changes no result.
void fit_micro_batch(Options& options, const ParallelConfig& layout, int64_t global_batch,
                     int64_t micro_batch, const Group& world);

// The world, with a fair share of each host's cores for every rank unless OMP_NUM_THREADS says
// otherwise.
std::unique_ptr<Group> begin_world();

// What a trained model needs besides its weights.
struct Source {
  CheckpointInfo info;
  ModelConfig model;
  MaskConfig mlm;
  std::string tokenizer;   // JSON
  std::string notes = {};  // of the task, JSON
  std::map<std::string, std::string> config =
      {};                     // options of the run that wrote it; of an import, the model's
  std::string imported = {};  // what skein-convert keeps of the model's origin, JSON
};

// Collective. What a checkpoint that has been found holds. A usage error where its tensors are not
// those of the model that it describes: from here on the model's sizes can be relied on.
Source source_of(const CheckpointInfo& info, Group& world);
// Collective. path: a checkpoint, or a run's folder, of which find_weights decides what is taken.
// option: that named it, for messages.
Source open_source(const std::string& path, Group& world,
                   const std::string& option = "checkpoint.path");
// Collective. Gives the parameters memory and fills them.
void load_weights(const Source& source, LocalModel& local, Mesh& mesh);

}  // namespace skein
