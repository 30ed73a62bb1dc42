#include "skein/train/tasks/language_task.h"

#include <algorithm>

#include "skein/core/strings.h"
#include "skein/data/samples/masked_loader.h"
#include "skein/models/architecture.h"
#include "skein/train/evaluate.h"
#include "skein/train/evaluate_denoised.h"
#include "skein/train/evaluate_masked.h"
#include "skein/train/progress.h"
#include "skein/train/tasks/pair_notes.h"
#include "skein/train/tasks/smoothed_loss.h"

namespace skein::train {
namespace {

// Samples of token stores, to learn and to be judged by.
template <class Samples>
class StoreTask : public Task {
 public:
  const Samples& samples() const override { return training_; }
  text::StoredTokenizer tokenizer() const override { return training_.store(0).info().tokenizer; }
  std::vector<data::DataFile> data_files() const override {
    std::vector<data::DataFile> files = data::store_files("data.train", training_.all_stores());
    if (!validation_) return files;
    for (data::DataFile& file : data::store_files("data.validation", validation_->all_stores()))
      files.push_back(std::move(file));
    return files;
  }
  bool validates() const override { return validation_ != nullptr; }
  int64_t held_out_tokens() const override {
    if (!validation_) return 0;
    const int64_t all = validation_->samples_per_epoch(), most = eval_.windows;
    return (most > 0 ? std::min(most, all) : all) * length();
  }
  std::unique_ptr<Objective> objective(const LocalModel& model) const override {
    return token_objective(model, loss_);
  }
  std::vector<Term> terms() const override { return token_terms(loss_); }

 protected:
  // size: of a sample; rest: what else samples are made by.
  template <class Size, class... Rest>
  StoreTask(const PretrainConfig& c, const Size& size, const Rest&... rest)
      : loss_(c.loss),
        context_(c.model.context),
        eval_(c.validation.eval),
        training_(c.data.train, size, c.train.seed, c.data, rest...) {}
  void hold_out(std::unique_ptr<Samples> validation) {
    validation_ = std::move(validation);
    const data::TokenStore &judges = validation_->store(0), &teaches = training_.store(0);
    require(judges.info().tokenizer == teaches.info().tokenizer,
            "{} was made with another tokenizer than {}, or only one of them names it "
            "(data.tokenizer does for both)",
            judges.path(), teaches.path());
  }

  LossConfig loss_;
  int64_t context_;
  EvalConfig eval_;
  Samples training_;
  std::unique_ptr<Samples> validation_;
};

class NextTokenTask : public StoreTask<data::Loader> {
 public:
  explicit NextTokenTask(const PretrainConfig& c) : StoreTask(c, c.model.context), data_(c.data) {
    if (c.data.validation.empty()) return;
    eval_.prefix = c.model.architecture->reads_prompts_both_ways(c.model);
    data_.vocab_size = training_.vocab_size();
    data_.stride = 0;
    hold_out(std::make_unique<data::Loader>(c.data.validation, 1, c.train.seed, data_));
  }

  int64_t length() const override { return context_; }
  Scores validate(const EvaluatedModel& model) const override {
    const Evaluation found = evaluate_windows(model, eval_, *validation_, data_, context_);
    Scores scores{fmt::format("{} ({} tokens)", found.text(), readable_count(found.tokens)),
                  {{"loss", found.loss()}, {"perplexity", found.perplexity()}},
                  -found.loss()};
    if (found.bytes) scores.values.emplace_back("bits_per_byte", found.bits_per_byte());
    return scores;
  }
  int64_t held_out_tokens() const override {
    int64_t windows = 0;
    if (validation_)
      for (const auto& store : validation_->all_stores()) windows += windows_of(*store);
    return windows * context_;
  }

 private:
  int64_t windows_of(const data::TokenStore& store) const {
    const int64_t stride = eval_.stride ? eval_.stride : context_,
                  held = std::max<int64_t>(0, store.info().tokens - 2) / stride + 1;
    return eval_.windows > 0 ? std::min(held, eval_.windows) : held;
  }

  data::DataConfig data_;
};

class MaskedTask : public StoreTask<data::MaskedLoader> {
 public:
  explicit MaskedTask(const PretrainConfig& c)
      : StoreTask(c, c.model.context, c.mlm), pairs_(c.mlm.pairs != data::PairTask::none) {
    require(!pairs_ || c.model.architecture->judges_pairs(c.model),
            "mlm.pairs needs model.pooler, the layer that judges them");
    require(!pairs_ || c.loss.label_smoothing == 0,
            "loss.label_smoothing={} is for tokens alone; leave it out, or give mlm.pairs=none",
            c.loss.label_smoothing);
    require(!pairs_ || c.model.token_types >= 2,
            "mlm.pairs marks two parts, but model.token_types is {}; give 2", c.model.token_types);
    if (c.data.validation.empty()) return;
    data::DataConfig data = c.data;
    data.vocab_size = training_.vocab_size();
    hold_out(validation_samples(c.data.validation, c.model.context, data, c.mlm));
  }

  std::vector<Term> terms() const override {
    return pairs_ ? std::vector<Term>{{"masked_loss"}, {"pair_loss", Term::Over::samples}}
                  : StoreTask::terms();
  }

  int64_t length() const override { return context_; }
  Scores validate(const EvaluatedModel& model) const override {
    const MaskedEvaluation found = evaluate_masked(model, *validation_, eval_.windows);
    return {found.text(), found.values(), -found.loss()};
  }

 private:
  bool pairs_;
};

class DenoisingTask : public StoreTask<data::DenoisingLoader> {
 public:
  explicit DenoisingTask(const PretrainConfig& c)
      : StoreTask(c, denoising_rows(c.model, c.parallel), c.noise) {
    if (c.data.validation.empty()) return;
    data::DataConfig data = c.data;
    data.vocab_size = training_.vocab_size();
    hold_out(
        validation_samples(c.data.validation, denoising_rows(c.model, c.parallel), data, c.noise));
  }

  int64_t length() const override { return training_.source_length() + training_.target_length(); }
  std::unique_ptr<Objective> objective(const LocalModel& model) const override {
    return denoising_objective(model, loss_);
  }
  Scores validate(const EvaluatedModel& model) const override {
    const DenoisedEvaluation found = evaluate_denoised(model, *validation_, eval_.windows);
    return {found.text(), found.values(), -found.all().loss()};
  }
  TaskNotes notes() const override {
    return to_notes(PairNotes{.task = "denoising",
                              .start = spelling(*tokenizer(), training_.vocabulary().start())});
  }
};

// For each kind of model the decay of its rate where nobody gives one.
LrConfig::Decay usual_decay(const ModelConfig& model) {
  return model.architecture->continues_text(model) ? LrConfig::Decay::cosine
                                                   : LrConfig::Decay::linear;
}

// A model reads prompts both ways once it has learnt from prefixes.
void settle_samples(PretrainConfig& c) {
  const Architecture& kind = *c.model.architecture;
  if (c.data.prefix > 0) kind.read_prompts_both_ways(c.model);
  require(c.data.prefix > 0 || !kind.reads_prompts_both_ways(c.model),
          "model.prefix is learnt from samples with prefixes; give lm.prefix=0.5, or another mean "
          "part of a sample");
  require(c.data.stride == 0 || kind.continues_text(c.model),
          "data.stride={} is for models that continue text, and this one is {}; leave it out",
          c.data.stride, kind.otherwise(c.model));
}

template <class Made>
std::unique_ptr<Task> completed(PretrainConfig& c) {
  auto task = std::make_unique<Made>(c);
  const int64_t ids = task->samples().vocab_size();
  if (c.model.vocab_size == 0) c.model.vocab_size = ids;
  require(c.model.vocab_size >= ids,
          "model.vocab_size={} is smaller than the {} ids of the tokenizer of {}",
          c.model.vocab_size, ids, c.data.train.front());
  check_sources(c.model, ids, c.data.train.front());
  return task;
}

}  // namespace

std::unique_ptr<Task> language_task(PretrainConfig& config) {
  require(!config.data.train.empty(),
          "data.train names no token store; make one with `skein-data encode`");
  require(config.model.head == Head::vocabulary,
          "pretraining learns tokens: model.head must be vocabulary; `skein finetune` trains the "
          "others");
  settle_samples(config);
  config.data.vocab_size = config.model.vocab_size;
  const Architecture& architecture = *config.model.architecture;
  if (config.lr.decay == LrConfig::Decay::automatic) config.lr.decay = usual_decay(config.model);
  if (architecture.maps_source(config.model)) return completed<DenoisingTask>(config);
  if (architecture.fills_masks(config.model)) return completed<MaskedTask>(config);
  return completed<NextTokenTask>(config);
}

TrainResult pretrain(PretrainConfig config, Group& world, const std::string& resolved) {
  const auto task = language_task(config);
  return train(config, *task, world, resolved);
}

}  // namespace skein::train
