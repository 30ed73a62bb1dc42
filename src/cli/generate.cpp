#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <unistd.h>

#include "skein/checkpoint/agree.h"
#include "skein/checkpoint/parameters.h"
#include "skein/core/files/result_file.h"
#include "skein/core/json.h"
#include "skein/core/log.h"
#include "skein/generate/generator.h"
#include "skein/generate/prompts.h"
#include "skein/rlhf/rewards/answers.h"
#include "skein/rlhf/rewards/best_of.h"
#include "skein/train/tasks/chat_data.h"
#include "skein/train/trained_model.h"

#include "command.h"

namespace skein {
namespace {

using Json = nlohmann::ordered_json;

struct Command {
  std::string checkpoint, input, output;
  PromptFormat format = PromptFormat::text;
  bool chat = false;
  ChatDataConfig records;
  std::string system;
  GenerateConfig generate;
  AnswersConfig answers;
  ParallelConfig parallel;
};

void bind(Options& options, Command& c) {
  options.add("checkpoint.path", c.checkpoint,
              "run folder (its best weights, else its newest good checkpoint) or checkpoint");
  options.add("generate.input", c.input,
              "file of prompts, one a line, instead of ARGUMENTs; - for stdin");
  options.add("generate.output", c.output, "file for the result instead of stdout");
  options.add_choice("generate.format", c.format,
                     {{"text", PromptFormat::text}, {"jsonl", PromptFormat::jsonl}},
                     "of input and output; jsonl: {\"prompt\": ...} a line");
  options.add("generate.chat", c.chat,
              "a prompt is the user's turn of a conversation, which the model answers; jsonl: also "
              "whole conversations, docs/sft.md");
  options.add("generate.template", c.records.form,
              "chat template: none, plain, chatml, llama2, llama3, or a JSON file; empty: the "
              "checkpoint's");
  options.add("generate.system", c.system,
              "of conversations without one, the system's turn; empty: none");
  bind_records(options, c.records);
  bind(options, c.generate);
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

// How prompts become tokens, and tokens text.
class Writer {
 public:
  Writer(const Command& command, const TrainedModel& source)
      : command_(command), tokenizer_(source.state.tokenizer), source_(source) {
    const std::string& named = command.records.form;
    require(command.chat || (named.empty() && command.system.empty()),
            "generate.template and generate.system are for conversations; give generate.chat too");
    if (!command.chat) return;
    require(!chat_template_in(source.state.notes).empty() || !named.empty(),
            "{} knows no chat template, since it was not tuned on conversations; `skein sft` does "
            "that, generate.template names one",
            source.info.path);
    form_ = chat_template(command.records, *tokenizer_, source.state.notes);
    const bool alone =
        command.records.instructions ? true : instruction_notes(source.state.notes).alone;
    headings_ = alone && conversations({}).instructions == InstructionForm::alpaca;
  }

  // How files of conversations are read for this model.
  ConversationsConfig conversations(const std::vector<std::string>& files) const {
    return conversations_config(command_.records, *form_, files, source_.state.notes);
  }

  // The turns that the model is given.
  Turns given(const Turns& turns) const {
    Turns all = turns;
    if (!form_) return all;
    if (headings_ && all.size() == 1 && !has_headings(all.front().content))
      all.front().content = instruction_turn(all.front().content, "", InstructionForm::alpaca);
    if (!command_.system.empty() && all.front().role != "system")
      all.insert(all.begin(), {"system", command_.system});
    return all;
  }
  Tokens prompt(const Turns& given) const {
    return form_ ? form_->prompt(given) : tokenizer_->encode(given.front().content);
  }
  std::string text(const Tokens& tokens) const {
    return form_ ? form_->answer_text(tokens) : tokenizer_->decode(tokens);
  }
  int32_t end() const { return form_ ? form_->end() : tokenizer_->end_of_text(); }
  int64_t vocabulary() const { return tokenizer_->vocab_size(); }
  bool chats() const { return form_.has_value(); }
  // A text that is continued is a prompt of no template.
  PolicyText policy() const {
    return {tokenizer_, form_ ? form_->stored() : ChatTemplate("none", *tokenizer_).stored()};
  }

 private:
  const Command& command_;
  StoredTokenizer tokenizer_;
  const TrainedModel& source_;
  std::optional<ChatTemplate> form_;
  bool headings_ = false;  // a prompt that stands for itself is an instruction
};

// The answers to all questions, `each` to one, those of one together.
struct Results {
  const std::vector<Question>& questions;
  const std::vector<Turns>& given;
  const std::vector<Generated>& answers;
  std::vector<std::string> texts;
  AnswerScores scores;
  size_t each = 1;

  size_t question_of(size_t answer) const { return answer / each; }
};

// Bytes that are no UTF-8 become U+FFFD in JSON: a model may stop inside of a character.
std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json listed(const Turns& turns) {
  Json list = Json::array();
  for (const auto& [role, content] : turns) list.push_back({{"role", role}, {"content", content}});
  return list;
}

// What was given, as data for tuning has it.
Json prompt_of(const Turns& given) {
  return given.size() == 1 ? Json(given.front().content) : listed(given);
}

Json record_of(const Results& all, size_t answer) {
  const Turns& turns = all.questions[all.question_of(answer)].turns;
  const bool scored = !all.scores.sums.empty();
  Json json;
  if (scored)
    json["prompt"] = prompt_of(all.given[all.question_of(answer)]);
  else if (turns.size() == 1)
    json["prompt"] = turns.front().content;
  else
    json["messages"] = listed(turns);
  json["completion"] = all.texts[answer];
  json["tokens"] = all.answers[answer].tokens;
  if (!scored) return json;
  json["score"] = all.scores.sums[answer];
  for (const auto& [label, scores] : all.scores.sources) json["scores"][label] = scores[answer];
  return json;
}

std::string result_of(const Command& command, const Writer& writer, const Results& all,
                      size_t answer) {
  if (command.format == PromptFormat::jsonl) return line_of(record_of(all, answer));
  return (writer.chats() ? "" : all.questions[all.question_of(answer)].turns.front().content) +
         all.texts[answer] + "\n---\n";
}

// A record of preferences (docs/reward.md); "" where all answers read the same.
std::string ranked_of(const Results& all, size_t question) {
  const size_t first = question * all.each;
  const RankedAnswers ranked =
      ranked_answers(std::span(all.texts).subspan(first, all.each), all.scores.of(first, all.each));
  if (ranked.order.size() < 2) return "";
  Json json{{"prompt", prompt_of(all.given[question])},
            {"answers", Json::array()},
            {"ranks", ranked.ranks},
            {"scores", Json::array()}};
  for (size_t i : ranked.order) {
    json["answers"].push_back(all.texts[first + i]);
    json["scores"].push_back(all.scores.sums[first + i]);
  }
  return line_of(json);
}

std::string kept_of(const Command& command, const Writer& writer, const Results& all) {
  std::string text;
  size_t alike = 0;
  double best = 0, mean = 0;
  for (size_t question = 0; question < all.questions.size(); ++question) {
    const size_t first = question * all.each;
    const std::string ranked = command.answers.kept == Kept::ranked ? ranked_of(all, question) : "";
    const size_t top =
        all.scores.sums.empty() ? 0 : first + best_of(all.scores.of(first, all.each));
    switch (command.answers.kept) {
      case Kept::ranked:
        text += ranked;
        alike += ranked.empty();
        break;
      case Kept::best: text += result_of(command, writer, all, top); break;
      default:
        for (size_t i = first; i < first + all.each; ++i)
          text += result_of(command, writer, all, i);
    }
    if (!all.scores.sums.empty())
      best += all.scores.sums[top] / static_cast<double>(all.questions.size());
  }
  if (alike > 0)
    log::info("{} of {} prompts got one answer only, time and again, and are left out", alike,
              all.questions.size());
  for (double score : all.scores.sums) mean += score / static_cast<double>(all.scores.sums.size());
  if (!all.scores.sums.empty())
    log::info("mean score {:.4f} of all answers, {:.4f} of the best to each prompt", mean, best);
  return text;
}

void write_results(const Command& command, const std::string& text) {
  ResultFile file("generate.output", command.output);
  file.write(text);
  file.finish();
}

std::vector<Question> asked(const Command& command, const Writer& writer,
                            const std::vector<std::string>& words) {
  if (command.input.empty()) return prompts_of(words);
  if (command.chat && command.format == PromptFormat::jsonl)
    return conversations_in(writer.conversations({command.input}));
  return prompts_in(command.input, command.format);
}

std::vector<Answer> answers_to_score(const Results& all, const std::vector<Tokens>& prompts,
                                     int32_t end) {
  std::vector<Answer> made;
  for (size_t i = 0; i < all.answers.size(); ++i) {
    const size_t question = all.question_of(i);
    made.push_back({{prompts[i], all.given[question], all.questions[question].record,
                     static_cast<int64_t>(question)},
                    all.texts[i],
                    all.answers[i].tokens,
                    all.answers[i].ended});
    if (all.answers[i].ended) made.back().tokens.push_back(end);
  }
  return made;
}

// What scores answers, if anything does; it can score those to all questions.
std::optional<RewardMixture> rewards_for(const Command& command, const Writer& writer,
                                         const std::vector<Question>& questions,
                                         const std::vector<Turns>& given, Mesh& mesh) {
  if (!command.answers.scored()) return std::nullopt;
  std::optional<RewardMixture> rewards(
      make_rewards(command.answers.rewards, writer.policy(), command.parallel,
                   precision_on(command.parallel.device, command.generate.precision),
                   command.generate.batch, mesh));
  for (size_t i = 0; i < questions.size(); ++i)
    rewards->check_prompt({{}, given[i], questions[i].record, static_cast<int64_t>(i)});
  return rewards;
}

void tell_full(const std::vector<Generated>& made, int64_t asked, int64_t context) {
  const auto full = std::count_if(made.begin(), made.end(), [&](const Generated& one) {
    return !one.ended && static_cast<int64_t>(one.tokens.size()) < asked;
  });
  if (full > 0)
    log::warn(
        "{} of {} answers stop before generate.max_tokens={}, for with its prompt each fills the "
        "model's context of {} tokens",
        full, made.size(), asked, context);
}

void generate(const Command& command, const std::vector<std::string>& words,
              const TrainedModel& source, Group& world) {
  require_tokenizer(source);
  const Writer writer(command, source);
  const std::vector<Question> questions = unpacked(from_root(world, [&] {
    check_output(command.output);
    return packed(asked(command, writer, words));
  }));
  const auto each = static_cast<size_t>(command.answers.each);
  std::vector<Turns> given;
  std::vector<Tokens> prompts;
  for (const Question& one : questions) {
    given.push_back(writer.given(one.turns));
    prompts.insert(prompts.end(), each, writer.prompt(given.back()));
  }
  Mesh mesh(world, mesh_shape(command.parallel, world.size()));
  LocalModel local(source.model, command.parallel, mesh,
                   precision_on(command.parallel.device, command.generate.precision));
  Generator generator(source.model, local, mesh, command.generate, writer.end(),
                      writer.vocabulary());
  load_weights(source.info, local.parameters(), mesh.world());
  std::optional<RewardMixture> rewards = rewards_for(command, writer, questions, given, mesh);
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Generated> made =
      generator.run(prompts, answer_draws(questions.size(), each), [&](size_t finished, size_t of) {
        if (finished < of)
          log::info("{} of {} {} finished", finished, of, each == 1 ? "prompts" : "answers");
      });
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Results results{questions, given, made, {}, {}, each};
  size_t tokens = 0;
  for (const Generated& one : made) {
    results.texts.push_back(writer.text(one.tokens));
    tokens += one.tokens.size();
  }
  if (rewards)
    results.scores = scores_of(*rewards, answers_to_score(results, prompts, writer.end()));
  const std::string text = kept_of(command, writer, results);
  agree(world, [&] {
    if (world.rank() == 0) write_results(command, text);
  });
  tell_full(made, command.generate.max_tokens, source.model.context);
  log::info("{} prompts{}, {} new tokens in {:.1f} s, {:.0f} tokens/s, from {}", questions.size(),
            each == 1 ? "" : fmt::format(", {} answers", made.size()), tokens, seconds,
            static_cast<double>(tokens) / std::max(seconds, 1e-9), source.info.path);
}

}  // namespace

int generate_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  Command command;
  Options options("skein generate",
                  "Continues prompts with a trained model. Each ARGUMENT is one prompt.");
  bind(options, command);
  if (!parse(options, args, true, [&] {
        settle_precision(options, "generate.precision", command.generate.precision,
                         command.parallel.device);
      }))
    return 0;
  require(options.words().empty() != command.input.empty(),
          "give prompts as arguments or with generate.input; {}",
          command.input.empty() ? "none are given" : "both are given");
  check(command.generate);
  settle(command.answers, command.format == PromptFormat::jsonl, command.generate.sampling);
  world = begin_world();
  const TrainedModel source = open_trained_model(command.checkpoint, *world);
  generate(command, options.words(), source, *world);
  return 0;
}

}  // namespace skein
