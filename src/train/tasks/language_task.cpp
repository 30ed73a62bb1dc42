#include "skein/train/tasks/language_task.h"

#include "skein/core/strings.h"
#include "skein/data/samples/masked_loader.h"
#include "skein/models/architecture.h"
#include "skein/train/evaluate.h"
#include "skein/train/evaluate_masked.h"
#include "skein/train/progress.h"

namespace skein {
namespace {

void check_tokenizers(const TokenStore& validation, const TokenStore& training) {
  require(validation.info().tokenizer == training.info().tokenizer,
          "{} was made with another tokenizer than {}, or only one of them names it "
          "(data.tokenizer does for both)",
          validation.path(), training.path());
}

template <class Samples>
std::vector<DataFile> files_of(const Samples& training, const Samples* validation) {
  std::vector<DataFile> files = store_files("data.train", training.all_stores());
  if (!validation) return files;
  for (DataFile& file : store_files("data.validation", validation->all_stores()))
    files.push_back(std::move(file));
  return files;
}

class NextTokenTask : public Task {
 public:
  explicit NextTokenTask(const PretrainConfig& c)
      : data_(c.data),
        eval_(c.validation.eval),
        context_(c.model.context),
        training_(c.data.train, c.model.context, c.train.seed, c.data) {
    if (c.data.validation.empty()) return;
    data_.vocab_size = training_.vocab_size();
    validation_ = std::make_unique<Loader>(c.data.validation, 1, c.train.seed, data_);
    check_tokenizers(validation_->store(0), training_.store(0));
  }

  const Loader& samples() const override { return training_; }
  int64_t length() const override { return context_; }
  StoredTokenizer tokenizer() const override { return training_.store(0).info().tokenizer; }
  std::vector<DataFile> data_files() const override {
    return files_of(training_, validation_.get());
  }
  bool validates() const override { return validation_ != nullptr; }

  Scores validate(const Judged& model) const override {
    const Evaluation found = evaluate_windows(model, eval_, *validation_, data_, context_);
    Scores scores{
        fmt::format("{} ({} tokens)", found.text(), readable_count(found.tokens)),
        {{"validation_loss", found.loss()}, {"validation_perplexity", found.perplexity()}},
        -found.loss()};
    if (found.bytes) scores.values.emplace_back("validation_bits_per_byte", found.bits_per_byte());
    return scores;
  }

 private:
  DataConfig data_;
  EvalConfig eval_;
  int64_t context_;
  Loader training_;
  std::unique_ptr<Loader> validation_;
};

class MaskedTask : public Task {
 public:
  explicit MaskedTask(const PretrainConfig& c)
      : samples_(c.validation.eval.windows),
        context_(c.model.context),
        pairs_(c.mlm.pairs != PairTask::none),
        training_(c.data.train, c.model.context, c.train.seed, c.data, c.mlm) {
    require(!pairs_ || c.model.architecture->judges_pairs(c.model),
            "mlm.pairs needs model.pooler, the layer that judges them");
    require(!pairs_ || c.model.token_types >= 2,
            "mlm.pairs marks two parts, but model.token_types is {}; give 2", c.model.token_types);
    if (c.data.validation.empty()) return;
    DataConfig data = c.data;
    data.vocab_size = training_.vocab_size();
    validation_ = validation_samples(c.data.validation, c.model.context, data, c.mlm);
    check_tokenizers(validation_->store(0), training_.store(0));
  }

  const MaskedLoader& samples() const override { return training_; }
  int64_t length() const override { return context_; }
  StoredTokenizer tokenizer() const override { return training_.store(0).info().tokenizer; }
  std::vector<Term> terms() const override {
    return pairs_ ? std::vector<Term>{{"masked_loss"}, {"pair_loss", Term::Over::samples}}
                  : std::vector<Term>{{}};
  }
  std::vector<DataFile> data_files() const override {
    return files_of(training_, validation_.get());
  }
  bool validates() const override { return validation_ != nullptr; }

  Scores validate(const Judged& model) const override {
    const MaskedEvaluation found = evaluate_masked(model, *validation_, samples_);
    return {found.text(), found.values("validation_"), -found.loss()};
  }

 private:
  int64_t samples_, context_;
  bool pairs_;
  MaskedLoader training_;
  std::unique_ptr<MaskedLoader> validation_;
};

template <class Made>
std::unique_ptr<Task> completed(PretrainConfig& c) {
  auto task = std::make_unique<Made>(c);
  const int64_t ids = task->samples().vocab_size();
  if (c.model.vocab_size == 0) c.model.vocab_size = ids;
  require(c.model.vocab_size >= ids,
          "model.vocab_size={} is smaller than the {} ids of the tokenizer of {}",
          c.model.vocab_size, ids, c.data.train.front());
  return task;
}

}  // namespace

std::unique_ptr<Task> language_task(PretrainConfig& config) {
  require(!config.data.train.empty(),
          "data.train names no token store; make one with `skein-data encode`");
  require(config.model.head == Head::vocabulary,
          "pretraining learns tokens: model.head must be vocabulary; `skein finetune` trains the "
          "others");
  config.data.vocab_size = config.model.vocab_size;
  const bool masks = config.model.architecture->fills_masks(config.model);
  if (config.lr.decay == LrConfig::Decay::automatic)
    config.lr.decay = masks ? LrConfig::Decay::linear : LrConfig::Decay::cosine;
  return masks ? completed<MaskedTask>(config) : completed<NextTokenTask>(config);
}

TrainResult pretrain(PretrainConfig config, Group& world, const std::string& resolved) {
  const auto task = language_task(config);
  return train(config, *task, world, resolved);
}

}  // namespace skein
