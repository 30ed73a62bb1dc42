#include "skein/train/run_state.h"

#include <algorithm>
#include <charconv>

#include "skein/checkpoint/agree.h"
#include "skein/checkpoint/checkpoint.h"
#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/log.h"
#include "skein/core/strict_json.h"
#include "skein/core/strings.h"
#include "skein/core/version.h"

#include "stored_section.h"

namespace skein::train {
namespace {

nlohmann::ordered_json json_of(const std::vector<data::DataFile>& files) {
  auto list = nlohmann::ordered_json::array();
  for (const data::DataFile& file : files)
    list.push_back({{"option", file.option},
                    {"path", file.path},
                    {"bytes", file.bytes},
                    {"xxh3", fmt::format("{:016x}", file.sum)}});
  return list;
}

nlohmann::ordered_json json_of(const SpikeRecord& record) {
  auto decisions = nlohmann::ordered_json::array();
  for (const Spike& spike : record.decisions)
    decisions.push_back({{"step", spike.step},
                         {"quantity", spike.quantity},
                         {"value", spike.value},
                         {"mean", spike.mean},
                         {"deviation", spike.deviation},
                         {"action", spike.action},
                         {"back_to", spike.back_to}});
  return {{"losses", record.losses}, {"grad_norms", record.grad_norms}, {"decisions", decisions}};
}

SpikeRecord spike_record(const nlohmann::json& json) {
  SpikeRecord record{json.at("losses"), json.at("grad_norms"), {}};
  for (const auto& one : json.at("decisions"))
    record.add({one.at("step"), one.at("quantity"), one.at("value"), one.at("mean"),
                one.at("deviation"), one.at("action"), one.value("back_to", int64_t{-1})});
  return record;
}

uint64_t sum_of(const std::string& digits, const std::string& origin) {
  uint64_t sum = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, sum, 16);
  require(digits.size() == 16 && error == std::errc() && stop == end,
          "{}'s metadata: \"xxh3\" of a data file is {}; 16 hexadecimal digits belong there",
          origin, excerpt(digits));
  return sum;
}

std::vector<data::DataFile> data_files(const nlohmann::json& list, const std::string& origin) {
  std::vector<data::DataFile> files;
  for (const auto& file : list)
    files.push_back({file.at("option"), file.at("path"),
                     whole<int64_t>(file.at("bytes"), "bytes", origin + "'s metadata"),
                     sum_of(file.at("xxh3"), origin)});
  return files;
}

// No step from the newest one on had a finite gradient: its weights, or those of any after the good
// one, may be what is wrong.
std::string advice_to_remove(const std::string& checkpoints, int64_t saved_step,
                             int64_t good_step) {
  const auto all = checkpoint::list_checkpoints(checkpoints);
  const auto of = [&](auto wanted) { return std::ranges::find_if(all, wanted); };
  auto older = of([&](const checkpoint::CheckpointInfo& info) { return info.step == good_step; });
  if (older == all.end())
    older = of([&](const checkpoint::CheckpointInfo& info) { return info.step < saved_step; });
  std::string paths;
  for (auto one = all.begin(); one != older; ++one)
    paths += (paths.empty() ? "" : ", ") + one->path;
  const std::string first =
      fmt::format("no gradient was finite since the checkpoint of step {}: remove {}", saved_step,
                  paths.empty() ? "it" : paths);
  if (older == all.end()) return first + " and begin again";
  return first + fmt::format(" and resume from that of step {}", older->step);
}

// The stored options, with the model's sizes instead of 0.
std::map<std::string, std::string> written_out(const RunState& stored, const std::string& origin) {
  PretrainConfig config;
  config.model = stored_model(stored, origin).written_out();
  auto all = stored.config;
  for (const auto& [key, value] : config_values(config))
    if (is_of_model(key)) all[key] = value;
  return all;
}

}  // namespace

bool untrained_import(const RunState& state) { return !state.imported.empty() && state.step == 0; }

std::string to_json(const RunState& s, const MeshShape& layout) {
  nlohmann::ordered_json json{
      {"kind", "pretrain"},
      {"skein", {{"version", kVersion}, {"revision", kRevision}}},
      {"step", s.step},
      {"samples", s.samples},
      {"optimizer_steps", s.optimizer_steps},
      {"skipped_in_a_row", s.skipped_in_a_row},
      {"reduction_groups", s.reduction_groups},
      {"loss_scale", s.loss_scale},
      {"good_steps", s.good_steps},
      {"best", {{"quality", s.best_quality}, {"step", s.best_step}, {"fruitless", s.fruitless}}},
      {"notes", s.notes.text()},
      {"layout", {{"pipeline", layout.pp}, {"data", layout.dp}, {"tensor", layout.tp}}},
      {"config", s.config},
      {"tokenizer", s.tokenizer.text()}};
  if (!s.data.empty()) json["data"] = json_of(s.data);
  if (s.validation_owed) json["validation_owed"] = true;
  if (!s.spikes.losses.empty()) json["spikes"] = json_of(s.spikes);
  if (!s.imported.empty()) json["imported"] = nlohmann::ordered_json::parse(s.imported);
  return json.dump();
}

RunState run_state(const std::string& text, const std::string& origin) {
  constexpr int kMostDepth = 16;
  // So that what is added to it stays within 64 bits.
  static constexpr int64_t kMostCounted = int64_t{1} << 53;
  try {
    const auto json = parse_strictly<nlohmann::json>(text, origin + "'s metadata", kMostDepth);
    const auto count = [&origin](const nlohmann::json& from, const char* key) {
      const auto value = whole<int64_t>(from.at(key), key, origin + "'s metadata");
      require(value >= -1 && value <= kMostCounted,
              "{}'s metadata: \"{}\" is {}; it must lie in [-1, {}]", origin, key, value,
              kMostCounted);
      return value;
    };
    RunState state{.step = count(json, "step"),
                   .samples = count(json, "samples"),
                   .optimizer_steps = count(json, "optimizer_steps"),
                   .skipped_in_a_row = count(json, "skipped_in_a_row"),
                   .reduction_groups = count(json, "reduction_groups"),
                   .loss_scale = json.value("loss_scale", 1.0),
                   .good_steps = json.contains("good_steps") ? count(json, "good_steps") : 0,
                   .notes = TaskNotes(json.value("notes", "")),
                   .imported = {},
                   .tokenizer = text::StoredTokenizer(json.at("tokenizer").get<std::string>()),
                   .config = json.at("config")};
    if (!state.notes.empty())
      check_json(state.notes.text(), "the notes in " + origin + "'s metadata", kMostDepth);
    if (const auto best = json.find("best"); best != json.end()) {
      state.best_quality = best->at("quality");
      state.best_step = count(*best, "step");
      state.fruitless = count(*best, "fruitless");
    }
    if (const auto data = json.find("data"); data != json.end())
      state.data = data_files(*data, origin);
    state.validation_owed = json.value("validation_owed", false);
    if (const auto spikes = json.find("spikes"); spikes != json.end())
      state.spikes = spike_record(*spikes);
    // 0 where nothing has been summed.
    state.reduction_groups = std::max<int64_t>(1, state.reduction_groups);
    if (const auto imported = json.find("imported"); imported != json.end())
      state.imported = imported->dump();
    return state;
  } catch (const nlohmann::json::exception& error) {
    fail_usage("{} is no checkpoint of a training run: {}", origin, json_fault(error.what()));
  }
}

void restore(LossScale& scale, const RunState& stored) {
  const auto is = [&stored](const char* key, const char* value) {
    const auto found = stored.config.find(key);
    return found != stored.config.end() && found->second == value;
  };
  if (is("train.precision", "f16") && is("train.loss_scale", "0"))
    scale.restore(stored.loss_scale, stored.good_steps);
}

void take_over_groups(int64_t groups, const std::string& origin, int64_t data_ranks,
                      PretrainConfig& config) {
  if (config.parallel.reduction_groups != 0) return;
  if (groups % data_ranks == 0 && config.train.global_batch % groups == 0)
    config.parallel.reduction_groups = groups;
  else
    log::warn(
        "the {} reduction groups of {} do not fit {} data-parallel ranks and "
        "train.global_batch={}: gradients will be summed in another order",
        groups, origin, data_ranks, config.train.global_batch);
}

BatchPlan settled_plan(PretrainConfig& config, const MeshShape& shape, const RunState* stored,
                       const std::string& origin) {
  if (stored) take_over_groups(stored->reduction_groups, origin, shape.dp, config);
  TrainConfig& train = config.train;
  if (train.micro_batch_open)
    train.micro_batch =
        fitting_micro_batch(config.parallel, shape, train.global_batch, train.micro_batch);
  const BatchPlan plan = plan_batch(config.parallel, shape, train.global_batch, train.micro_batch);
  config.parallel.reduction_groups = plan.groups;
  return plan;
}

namespace {

nlohmann::json read_json(const std::string& text) {
  return nlohmann::json::parse(text, nullptr, false);
}

// "" where there is none, or something else.
std::string text_under(const nlohmann::json& json, const char* key) {
  const bool there = json.is_object() && json.contains(key) && json[key].is_string();
  return there ? json[key].get<std::string>() : "";
}

}  // namespace

std::string imported_template(const RunState& state) {
  const nlohmann::json imported = read_json(state.imported);
  if (!imported.is_object() || !imported.contains("texts")) return "";
  const nlohmann::json& texts = imported["texts"];
  const std::string own = text_under(texts, "chat_template.jinja");
  return !own.empty()
             ? own
             : text_under(read_json(text_under(texts, "tokenizer_config.json")), "chat_template");
}

std::string no_tokenizer(const RunState& state, const std::string& origin) {
  const nlohmann::json imported = read_json(state.imported);
  const std::string source = text_under(imported, "source"),
                    fault = text_under(imported, "tokenizer_fault");
  if (source.empty())
    return fmt::format(
        "{} was trained on token files that named no tokenizer, so no text can be encoded for it; "
        "name theirs with data.tokenizer in training",
        origin);
  return fmt::format(
      "{} has no tokenizer, so no text can be encoded for it: that of {} was not imported ({}); "
      "import it again with a tokenizer that is read: `skein-convert --tokenizer=FILE {} FOLDER`",
      origin, source, fault.empty() ? "none was given" : fault, source);
}

std::string restart_advice(const std::string& checkpoints, int64_t saved_step, int64_t good_step,
                           Group& world) {
  if (saved_step < 0) return "the run has no checkpoint yet: begin again";
  if (saved_step == good_step)
    return fmt::format("the checkpoint of step {} is untouched: resume from it", saved_step);
  return checkpoint::from_root(
      world, [&] { return advice_to_remove(checkpoints, saved_step, good_step); });
}

std::map<std::string, std::string> config_values(const PretrainConfig& config) {
  PretrainConfig copy = config;
  copy.train.precision = config.precision();
  return bound_values([&](Options& own) { bind(own, copy); });
}

std::string compare_with_stored(const RunState& stored, const PretrainConfig& config,
                                const text::StoredTokenizer& tokenizer, const std::string& origin) {
  std::string model, other;
  PretrainConfig now = config;
  now.model = now.model.written_out();
  const auto then = written_out(stored, origin), defaults = config_values({});
  for (const auto& [key, value] : config_values(now)) {
    const auto found = then.find(key);
    // An import knows its model only.
    if (found == then.end() && !stored.imported.empty()) continue;
    // Options that were not known then did what their defaults do.
    const std::string before = found == then.end() ? defaults.at(key) : found->second;
    if (before == value || key.starts_with("run.") || key.starts_with("checkpoint.")) continue;
    std::string& list = option_of(key) == OptionOf::model ? model : other;
    list += fmt::format("\n  {}: {} -> {}", key, before, value);
  }
  require(
      model.empty(),
      "{} holds another model:{}\nGive the same model options, or another run.dir to begin anew.",
      origin, model);
  require(stored.tokenizer == tokenizer,
          "{} was trained with another tokenizer than that of data.train; use stores made with its "
          "tokenizer, or another run.dir to begin anew",
          origin);
  return other;
}

void tell_changes(const std::string& changes) {
  if (!changes.empty()) log::info("options that changed since then:{}", changes);
}

}  // namespace skein::train
