#include <algorithm>
#include <cstdio>
#include <functional>
#include <iostream>
#include <unistd.h>

#include "skein/checkpoint/agree.h"
#include "skein/checkpoint/parameters.h"
#include "skein/core/log.h"
#include "skein/core/strings.h"
#include "skein/generate/answer_text.h"
#include "skein/generate/generator.h"
#include "skein/train/chats/conversation.h"
#include "skein/train/trained_model.h"

#include "command.h"

namespace skein::cli {
namespace {

constexpr int64_t kLongestAnswer = 256;  // where nobody says otherwise

struct ChatCommand {
  std::string checkpoint, stop;
  train::PromptFormConfig form{.chat = true};
  int64_t max_tokens = 0;
  generate::GenerateConfig generate{.max_tokens = kLongestAnswer};
  ParallelConfig parallel;
};

void bind(Options& options, ChatCommand& c) {
  options.add("checkpoint.path", c.checkpoint,
              "run folder (its best weights, else its newest good checkpoint) or checkpoint");
  bind_conversation(options, c.form);
  options.add("generate.max_tokens", c.max_tokens,
              "most tokens of an answer; 0: half of the model's context, at most 256", "tokens");
  generate::bind_stops(options, c.stop);
  bind_precision(options, "generate.precision", c.generate.precision,
                 "of weights, activations and cache");
  bind(options, c.generate.sampling);
  bind(options, c.parallel);
}

constexpr const char* kHelp =
    "Write a line, and the model answers it. /new forgets what was said, /help says this, /exit or "
    "the end of input ends.\n";

void show(const std::string& text, const Group& world) {
  if (world.rank() > 0) return;
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

// The next line that was written, on all ranks; "/exit" at the end.
std::string next_line(Group& world, bool shows) {
  std::string line = "/exit";
  if (world.rank() == 0) {
    if (shows) show("> ", world);
    if (!std::getline(std::cin, line)) line = "/exit";
    if (line.ends_with('\r')) line.pop_back();
  }
  return world.broadcast(line, 0);
}

// What it is about where it is no turn: shown, or done. True where it is one.
bool is_turn(const std::string& line, train::Conversation& conversation, const Group& world) {
  if (line == "/new") conversation.forget();
  if (line == "/help") show(kHelp, world);
  if (line.starts_with("/") && line != "/new" && line != "/help")
    log::warn("{} is no command here: /new, /help, /exit", excerpt(line));
  return !line.empty() && !line.starts_with("/");
}

// Shows the answer to a prompt while it grows, and returns it.
using AnswerTo = std::function<std::string(const std::vector<int32_t>& prompt)>;

// Until the end of input.
void converse(const train::PromptForm& form, const AnswerTo& answer_to, int64_t most,
              Group& world) {
  const bool terminal = world.rank() == 0 && ::isatty(STDIN_FILENO) != 0;
  if (terminal) show(kHelp, world);
  train::Conversation conversation(form, most);
  // What is a turn is the chat template's to trim.
  for (std::string line; trimmed(line = next_line(world, terminal)) != "/exit";) {
    if (!is_turn(trimmed(line), conversation, world)) continue;
    std::vector<int32_t> prompt;
    const std::string lack = refusal_of([&] { prompt = conversation.ask(line); });
    if (!lack.empty()) {
      log::warn("{}", lack);
      continue;
    }
    if (conversation.forgotten() > 0)
      log::info("the first {} turns are forgotten: the context is full", conversation.forgotten());
    conversation.answer(answer_to(prompt));
  }
}

void chat(const ChatCommand& command, const train::TrainedModel& source, Group& world) {
  require_tokenizer(source);
  const train::PromptForm form(command.form, source);
  const generate::StopTexts stops(generate::stops_in(command.stop));
  const int64_t most = source.model.context - command.generate.max_tokens;
  require(most > 0,
          "generate.max_tokens={} leaves no room in the model's context of {} tokens; make it "
          "smaller",
          command.generate.max_tokens, source.model.context);
  Mesh mesh(world, mesh_shape(command.parallel, world.size()));
  LocalModel local(source.model, command.parallel, mesh,
                   precision_on(command.parallel.device, command.generate.precision));
  generate::GenerateConfig config = command.generate;
  generate::AnswerStream stream(stops);
  config.goes_on = [&](const generate::Tokens& answer) {
    const bool ends = stops.ends(answer, [&](const auto& tokens) { return form.text(tokens); });
    if (!ends) show(stream.next(form.text(answer)), world);
    return !ends;
  };
  generate::Generator generator(source.model, local, mesh, config, form.end(),
                                form.tokenizer().vocab_size());
  load_weights(source.info, local.parameters(), mesh.world());
  uint64_t turn = 0;
  const auto answer_to = [&](const std::vector<int32_t>& prompt) {
    stream = generate::AnswerStream(stops);
    const generate::Continuation made = generator.run({prompt}, {&turn, 1}).front();
    ++turn;
    std::string text = form.text(made.tokens);
    if (made.stopped) text = stops.cut(text).value_or(text);
    show(stream.rest(text) + "\n", world);
    if (!made.ended && !made.stopped)
      log::warn("the answer was cut after {} tokens: generate.max_tokens", made.tokens.size());
    return text;
  };
  converse(form, answer_to, most, world);
}

}  // namespace

int chat_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  ChatCommand command;
  Options options("skein chat",
                  "Talks with a model that was tuned on conversations: a line of standard input is "
                  "a turn, and the answer is written while it is made.");
  bind(options, command);
  if (!parse(options, args, false, [&] {
        settle_precision(options, "generate.precision", command.generate.precision,
                         command.parallel.device);
      }))
    return 0;
  if (command.max_tokens != 0) command.generate.max_tokens = command.max_tokens;
  check(command.generate);
  world = begin_world();
  const train::TrainedModel source =
      train::open_trained_model(command.checkpoint, command.parallel.timeout, *world);
  if (command.max_tokens == 0)
    command.generate.max_tokens = std::clamp<int64_t>(source.model.context / 2, 1, kLongestAnswer);
  chat(command, source, *world);
  return 0;
}

}  // namespace skein::cli
