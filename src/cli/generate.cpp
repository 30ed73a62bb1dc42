#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <unistd.h>

#include "skein/checkpoint/agree.h"
#include "skein/checkpoint/parameters.h"
#include "skein/core/clock.h"
#include "skein/core/files/result_file.h"
#include "skein/core/log.h"
#include "skein/generate/answer_text.h"
#include "skein/generate/generator.h"
#include "skein/generate/prompts.h"
#include "skein/rlhf/rewards/best_of.h"
#include "skein/rlhf/rewards/completions.h"
#include "skein/train/chats/prompt_form.h"
#include "skein/train/trained_model.h"

#include "command.h"

namespace skein::cli {
namespace {

struct GenerateCommand {
  std::string checkpoint, input, output, stop;
  generate::PromptFormat format = generate::PromptFormat::text;
  train::PromptFormConfig form;
  generate::GenerateConfig generate;
  rlhf::rewards::AnswersConfig answers;
  ParallelConfig parallel;
};

void bind(Options& options, GenerateCommand& c) {
  options.add("checkpoint.path", c.checkpoint,
              "run folder (its best weights, else its newest good checkpoint) or checkpoint");
  options.add("generate.input", c.input,
              "file of prompts, one a line, instead of ARGUMENTs; - for stdin");
  options.add("generate.output", c.output, "file for the result instead of stdout");
  options.add_choice(
      "generate.format", c.format,
      {{"text", generate::PromptFormat::text}, {"jsonl", generate::PromptFormat::jsonl}},
      "of input and output; jsonl: {\"prompt\": ...} a line");
  bind(options, c.form);
  generate::bind_stops(options, c.stop);
  bind(options, c.generate);
  bind(options, c.generate.beam);
  bind(options, c.answers);
  bind(options, c.parallel);
}

// Before the work, so that its result is not lost; the file stays as it is until then.
void check_output(const std::string& path) {
  if (path.empty()) return;
  const std::filesystem::path file(path),
      folder = file.has_parent_path() ? file.parent_path() : ".";
  std::error_code ignored;
  const auto& target = std::filesystem::exists(file, ignored) ? file : folder;
  require(!std::filesystem::is_directory(file, ignored) && ::access(target.c_str(), W_OK) == 0,
          "generate.output={} cannot be written; give a file in a folder that exists and may be "
          "written",
          path);
}

std::vector<generate::Question> asked(const GenerateCommand& command, const train::PromptForm& form,
                                      const std::vector<std::string>& words) {
  if (command.input.empty()) return generate::prompts_of(words);
  if (form.chats() && command.format == generate::PromptFormat::jsonl)
    return generate::conversations_in(form.conversations({command.input}));
  return prompts_in(command.input, command.format);
}

// What scores answers, if anything does; it can score those to all questions.
std::optional<rlhf::rewards::RewardMixture> rewards_for(
    const GenerateCommand& command, const rlhf::rewards::PolicyText& policy,
    const rlhf::rewards::Completions& asked, const std::vector<generate::Tokens>& prompts,
    Mesh& mesh) {
  if (!command.answers.scored()) return std::nullopt;
  std::optional<rlhf::rewards::RewardMixture> rewards(
      make_rewards(command.answers.rewards, policy, command.parallel,
                   precision_on(command.parallel.device, command.generate.precision),
                   command.generate.batch, mesh));
  for (size_t i = 0; i < asked.questions.size(); ++i)
    rewards->check_prompt({prompts[i * command.answers.each], asked.given[i],
                           asked.questions[i].record, static_cast<int64_t>(i)});
  return rewards;
}

void tell_full(const std::vector<generate::Continuation>& made, int64_t asked, int64_t context,
               bool continued) {
  const auto full = std::ranges::count_if(made, [&](const generate::Continuation& one) {
    return !one.ended && !one.stopped && std::ssize(one.tokens) < asked;
  });
  if (full > 0)
    log::warn(
        "{} of {} answers stop before generate.max_tokens={}, for {} fills the model's context of "
        "{} tokens",
        full, made.size(), asked, continued ? "with its prompt each" : "each", context);
}

void tell_dry(const std::vector<generate::Continuation>& made, const generate::BeamConfig& beam) {
  const auto dry =
      std::ranges::count_if(made, [](const generate::Continuation& one) { return one.stopped; });
  if (beam.size > 0 && dry > 0)
    log::warn(
        "{} of {} answers stop where no token may follow; a larger beam.no_repeat_ngram than {} or "
        "a smaller beam.min_tokens than {} leaves some",
        dry, made.size(), beam.no_repeat_ngram, beam.min_tokens);
}

// Answers to all questions, whose prompts stand there as often as answers are sampled.
void make_answers(const GenerateCommand& command, const std::vector<generate::Tokens>& prompts,
                  generate::Generator& generator, rlhf::rewards::Completions& all) {
  const auto each = static_cast<size_t>(command.answers.each);
  const auto progress = [&](size_t finished, size_t of) {
    if (finished < of)
      log::info("{} of {} {} finished", finished, of, each == 1 ? "prompts" : "answers");
  };
  all.searched = command.generate.beam.size > 0;
  if (all.searched) {
    for (auto& found : generator.search(prompts, progress)) all.add(std::move(found));
    return;
  }
  const auto made =
      generator.run(prompts, rlhf::rewards::answer_draws(all.questions.size(), each), progress);
  for (auto at = made.begin(); at != made.end(); at += command.answers.each)
    all.add({at, at + command.answers.each});
}

void generate(const GenerateCommand& command, const std::vector<std::string>& words,
              const train::TrainedModel& source, Group& world) {
  require_tokenizer(source);
  const train::PromptForm form(command.form, source);
  rlhf::rewards::Completions all;
  all.questions = generate::unpacked(checkpoint::from_root(world, [&] {
    check_output(command.output);
    return packed(asked(command, form, words));
  }));
  std::vector<generate::Tokens> prompts;
  for (const generate::Question& one : all.questions) {
    all.given.push_back(form.given(one.turns));
    prompts.insert(prompts.end(), static_cast<size_t>(command.answers.each),
                   form.prompt(all.given.back()));
  }
  Mesh mesh(world, mesh_shape(command.parallel, world.size()));
  LocalModel local(source.model, command.parallel, mesh,
                   precision_on(command.parallel.device, command.generate.precision));
  generate::GenerateConfig config = command.generate;
  config.start = form.start();
  const generate::StopTexts stops(generate::stops_in(command.stop));
  const auto text_of = [&form](const generate::Tokens& tokens) { return form.text(tokens); };
  if (stops.any())
    config.goes_on = [&](const generate::Tokens& answer) { return !stops.ends(answer, text_of); };
  generate::Generator generator(source.model, local, mesh, config, form.end(),
                                form.tokenizer().vocab_size());
  load_weights(source.info, local.parameters(), mesh.world());
  std::optional<rlhf::rewards::RewardMixture> rewards = rewards_for(
      command,
      {source.state.tokenizer, form.chat_template(), config.max_tokens, source.model.context}, all,
      prompts, mesh);
  const double start = steady_seconds();
  make_answers(command, prompts, generator, all);
  const double seconds = steady_seconds() - start;
  size_t tokens = 0;
  for (const generate::Continuation& one : all.answers) {
    all.texts.push_back(form.text(one.tokens));
    if (one.stopped) all.texts.back() = stops.cut(all.texts.back()).value_or(all.texts.back());
    tokens += one.tokens.size();
  }
  if (rewards)
    all.scores = scores_of(*rewards, answers_to_score(all, prompts, form.end(), text_of));
  const std::string text = kept_text(all, command.answers.kept, command.format, form.continues());
  checkpoint::agree(world, [&] {
    if (world.rank() == 0) write_result("generate.output", command.output, text);
  });
  tell_full(all.answers, command.generate.max_tokens, source.model.context, form.continues());
  tell_dry(all.answers, command.generate.beam);
  log::info(
      "{} prompts{}, {} new tokens in {:.1f} s, {:.0f} tokens/s, from {}", all.questions.size(),
      all.answers.size() == all.questions.size() ? ""
                                                 : fmt::format(", {} answers", all.answers.size()),
      tokens, seconds, static_cast<double>(tokens) / std::max(seconds, 1e-9), source.info.path);
}

// What the reading of records of conversations says, where there are none. A file may be that of
// the run that has learnt them.
void refuse_records(const Options& options, const GenerateCommand& c) {
  const bool reads = !c.input.empty() && c.format == generate::PromptFormat::jsonl;
  const auto asked = [&](const char* key) {
    return options.changed(key) && !options.from_file(key);
  };
  for (const char* key : {"chat.kind", "chat.prompt", "chat.answer"})
    require(!asked(key) || (c.form.chat && reads),
            "{} is for records of conversations; give generate.chat, generate.format=jsonl and "
            "generate.input too, or leave it out",
            key);
  require(!asked("chat.instructions") || c.form.chat,
          "chat.instructions is for conversations; give generate.chat too, or leave it out");
}

}  // namespace

int generate_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  GenerateCommand command;
  Options options("skein generate",
                  "Continues prompts with a trained model, or maps them to answers with an "
                  "encoder-decoder. Each ARGUMENT is one prompt.");
  bind(options, command);
  if (!parse(options, args, true, [&] {
        settle_precision(options, "generate.precision", command.generate.precision,
                         command.parallel.device);
      }))
    return 0;
  require(options.words().empty() != command.input.empty(),
          "give prompts as arguments or with generate.input; {}",
          command.input.empty() ? "none are given" : "both are given");
  require(command.stop.empty() || command.generate.beam.size == 0,
          "generate.stop is for answers that are drawn, and beam.size={} searches them; leave one "
          "of them out",
          command.generate.beam.size);
  require(!command.generate.log_probabilities || command.format == generate::PromptFormat::jsonl,
          "generate.logprobs writes numbers, which generate.format=text has no place for; take "
          "generate.format=jsonl");
  refuse_records(options, command);
  check(command.generate.beam, options);
  check(command.generate);
  check(command.answers, command.generate.beam);
  settle(command.answers, command.format == generate::PromptFormat::jsonl,
         command.generate.sampling);
  world = begin_world();
  const train::TrainedModel source =
      train::open_trained_model(command.checkpoint, command.parallel.timeout, *world);
  generate(command, options.words(), source, *world);
  return 0;
}

}  // namespace skein::cli
