#include "skein/rlhf/policy/tune_outlook.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>

#include "skein/core/strings.h"
#include "skein/models/flops.h"
#include "skein/train/preflight/outlook_lines.h"
#include "skein/train/replica.h"
#include "skein/train/run_folder.h"
#include "skein/train/run_state.h"

#include "ptx.h"
#include "rollout.h"
#include "tune_resume.h"

namespace skein::rlhf::policy {
namespace {

double number(int64_t value) { return static_cast<double>(value); }

class Foresight {
 public:
  Foresight(const TuneConfig& given, const TuneSight& sight, Group& world)
      : config_(given), sight_(sight), mesh_(world, mesh_shape(given.run.parallel, world.size())) {
    train::check_start(config_.run, world.size());
    find_start();
    for (const rewards::Prompt& prompt : sight.prompts) {
      const int64_t tokens = std::ssize(prompt.tokens);
      longest_ = std::max(longest_, tokens);
      mean_ += number(tokens) / number(std::ssize(sight.prompts));
    }
  }

  train::Outlook found() {
    settle_memory();
    train::Outlook made;
    made.text = about_models() + about_iterations() + about_work() +
                train::memory_lines(memory_, config_.run, mesh_.world()) +
                train::disk_line(config_.run, checkpoint_bytes()) + about_time();
    made.lack = refusal_of([&] {
      require_memory(mesh_.world(), device_of(config_.run.parallel.device), config_.run.model,
                     shape_);
    });
    return made;
  }

 private:
  void find_start() {
    origin_ = "begins from " + sight_.origin.start.path;
    std::optional<checkpoint::CheckpointInfo> own;
    std::optional<train::RunState> stored;
    if (!config_.run.run.dir.empty())
      own = train::find_own_checkpoint(config_.run.run, mesh_.world());
    if (own) {
      stored = train::run_state(own->metadata, own->path);
      const TuneState tuned = tune_state(stored->notes, own->path);
      first_ = tuned.iterations;
      origin_ = "goes on from " + own->path;
      train::tell_changes(compare_with_own(*own, *stored, tuned, config_, sight_.origin));
    }
    plan_ = train::settled_plan(config_.run, mesh_.shape(), own ? &*stored : nullptr,
                                own ? own->path : "");
  }

  int64_t row() const {
    return std::min(config_.run.model.context, longest_ + config_.generate.max_tokens);
  }
  int64_t answers() const { return config_.ppo.rollout_batch; }
  int64_t left() const { return std::max<int64_t>(0, config_.ppo.iterations - first_); }
  int64_t updates() const {
    return config_.ppo.epochs * (answers() / config_.run.train.global_batch);
  }

  // Answers of a rank that are decoded, or scored, together.
  int64_t rows_at_once() const {
    const int64_t ranks = mesh_.shape().dp;
    return std::min(config_.generate.batch, (answers() + ranks - 1) / ranks);
  }

  MemoryShape shape_of(const ModelConfig& model, const LocalModel& local) {
    train::PretrainConfig run = config_.run;
    run.model = model;
    run.train.steps = config_.ppo.iterations;  // after which it commits
    MemoryShape made = learning_shape(run, plan_, mesh_, local);
    made.tokens = row();
    return made;
  }
  LocalModel described(const ModelConfig& model) {
    return {model, config_.run.parallel, mesh_, config_.run.precision()};
  }

  // Of a model that only answers: what it reads at once are rows of so many tokens.
  RankMemory answering(const ModelConfig& model, int64_t tokens) {
    LocalModel local = described(model);
    local.parameters().freeze([](const Parameter&) { return true; });
    MemoryShape shape = shape_of(model, local);
    shape.snapshot = Snapshot::none;
    shape.frozen_bytes = 0;
    shape.micro_batch = rows_at_once();
    shape.sums_per_rank = shape.groups_per_micro_batch = 1;
    shape.tokens = tokens;
    return estimated_memory(shape, local.parameters());
  }

  // Keys and values of the answers that are decoded together; those of a layer stand there twice
  // while rows move.
  double cache_bytes() const {
    const ModelConfig& model = config_.run.model;
    const MeshShape& sizes = mesh_.shape();
    const int64_t reach = std::min(row(), model.attention.reach(model.n_layers)),
                  columns = reach + generate::cache_slack(reach),
                  layers = (model.n_layers + sizes.pp - 1) / sizes.pp;
    return number(2 * rows_at_once() * (layers + 1) * columns * model.kv_heads() *
                  model.head_width() / sizes.tp * size_of(config_.run.precision()));
  }

  // A rank's part of the running mean, which stands in checkpoints, too.
  double mean_bytes(int ranks) const {
    return config_.ppo.ema > 0 ? 4 * shape_.parameters / ranks : 0;
  }

  // Reference and reward models: their values stay. Returns what scoring takes for a while.
  double add_answering(RankMemory& memory) {
    std::vector<ModelConfig> models = sight_.reward_models;
    models.push_back(config_.run.model);
    double work = 0;
    for (const ModelConfig& model : models) {
      const RankMemory one = answering(model, row());
      shape_.others += one.values;
      memory.packed += one.packed;
      work = std::max(work, one.work);
    }
    return work;
  }

  // What a pass over texts of pretraining keeps.
  double texts_bytes(const LocalModel& policy) const {
    if (config_.ptx.data.empty()) return 0;
    MemoryShape shape = shape_;
    shape.micro_batch = PtxTexts(config_, plan_, mesh_, sight_.origin.tokenizer).plan().micro_batch;
    shape.tokens = config_.ptx.length;
    const RankMemory made = estimated_memory(shape, policy.parameters());
    return made.activations + made.work;
  }

  // The policy's memory with that of all that stands beside it. Memory that answers take, or texts
  // beside them, is of other sizes than what learning takes, and the process keeps all of it for
  // the next iteration.
  void settle_memory() {
    const LocalModel policy = described(policy_model(config_));
    shape_ = shape_of(policy_model(config_), policy);
    const int ranks = mesh_.shape().dp;
    RankMemory beside;
    if (config_.has_critic()) {
      const ModelConfig model = critic_model(config_.run.model);
      const LocalModel critic = described(model);
      beside = estimated_memory(shape_of(model, critic), critic.parameters());
    }
    shape_.others = beside.kept() + mean_bytes(config_.run.parallel.zero ? ranks : 1);
    RankMemory answers;
    const double scoring = add_answering(answers);
    memory_ = estimated_memory(shape_, policy.parameters());
    memory_.packed = std::max(memory_.packed, answering(config_.run.model, 1).packed) +
                     beside.packed + answers.packed;
    if (memory_.place != Snapshot::none) memory_.snapshot += beside.snapshot + mean_bytes(ranks);
    if (beside.activations + beside.work > memory_.activations + memory_.work) {
      memory_.activations = beside.activations;
      memory_.work = beside.work;
    }
    memory_.work += scoring + cache_bytes() + texts_bytes(policy);
  }

  std::string about_models() const {
    std::string text = fmt::format("model     {}: policy{} and reference\n",
                                   train::model_text(config_.run.model, config_.run),
                                   config_.has_shared_critic() ? ", critic" : "");
    const auto add = [&](const char* label, const ModelConfig& model) {
      text += fmt::format("          {}: {}\n", label, train::model_text(model, config_.run));
    };
    if (config_.has_critic()) add("critic", critic_model(config_.run.model));
    for (const ModelConfig& model : sight_.reward_models) add("reward model", model);
    return text;
  }

  std::string about_iterations() const {
    const auto prompts = std::ssize(sight_.prompts);
    return fmt::format(
               "start     it {}\n"
               "steps     iteration {} to {}, of {} answers of at most {} tokens to prompts of "
               "{:.0f} "
               "on average ({} at most), {:.3g} passes over {} prompts; {} optimizer steps each\n",
               origin_, first_, config_.ppo.iterations, answers(), config_.generate.max_tokens,
               mean_, longest_,
               number(config_.ppo.iterations * answers() / config_.ppo.answers) / number(prompts),
               prompts, updates()) +
           train::layout_line(mesh_.shape(), plan_);
  }

  // Of one answer of full length to each prompt, on average: to make and judge it, and one pass of
  // learning from it.
  struct Work {
    double making = 0, learning = 0;
  };
  Work work_of_answer() const {
    const TokenFlops policy(config_.run.model), critic(critic_model(config_.run.model));
    Work all;
    for (const rewards::Prompt& prompt : sight_.prompts) {
      Episode episode;
      episode.prompt = prompt;
      episode.tokens.resize(config_.generate.max_tokens);
      const int64_t fed = std::ssize(prompt.tokens) + config_.generate.max_tokens - 1;
      all.making += rollout_flops(config_, {episode});
      all.learning += number(fed) * (policy(fed) + (config_.has_critic() ? critic(fed) : 0));
    }
    const double prompts = number(std::ssize(sight_.prompts));
    return {all.making / prompts, all.learning / prompts};
  }
  Work work_of_iteration() const {
    const Work one = work_of_answer();
    Work made{one.making * number(answers()),
              one.learning * number(answers() * config_.ppo.epochs)};
    if (!config_.ptx.data.empty())
      made.learning += number(updates() * config_.ptx.batch * config_.ptx.length) *
                       TokenFlops(config_.run.model)(config_.ptx.length);
    return made;
  }

  std::string about_work() const {
    const Work work = work_of_iteration();
    return fmt::format(
        "work      {:.4g} FLOPs an iteration to make and judge answers, {:.4g} to learn from "
        "them, {:.4g} in all\n",
        work.making, work.learning, (work.making + work.learning) * number(left()));
  }

  double checkpoint_bytes() const {
    const int64_t values = config_.run.precision() == DType::f32 ? 4 : 0;
    double learnt = number(policy_model(config_).parameters());
    if (config_.has_critic()) learnt += number(critic_model(config_.run.model).parameters());
    return learnt * number(values + shape_.optimizer_bytes) +
           (config_.ppo.ema > 0 ? 4 * number(config_.run.model.parameters()) : 0);
  }

  std::string about_time() {
    const Work work = work_of_iteration();
    const int ranks = mesh_.world().size();
    const double rate = train::measured_rate(config_.run, mesh_.world());
    return train::time_line((work.making + work.learning) / rate, "an iteration", left(), rate,
                            ranks);
  }

  TuneConfig config_;
  const TuneSight& sight_;
  Mesh mesh_;
  int64_t first_ = 0, longest_ = 0;
  double mean_ = 0;  // tokens of a prompt
  std::string origin_;
  BatchPlan plan_;
  MemoryShape shape_;
  RankMemory memory_;
};

}  // namespace

train::Outlook look_ahead(const TuneConfig& config, const TuneSight& sight, Group& world) {
  return Foresight(config, sight, world).found();
}

}  // namespace skein::rlhf::policy
