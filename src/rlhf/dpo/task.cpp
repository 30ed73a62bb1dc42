#include "skein/rlhf/dpo/task.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/log.h"
#include "skein/core/numbers.h"
#include "skein/models/architecture.h"
#include "skein/rlhf/rewards/reward_task.h"
#include "skein/train/chats/chat_data.h"
#include "skein/train/judge.h"
#include "skein/train/run_state.h"
#include "skein/train/tasks/adapting.h"
#include "skein/train/vocabulary.h"

#include "rlhf/policy/frozen.h"

namespace skein::rlhf::dpo {
namespace {

using Json = nlohmann::json;

constexpr const char* kTask = "dpo";
// By so much may the mean log-probability of a token differ between two layouts or types of the
// same reference.
constexpr double kReferenceTolerance = 2e-3;

void check(const DpoTuneConfig& c) {
  check(c.task.rules.loss);
  require(std::isfinite(c.task.rules.sft) && c.task.rules.sft >= 0,
          "dpo.sft={} must be a number from 0", c.task.rules.sft);
  require(c.task.rules.sft == 0 || c.task.rules.loss.kind != DpoKind::kto,
          "dpo.sft={} is for the chosen answers of pairs, but dpo.loss=kto learns from single "
          "answers; leave it out",
          c.task.rules.sft);
  require(c.task.bad_records >= 0, "data.bad_records={} must be at least 0", c.task.bad_records);
  require(!c.run.data.train.empty(), "data.train names no file of preferences");
  require(c.run.model.architecture->continues_text(c.run.model),
          "the model to begin from does not continue text; a policy is a GPT with "
          "model.head=vocabulary");
  train::require_one_way(c.run.model, "skein dpo");
  train::require_scored_as_drawn(c.run.model, "skein dpo");
  require(!c.run.model.drops(),
          "model.dropout={} (attention {}, activation {}, whole branches {}) would make the policy "
          "another one than its reference; leave it out",
          c.run.model.dropout, c.run.model.dropout_of_attention(), c.run.model.activation_dropout,
          c.run.model.stochastic_depth);
}

void tell(const PairData& data, const char* what, size_t all, bool labelled) {
  const char* const wanted =
      labelled ? "neither a label nor two answers of which one is better"
               : "no two answers of which one is better (labels alone are for dpo.loss=kto)";
  tell(data, all, what);
  if (data.without > 0)
    log::info("{} of {} {} records have {} and are left out", data.without, all, what, wanted);
  require(!data.pairs.pairs.empty(),
          "no {} is left of {} {} records: {} are too long (a larger dpo.length, or a model with a "
          "longer context, makes room), {} have {}",
          labelled ? "judged answer" : "pair of answers", all, what, data.left_out, data.without,
          wanted);
}

// Ethayarajh et al. 2024 advise from 1 to 4/3.
void tell_balance(const DpoSamples& samples, const DpoConfig& c) {
  const int64_t all = samples.samples_per_epoch(), desirable = samples.chosen_among(0, all);
  if (desirable == 0 || desirable == all) {
    log::warn("all {} answers are {}: nothing says what to tell apart", all,
              desirable == all ? "desirable" : "undesirable");
    return;
  }
  log::info(
      "{} desirable and {} undesirable answers; with their weights the first count {:.3g} times as "
      "much as the second (advised: 1 to 1.33, by dpo.desirable_weight and dpo.undesirable_weight)",
      desirable, all - desirable,
      c.desirable_weight * desirable / (c.undesirable_weight * (all - desirable)));
}

void add_pairs(const data::PreferenceRecord& record, size_t first, bool labelled,
               std::vector<AnswerPairs::Pair>& pairs) {
  const size_t answers = record.answers.size();
  for (size_t better = 0; better < answers; ++better)
    for (size_t worse = 0; worse < answers; ++worse)
      if (record.values[better] > record.values[worse])
        pairs.push_back({first + better, first + worse});
  if (!labelled || !record.labelled) return;
  if (record.values.front() > 0)
    pairs.push_back({first, AnswerPairs::none});
  else
    pairs.push_back({AnswerPairs::none, first});
}

std::vector<rewards::AnswerSequence> sequences_of(const text::ChatTemplate& form,
                                                  const data::PreferenceRecord& record,
                                                  int64_t length) {
  std::vector<rewards::AnswerSequence> made =
      rewards::answer_sequences(form, record.prompt, record.answers, length);
  require(
      made.empty() || made.front().begin > 0,
      "the prompt has no token by the chat template \"{}\", so nothing stands before its answers",
      form.name());
  return made;
}

void complete(train::PretrainConfig& c, double epochs, int64_t samples) {
  c.model.architecture->give_values(c.model, false);
  fill_in(c, {"dpo.epochs", epochs, samples, 4});
  train::fill_in_warmup(c, 10);
}

// Over all samples, of each term of the objective.
NamedValues means_of(const train::EvaluatedModel& model, const DpoSamples& samples,
                     const DpoRules& rules) {
  const std::vector<train::Term> terms = DpoObjective::terms(rules);
  const int64_t count = samples.samples_per_epoch();
  const auto sums = judge(model, samples, count, terms.size(), false,
                          [](const data::Batch&, const std::vector<Tensor>&) {});
  NamedValues means;
  for (size_t i = 0; i < terms.size(); ++i)
    means.emplace_back(terms[i].name, std::accumulate(sums[i].begin(), sums[i].end(), 0.0) / count);
  return means;
}

}  // namespace

PairData paired(const text::ChatTemplate& form, const std::vector<data::PreferenceRecord>& records,
                const data::PreferencesConfig& files, int64_t length,
                rewards::LongPrompts long_prompts, bool labelled) {
  PairData data;
  for (const data::PreferenceRecord& record : records) {
    const size_t before = data.pairs.pairs.size(), first = data.pairs.answers.size();
    std::vector<rewards::AnswerSequence> sequences;
    if (!rewards::usable(record, files, data.bad,
                         [&] { sequences = sequences_of(form, record, length); }))
      continue;
    if (sequences.empty() ||
        (sequences.front().cut && long_prompts == rewards::LongPrompts::drop)) {
      ++data.left_out;
      continue;
    }
    add_pairs(record, first, labelled, data.pairs.pairs);
    if (data.pairs.pairs.size() == before) {
      ++data.without;
      continue;
    }
    data.cut += sequences.front().cut;
    for (rewards::AnswerSequence& sequence : sequences)
      data.pairs.answers.push_back(std::move(sequence));
  }
  return data;
}

void ask_reference(const train::PretrainConfig& config, const checkpoint::CheckpointInfo& weights,
                   Group& world, const std::vector<DpoSamples*>& samples) {
  Mesh mesh(world, mesh_shape(config.parallel, world.size()));
  const auto reference = policy::frozen_policy(config, mesh, {}, weights);
  for (DpoSamples* each : samples)
    each->remember(all_answers(reference->evaluated(config.train.micro_batch), *each,
                               each->samples_per_epoch(), each->places(),
                               policy::PolicyObjective::numbers({})));
}

DpoTask::DpoTask(DpoTuneConfig& c, std::shared_ptr<const text::Tokenizer> tokenizer,
                 const train::TaskNotes& notes)
    : tokenizer_(std::move(tokenizer)), rules_(c.task.rules) {
  check(c);
  length_ = sequence_length(c.task, "dpo", c.run.model.context);
  train::check_vocabulary(c.run.model, *tokenizer_);
  instructions_ = instruction_notes(notes);
  read(c, notes);
  files_ = data::record_files(
      {{"data.train", c.run.data.train}, {"data.validation", c.run.data.validation}});
  complete(c.run, c.task.epochs, training_.samples->samples_per_epoch());
}

void DpoTask::read(const DpoTuneConfig& c, const train::TaskNotes& notes) {
  data::PreferencesConfig files = files_of(c.task, c.run.data.train);
  const data::Preferences learnt = rewards::read_told(files, "training");
  template_ =
      rewards::preference_template(c.task.chat_template, *tokenizer_, notes, learnt.records);
  const text::ChatTemplate form(template_, *tokenizer_);
  training_ = source(c, form, learnt.records, files, "training");
  if (is_kto()) tell_balance(*training_.samples, rules_.loss);
  if (c.run.data.validation.empty()) return;
  files = files_of(c.task, c.run.data.validation);
  const data::Preferences judged = rewards::read_told(files, "validation");
  validation_ = source(c, form, judged.records, files, "validation");
}

DpoData DpoTask::source(const DpoTuneConfig& c, const text::ChatTemplate& form,
                        const std::vector<data::PreferenceRecord>& records,
                        const data::PreferencesConfig& files, const char* what) const {
  PairData data = paired(form, records, files, length_, c.task.long_prompts, is_kto());
  tell(data, what, records.size(), is_kto());
  const uint64_t seed = c.run.train.seed;
  const auto shuffled = [&](AnswerPairs pairs) {
    return std::make_unique<DpoSamples>(std::move(pairs), row_multiple(c.run.parallel),
                                        std::max(0, tokenizer_->roles().pad), seed, true);
  };
  if (!is_kto()) return {shuffled(std::move(data.pairs)), nullptr};
  AnswerPairs alone = taken_apart(std::move(data.pairs)), others = mismatched(alone, length_, seed);
  return {shuffled(std::move(alone)), shuffled(std::move(others))};
}

void DpoTask::ask_reference(const train::PretrainConfig& c,
                            const checkpoint::CheckpointInfo& weights, Group& world) {
  SKEIN_CHECK(has_reference(rules_.loss.kind));
  require(train::run_state(weights.metadata, weights.path).tokenizer == tokenizer(),
          "checkpoint.load={} is the reference, but has another tokenizer than the policy",
          c.checkpoint.load);
  std::vector<DpoSamples*> all;
  for (const DpoData* data : {&training_, &validation_})
    for (DpoSamples* samples : {data->samples.get(), data->others.get()})
      if (samples) all.push_back(samples);
  dpo::ask_reference(c, weights, world, all);
  reference_path_ = weights.path;
  reference_sum_ = weights.sum;
  log::info("the reference is {}: {:.4f} nats a token of {} training {}", weights.path,
            -training_.samples->mean_reference(), training_.samples->samples_per_epoch(),
            is_kto() ? "answers" : "pairs");
}

std::unique_ptr<Objective> DpoTask::objective(const LocalModel& model) const {
  return std::make_unique<DpoObjective>(*model.predictor(), rules_, &point_);
}

void DpoTask::before_step(const train::EvaluatedModel& model, int64_t first, int64_t count) const {
  if (is_kto()) point_ = kto_point(model, *training_.samples, *training_.others, first, count);
}

train::Scores DpoTask::validate(const train::EvaluatedModel& model) const {
  const DpoSamples& samples = *validation_.samples;
  if (is_kto())
    point_ = kto_point(model, samples, *validation_.others, 0, samples.samples_per_epoch());
  const NamedValues means = means_of(model, samples, rules_);
  const auto mean = [&](const std::string& name) { return shown_number(value_named(means, name)); };
  train::Scores scores;
  const double loss = mean(DpoObjective::loss_term(rules_));
  scores.text = fmt::format(
      "loss {:.4f}, accuracy {:.4f} of {} {}, margin {:.4f} (rewards {:.4f} chosen, {:.4f} "
      "rejected)",
      loss, mean("reward_accuracy"), samples.samples_per_epoch(), is_kto() ? "answers" : "pairs",
      mean("reward_margin"), mean("chosen_reward"), mean("rejected_reward"));
  scores.values.emplace_back("loss", loss);
  for (const train::Term& term : terms())
    if (!term.learnt) scores.values.emplace_back(term.name, mean(term.name));
  scores.quality = -loss;
  return scores;
}

train::TaskNotes DpoTask::notes() const {
  Json own{{"task", kTask},
           {"loss", name_of(rules_.loss.kind)},
           {"length", length_},
           {"checksum", training_.samples->checksum()},
           {"reference", training_.samples->mean_reference()},
           {"template", Json::parse(template_.text())},
           {"reference_path", reference_path_},
           {"reference_sum", reference_sum_},
           {"sft", rules_.sft}};
  for (const auto& [name, value] : numbers_of(rules_.loss)) own[name] = value;
  return with_instructions(train::TaskNotes(own.dump()), instructions_);
}

namespace {

double number_in(const nlohmann::ordered_json& notes, const char* key, const std::string& origin) {
  require(notes.contains(key) && notes[key].is_number(),
          "the notes of {} are damaged: no number \"{}\"", origin, key);
  return notes[key].get<double>();
}

}  // namespace

void DpoTask::check_notes(const train::TaskNotes& notes, const std::string& origin) const {
  train::require_run_of("skein dpo", notes.text_of("task") == kTask, origin);
  const nlohmann::ordered_json& stored = *notes;
  const auto as_number = [&](const char* key) { return number_in(stored, key, origin); };
  train::require_unchanged(chat_template_in(notes), template_, origin);
  // Losses other than dpo came later.
  require(!stored.contains("loss") || stored["loss"].is_string(),
          "the notes of {} are damaged: no text \"loss\"", origin);
  const std::string loss = stored.value("loss", name_of(DpoKind::dpo));
  train::require_unchanged<std::string>("dpo.loss", loss, name_of(rules_.loss.kind), origin);
  train::require_unchanged("dpo.length", as_number("length"), static_cast<double>(length_), origin);
  auto rules = numbers_of(rules_.loss);
  rules.emplace_back("sft", rules_.sft);
  for (const auto& [rule, now] : rules)
    if (const double before = as_number(rule.c_str()); before != now)
      log::warn(
          "{} learnt with dpo.{}={}, now it is {}: another objective, whose losses do not compare "
          "with those before",
          origin, rule, before, now);
  if (as_number("checksum") != training_.samples->checksum())
    train::warn_of_other_samples(origin, is_kto() ? "answers" : "pairs");
  // Not in a dry run, which asks none.
  if (!reference_path_.empty()) check_reference(notes, origin);
}

void DpoTask::check_reference(const train::TaskNotes& notes, const std::string& origin) const {
  const nlohmann::ordered_json& stored = *notes;
  // Sums came later than paths.
  require(stored.contains("reference_sum") ? stored["reference_sum"] == reference_sum_
                                           : stored.value("reference_path", "") == reference_path_,
          "{} was trained against a reference, {}, whose weights are not those that "
          "checkpoint.load gives: {}; give the checkpoint.load it began from, or another run.dir",
          origin, stored.value("reference_path", ""), reference_path_);
  if (number_in(stored, "checksum", origin) != training_.samples->checksum()) return;
  const double before = number_in(stored, "reference", origin),
               reference = training_.samples->mean_reference();
  require(std::abs(before - reference) <= kReferenceTolerance,
          "{} was trained against a reference that gives tokens a mean log-probability of {}, but "
          "checkpoint.load gives {}; give the checkpoint.load it began from, or another run.dir",
          origin, before, reference);
}

}  // namespace skein::rlhf::dpo
