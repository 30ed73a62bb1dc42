#include <algorithm>
#include <cmath>
#include <numeric>

#include <nlohmann/json.hpp>

#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/train/judge.h"
#include "skein/train/progress.h"
#include "skein/train/sft.h"

namespace skein {
namespace {

using Json = nlohmann::ordered_json;

// Padding to multiples of this keeps vectors whole.
constexpr int64_t kLengthMultiple = 8;
// Of the logits of an evaluation's forward pass.
constexpr int64_t kMostLogitBytes = int64_t{512} << 20;

class SftTask : public Task {
 public:
  SftTask(const SftConfig& c, std::unique_ptr<Tokenizer> tokenizer, const std::string& notes);

  const ChatSamples& samples() const override { return *training_; }
  int64_t length() const override { return training_->length(); }
  std::string tokenizer() const override { return tokenizer_->to_json(); }
  bool validates() const override { return validation_ != nullptr; }
  Scores validate(const Judged& model) const override;
  std::string notes() const override;
  void check_notes(const std::string& notes, const std::string& origin) const override;
  bool adapts() const override { return true; }

  void complete(PretrainConfig& config, double epochs) const;

 private:
  std::unique_ptr<ChatSamples> read(const SftConfig& c, const std::vector<std::string>& files, const std::string& notes, bool training);
  void tell(const ChatSamples& samples, const char* what) const;

  std::unique_ptr<Tokenizer> tokenizer_;
  ChatTemplate form_;
  InstructionNotes instructions_;  // of the training data
  std::unique_ptr<ChatSamples> training_, validation_;
  int64_t vocabulary_;
};

SftTask::SftTask(const SftConfig& c, std::unique_ptr<Tokenizer> tokenizer, const std::string& notes)
    : tokenizer_(std::move(tokenizer)), form_(chat_template(c.chat, *tokenizer_, notes)), training_(read(c, c.run.data.train, notes, true)),
      validation_(c.run.data.validation.empty() ? nullptr : read(c, c.run.data.validation, notes, false)), vocabulary_(c.run.model.vocab_size) {
  tell(*training_, "training");
  if (validation_) tell(*validation_, "validation");
}

std::unique_ptr<ChatSamples> SftTask::read(const SftConfig& c, const std::vector<std::string>& files, const std::string& notes, bool training) {
  const int64_t context = c.run.model.context, length = c.task.length > 0 ? c.task.length : context;
  const int64_t multiple = c.run.parallel.sequence ? std::lcm(kLengthMultiple, static_cast<int64_t>(c.run.parallel.tensor)) : kLengthMultiple;
  auto [chats, instructions] = read_chats(c.chat, form_, files, notes);
  if (training) instructions_ = instructions;
  ChatSamplesConfig config;
  config.length = c.task.pack ? length : padded_length(chats, multiple, length);
  config.pack = c.task.pack;
  config.longer = c.task.longer;
  config.pad = std::max(0, tokenizer_->roles().pad);
  config.seed = c.run.train.seed;
  config.shuffle = training;
  auto made = std::make_unique<ChatSamples>(std::move(chats), config);
  require(made->samples_per_epoch() > 0, "none of the {} conversations of {} has an answer that fits into {} tokens; give a longer sft.length (at most "
          "model.context={}), or sft.longer=cut", made->counts().chats, training ? "data.train" : "data.validation", length, context);
  return made;
}

void SftTask::tell(const ChatSamples& samples, const char* what) const {
  const ChatCounts& counts = samples.counts();
  log::info("{} {} conversations in {} rows of {} tokens, {:.1f}% filled, {} tokens of answers, by the template \"{}\"", counts.chats - counts.left_out, what,
            samples.samples_per_epoch(), samples.length(),
            100 * static_cast<double>(counts.tokens) / static_cast<double>(samples.samples_per_epoch() * samples.length()),
            readable_count(static_cast<double>(counts.answers)), form_.name());
  if (counts.left_out > 0)
    log::warn("{} of {} {} conversations are left out: no answer of theirs fits into {} tokens", counts.left_out, counts.chats, what, samples.length());
  if (counts.shortened > 0)
    log::warn("{} of {} {} conversations are longer than {} tokens and lose what is beyond", counts.shortened, counts.chats, what, samples.length());
}

Scores SftTask::validate(const Judged& model) const {
  const int64_t row_bytes = validation_->places() * vocabulary_ * static_cast<int64_t>(sizeof(float));
  const Judged few{model.pipeline, model.pass, model.mesh, std::clamp<int64_t>(kMostLogitBytes / row_bytes, 1, model.batch)};
  const Tensor counts = Tensor::zeros({2}, DType::i64);  // tokens that are right, and all
  const auto nats = judge(few, *validation_, validation_->samples_per_epoch(), 1, true, [&](const Batch& batch, const std::vector<Tensor>& answers) {
    for (int64_t i = 0; i < batch.weights.size(); ++i) {
      if (batch.weights.data<float>()[i] == 0) continue;
      counts.data<int64_t>()[0] += answers[0].data<int32_t>()[i] == batch.targets.data<int32_t>()[i];
      ++counts.data<int64_t>()[1];
    }
  });
  model.mesh.dp().all_reduce_sum(counts);
  model.mesh.pp().broadcast(counts, model.mesh.pp().size() - 1);
  const auto tokens = static_cast<double>(counts.data<int64_t>()[1]), accuracy = static_cast<double>(counts.data<int64_t>()[0]) / tokens;
  const double loss = std::accumulate(nats[0].begin(), nats[0].end(), 0.0) / tokens;
  return {fmt::format("loss {:.4f}, perplexity {:.2f}, {:.1f}% of {} answer tokens right", loss, std::exp(loss), 100 * accuracy, readable_count(tokens)),
          {{"validation_loss", loss}, {"validation_perplexity", std::exp(loss)}, {"validation_token_accuracy", accuracy}}, -loss};
}

std::string SftTask::notes() const {
  return with_instructions(Json{{"task", "sft"}, {"template", Json::parse(form_.to_json())}, {"length", length()}, {"training_checksum", training_->checksum()}}.dump(),
                           instructions_);
}

void SftTask::check_notes(const std::string& notes, const std::string& origin) const {
  const Json json = Json::parse(notes, nullptr, false);
  const std::string stored = chat_template_in(notes);
  require(json.is_object() && json.value("task", Json()) == "sft" && !stored.empty(), "{} is no run of instruction tuning; give another run.dir", origin);
  const ChatTemplate before = ChatTemplate::from_json(stored, *tokenizer_);
  require(before.to_json() == form_.to_json(), "{} learns conversations by the chat template \"{}\", but chat.template is \"{}\"{}; give another run.dir to "
          "begin anew", origin, before.name(), form_.name(), before.name() == form_.name() ? " with other markers" : "");
  if (json.value("training_checksum", Json()) != training_->checksum())
    log::warn("the training samples are not those that {} was trained on; the run goes on with the new ones", origin);
}

void SftTask::complete(PretrainConfig& c, double epochs) const {
  const double epoch = static_cast<double>(training_->samples_per_epoch()) / static_cast<double>(std::max<int64_t>(1, c.train.global_batch));
  const auto steps = [](double count) { return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(std::min(count, 1e12)))); };
  if (c.train.steps == 0) c.train.steps = steps_of("sft.epochs", epochs, epoch);
  if (c.lr.warmup < 0) c.lr.warmup = steps(0.03 * static_cast<double>(c.train.steps));
  if (c.lr.decay == LrConfig::Decay::automatic) c.lr.decay = LrConfig::Decay::cosine;
  if (c.validation.every < 0) c.validation.every = steps(epoch);
}

void check(const SftConfig& c, const Tokenizer& tokenizer) {
  const ModelConfig& model = c.run.model;
  require(model.architecture == Architecture::gpt && model.head == Head::vocabulary,
          "this model is no language model that continues text, but {}; `skein sft` needs a GPT with model.head=vocabulary",
          model.architecture == Architecture::bert ? "an encoder" : "one that gives numbers or labels");
  require(model.vocab_size >= tokenizer.vocab_size(), "the model knows {} ids, but its tokenizer has {}", model.vocab_size, tokenizer.vocab_size());
  require(!c.run.data.train.empty(), "data.train names no file of conversations");
  require(c.task.length >= 0 && c.task.length <= model.context, "sft.length={} must be from 1 to model.context={}, the longest that the model can see, or 0 for that",
          c.task.length, model.context);
}

}  // namespace

std::unique_ptr<Task> sft_task(SftConfig& config, const std::string& tokenizer, const std::string& notes) {
  auto made = tokenizer_from_json(tokenizer);
  check(config, *made);
  auto task = std::make_unique<SftTask>(config, std::move(made), notes);
  task->complete(config.run, config.task.epochs);
  return task;
}

}  // namespace skein
