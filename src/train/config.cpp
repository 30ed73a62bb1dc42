#include "skein/train/config.h"

#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>

#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/core/numbers.h"
#include "skein/models/architecture.h"

namespace skein::train {
namespace {

// The options that say when evaluations are made, without those that say of what.
void bind_pace(Options& options, ValidationConfig& c) {
  options.add("validation.every", c.every, "steps between evaluations; 0: only at the end",
              "steps");
  options.add("validation.points", c.points,
              "evaluations beside those, evenly spaced in the logarithm of the step; 0: none");
  options.add("validation.patience", c.patience,
              "evaluations in a row without a better one after which the run ends; 0: never");
}

// of_stores: also those of token stores, and of what is held out of them.
void bind_all(Options& options, PretrainConfig& c, bool of_stores) {
  bind(options, c.model);
  bind(options, c.parallel);
  bind(options, c.train);
  bind(options, c.lr);
  bind(options, c.optimizer);
  bind(options, c.spikes);
  if (of_stores) {
    bind(options, c.loss);
    bind(options, c.data);
    bind(options, c.mlm);
    bind(options, c.noise);
    bind(options, c.validation);
  } else {
    bind_pace(options, c.validation);
  }
  bind(options, c.checkpoint);
  bind(options, c.run);
}

void check_layout(const PretrainConfig& c, int ranks) {
  const MeshShape shape = mesh_shape(c.parallel, ranks);
  check_shape(ranks, shape);
  const int64_t batch = c.train.global_batch;
  int64_t micro = c.train.micro_batch;
  if (c.train.micro_batch_open) micro = fitting_micro_batch(c.parallel, shape, batch, micro);
  ParallelConfig layout = c.parallel;
  // What fits these is known with the groups, which may be those of a checkpoint.
  if (layout.reduction_groups == 0 && micro > 0) {
    micro = layout.chunks = 1;
    layout.schedule = ScheduleKind::gpipe;
  }
  plan_batch(layout, shape, batch, micro);
}

void check_rollback(const PretrainConfig& c) {
  const CheckpointConfig& made = c.checkpoint;
  const bool commits = made.every > 0 || made.minutes > 0 || made.mean_time_between_failures > 0;
  require(
      c.spikes.action != SpikeConfig::Action::rollback || (!c.run.dir.empty() && commits),
      "spikes.action=rollback goes back to a checkpoint, but before its end this run makes none: "
      "run.dir={}, checkpoint.every={}, checkpoint.minutes={} and "
      "checkpoint.mean_time_between_failures={}; give run.dir and one of the others, or "
      "another spikes.action",
      c.run.dir, made.every, made.minutes, made.mean_time_between_failures);
}

// What is counted of tokens, and so of samples, stays below that of which a checkpoint is read.
void check_counts(const PretrainConfig& c, int64_t length) {
  constexpr double kMost = int64_t{1} << 53;
  const double steps = 1.0 * c.train.steps + c.spikes.leave_out,
               tokens = steps * c.train.global_batch * std::max<int64_t>(1, length);
  require(
      tokens <= kMost,
      "train.steps={} and spikes.leave_out={}, of train.global_batch={} sequences of {} tokens, "
      "are {:.3g} tokens, but a run counts {:.3g} at most; take fewer steps",
      c.train.steps, c.spikes.leave_out, c.train.global_batch, length, tokens, kMost);
}

bool records_attention(const AttentionOptions& c) {
  for (const SightKind kind :
       {SightKind::global, SightKind::bigbird, SightKind::fixed, SightKind::lsh})
    if (c.has(kind)) return false;
  return true;
}

}  // namespace

std::vector<int64_t> evaluation_steps(int64_t points, int64_t steps) {
  std::vector<int64_t> made;
  const double first = std::max(1.0, std::ceil(steps / 200.0)), span = steps / first;
  for (int64_t i = 0; i < points; ++i) {
    const double along = points == 1 ? 1 : ratio(i, points - 1);
    const int64_t step = std::llround(first * std::pow(span, along));
    if (made.empty() || made.back() < step) made.push_back(step);
  }
  return made;
}

void bind(Options& options, TrainConfig& c) {
  options.add("train.steps", c.steps, "optimizer steps", "steps");
  options.add("train.global_batch", c.global_batch, "sequences a step", "sequences");
  options.add("train.micro_batch", c.micro_batch, "sequences a forward pass", "sequences");
  options.add("train.seed", c.seed, "of start weights, sample order and dropout");
  bind_precision(options, "train.precision", c.precision,
                 "of parameters and activations, while the optimizer keeps f32");
  bind(options, c.loss_scale);
  options.add("train.max_skipped", c.max_skipped,
              "steps in a row without a finite gradient before giving up", "steps");
  options.add("train.frozen_layers", c.frozen_layers,
              "blocks that do not learn, from the first, nor do the embeddings then; "
              "model.n_layers: all but the head; -1: all learns",
              "blocks");
}

void bind(Options& options, LossConfig& c) {
  options.add("loss.label_smoothing", c.label_smoothing,
              "share of each target that training spreads evenly over the vocabulary, or over all "
              "classes; the plain loss is told beside it");
}

void check(const LossConfig& c) {
  require(c.label_smoothing >= 0 && c.label_smoothing < 1,
          "loss.label_smoothing is {}; it must be in [0, 1)", c.label_smoothing);
}

void bind(Options& options, ValidationConfig& c) {
  bind_pace(options, c);
  options.add("validation.windows", c.eval.windows, "windows evaluated, evenly spread; 0: all",
              "windows");
  options.add("validation.stride", c.eval.stride, "tokens a window scores; 0: all, without overlap",
              "tokens");
}

void bind(Options& options, CheckpointConfig& c) {
  options.add("checkpoint.every", c.every,
              "steps between checkpoints; 0: only when the run ends or is stopped", "steps");
  options.add("checkpoint.minutes", c.minutes,
              "between checkpoints, beside those by steps; 0: none by the clock", "minutes");
  options.add("checkpoint.mean_time_between_failures", c.mean_time_between_failures,
              "of the whole job: checkpoints are made as often as loses least time, by what one "
              "costs; 0: unknown",
              "hours");
  options.add_choice("checkpoint.async", c.async,
                     {{"auto", std::nullopt}, {"true", true}, {"false", false}},
                     "write checkpoints beside training, from a snapshot in memory; auto: where a "
                     "GPU trains, for it leaves cores free");
  options.add("checkpoint.keep", c.keep, "checkpoints that stay");
  options.add("checkpoint.load", c.load,
              "run folder or checkpoint to begin from when run.dir holds none");
  options.add("checkpoint.weights_only", c.weights_only,
              "of checkpoint.load take the weights, not optimizer and position");
  options.add(
      "checkpoint.other_data", c.other_data,
      "go on although a data file is not the one that the checkpoint remembers under its name");
}

void bind(Options& options, RunConfig& c) {
  options.add("run.dir", c.dir,
              "folder of the run; resumed when it holds a checkpoint; empty: nothing is written");
  options.add("run.restart", c.restart,
              "begin anew where run.dir holds checkpoints of which none can be used; without "
              "effect where one can");
  options.add("run.dry_run", c.dry_run,
              "say what the run would be, and stop: model, steps, memory, disk, time; --dry-run "
              "alone: true");
  options.add("run.log_every", c.log_every, "steps between progress lines", "steps");
  options.add("run.peak_flops", c.peak_flops,
              "peak of the whole job, to show the share reached; 0: not shown", "FLOP/s");
  options.add("run.tensorboard", c.tensorboard, "write TensorBoard event files");
  options.add("run.takeover", c.takeover,
              "how long to wait for an older start that is at work in run.dir, before its place is "
              "taken; 0: not at all",
              "seconds");
  options.add(
      "run.check_replicas", c.check_replicas,
      "between comparisons of all that ranks hold alike, bit for bit; each commit is behind "
      "one; 0: none",
      "steps");
  options.add("run.id", c.id,
              "the run's id, written into its checkpoints; those with another id are refused; "
              "empty: that of run.dir, or a new one at random");
  options.add("run.profile", c.profile,
              "steps after the second whose work goes to profile.json, a Chrome trace; 0: none; "
              "--profile alone: 3",
              "steps");
}

void bind(Options& options, data::DataConfig& c) {
  options.add("data.train", c.train,
              "token stores to train on, each PATH or WEIGHT:PATH; with task.kind=seq2seq "
              "files or stores of pairs");
  options.add("data.tokenizer", c.tokenizer,
              "tokenizer of stores that do not name theirs (Megatron-LM, nanoGPT, llm.c)");
  options.add("data.validation", c.validation, "the same, to evaluate on");
  options.add("data.shuffle", c.shuffle, "visit samples in a shuffled order");
  options.add("data.cross_document_attention", c.cross_document_attention,
              "attention may cross document ends");
  options.add("data.mask_document_ends", c.mask_document_ends,
              "do not learn the first token of the next document");
  options.add("data.stride", c.stride,
              "tokens from a sample's beginning to the next one's, and learnt of each, its last "
              "ones; 0: model.context, all of them. For decoders",
              "tokens");
  options.add("lm.prefix", c.prefix,
              "mean part of a sample that is its prefix, which is seen in both directions and not "
              "learnt; its length is drawn; 0: none. For decoders");
}

void bind(Options& options, PretrainConfig& c) { bind_all(options, c, true); }

void bind_adapting(Options& options, PretrainConfig& c) { bind_all(options, c, false); }

PretrainConfig adapting_defaults(const AdaptingDefaults& defaults) {
  PretrainConfig c;
  c.run.dir = defaults.dir;
  c.train.steps = 0;
  c.train.global_batch = defaults.global_batch;
  c.train.micro_batch = 4;
  c.lr.lr = defaults.lr;
  c.lr.min_lr = 0;
  c.lr.warmup = -1;
  c.lr.decay = defaults.decay;
  c.optimizer.weight_decay = 0;
  c.validation.every = -1;
  return c;
}

void check_start(const PretrainConfig& c, int ranks) {
  constexpr int64_t kMostPoints = 10000;
  require(c.checkpoint.every >= 0 && c.checkpoint.keep > 0,
          "checkpoint.every={} must be at least 0, checkpoint.keep={} at least 1",
          c.checkpoint.every, c.checkpoint.keep);
  require(c.checkpoint.minutes >= 0 && c.checkpoint.mean_time_between_failures >= 0,
          "checkpoint.minutes={} and checkpoint.mean_time_between_failures={} must be at least 0",
          c.checkpoint.minutes, c.checkpoint.mean_time_between_failures);
  require(c.run.log_every > 0 && c.validation.every >= 0 && c.validation.patience >= 0,
          "run.log_every={} must be at least 1, validation.every={} and validation.patience={} at "
          "least 0",
          c.run.log_every, c.validation.every, c.validation.patience);
  require(c.validation.points >= 0 && c.validation.points <= kMostPoints,
          "validation.points={} must be 0 to {}", c.validation.points, kMostPoints);
  require(c.run.profile >= 0 && c.run.check_replicas >= 0,
          "run.profile={} and run.check_replicas={} must be at least 0", c.run.profile,
          c.run.check_replicas);
  require(c.train.max_skipped > 0, "train.max_skipped={} must be at least 1", c.train.max_skipped);
  require(c.run.peak_flops >= 0, "run.peak_flops={} must be at least 0", c.run.peak_flops);
  check_rollback(c);
  check(c.optimizer);
  check(c.train.loss_scale, c.precision());
  check_layout(c, ranks);
}

void check_run(const PretrainConfig& c, int64_t length) {
  require(c.train.steps > 0, "train.steps={} must be at least 1", c.train.steps);
  check(c.spikes);
  check_counts(c, length);
  check(c.lr, c.train.steps, c.train.global_batch * length);
  check(c.loss);
}

void check_recording(const PretrainConfig& c, int ranks) {
  if (!c.parallel.cuda_graph) return;
  const MeshShape shape = mesh_shape(c.parallel, ranks);
  const int pieces = shape.pp * c.parallel.chunks;
  const bool on_gpu = c.parallel.device == DeviceKind::cuda;
  require(on_gpu && pieces == 1 && shape.tp == 1,
          "parallel.cuda_graph records a whole model on one GPU, but here are {} pieces of {} "
          "shards on a {}; leave it out, or use parallel.device=cuda with parallel.pipeline=1, "
          "parallel.chunks=1 and parallel.tensor=1",
          pieces, shape.tp, on_gpu ? "GPU" : "CPU");
  require(c.model.architecture->continues_text(c.model),
          "parallel.cuda_graph records decoders that predict tokens only (model.architecture=gpt, "
          "model.head=vocabulary); leave it out");
  require(c.loss.label_smoothing == 0,
          "parallel.cuda_graph records the plain loss only, but loss.label_smoothing={}; leave one "
          "of them out",
          c.loss.label_smoothing);
  require(!c.model.drops(),
          "parallel.cuda_graph repeats one recording, but model.dropout={} (attention {}, "
          "activation {}, whole branches {}) draws other masks each time; leave one of them out",
          c.model.dropout, c.model.dropout_of_attention(), c.model.activation_dropout,
          c.model.stochastic_depth);
  require(records_attention(c.model.attention),
          "parallel.cuda_graph records attention of kinds full and window only, since the others "
          "make lists on the host in each step, but attention.kind={}; leave one of them out",
          fmt::join(c.model.attention.kinds, ","));
}

PretrainConfig checked_start(const PretrainConfig& given, int64_t length, bool validates,
                             int ranks) {
  check_start(given, ranks);
  check_recording(given, ranks);
  PretrainConfig config = given;
  config.lr = resolved(given.lr, given.model.d_model);
  check_run(config, length);
  warn_of_no_rate(config.lr, {0, 0, config.train.steps, config.train.global_batch * length},
                  "train.steps");
  require(config.validation.patience == 0 || validates,
          "validation.patience={} needs validation data", config.validation.patience);
  if (given.lr.decay == LrConfig::Decay::noam)
    log::info("lr.decay=noam: the highest rate is {:.3g}, at step {}; lr.lr is not read",
              config.lr.lr, config.lr.warmup);
  return config;
}

}  // namespace skein::train
