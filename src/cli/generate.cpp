#include "skein/generate/generator.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>

#include <nlohmann/json.hpp>

#include "command.h"
#include "label_model.h"
#include "prompts.h"
#include "skein/checkpoint/agree.h"
#include "skein/core/log.h"
#include "skein/train/chat_data.h"

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
  ParallelConfig parallel;
};

void bind(Options& options, Command& c) {
  options.add("checkpoint.path", c.checkpoint, "run folder (its best weights, else its newest good checkpoint) or checkpoint");
  options.add("generate.input", c.input, "file of prompts, one a line, instead of ARGUMENTs; - for stdin");
  options.add("generate.output", c.output, "file for the result instead of stdout");
  options.add_choice("generate.format", c.format, {{"text", PromptFormat::text}, {"jsonl", PromptFormat::jsonl}},
                     "of input and output; jsonl: {\"prompt\": ...} a line");
  options.add("generate.chat", c.chat, "a prompt is the user's turn of a conversation, which the model answers; jsonl: also whole conversations, docs/sft.md");
  options.add("generate.template", c.records.form, "chat template: none, plain, chatml, llama2, llama3, or a JSON file; empty: the checkpoint's");
  options.add("generate.system", c.system, "of conversations without one, the system's turn; empty: none");
  bind_records(options, c.records);
  bind(options, c.generate);
  bind(options, c.parallel);
}

// Before the work, so that its result is not lost; the file stays as it is until then.
void check_output(const std::string& path) {
  if (path.empty()) return;
  const std::filesystem::path file(path), folder = file.has_parent_path() ? file.parent_path() : ".";
  std::error_code ignored;
  const auto& target = std::filesystem::exists(file, ignored) ? file : folder;
  require(!std::filesystem::is_directory(file, ignored) && ::access(target.c_str(), W_OK) == 0,
          "generate.output={} cannot be written; give a file in a folder that exists and may be written", path);
}

// How prompts become tokens, and tokens text.
class Writer {
 public:
  Writer(const Command& command, const Source& source) : command_(command), tokenizer_(tokenizer_from_json(source.tokenizer)), notes_(source.notes) {
    const std::string& named = command.records.form;
    require(command.chat || (named.empty() && command.system.empty()), "generate.template and generate.system are for conversations; give generate.chat too");
    if (!command.chat) return;
    require(!chat_template_in(notes_).empty() || !named.empty(), "{} knows no chat template, since it was not tuned on conversations; `skein sft` does that, generate.template names one",
            source.info.path);
    form_ = chat_template(command.records, *tokenizer_, notes_);
    const bool alone = command.records.instructions ? true : instruction_notes(notes_).alone;
    headings_ = alone && conversations({}).instructions == InstructionForm::alpaca;
  }

  // How files of conversations are read for this model.
  ConversationsConfig conversations(const std::vector<std::string>& files) const { return conversations_config(command_.records, *form_, files, notes_); }

  Tokens prompt(const Turns& turns) const {
    if (!form_) return tokenizer_->encode(turns.front().content);
    Turns all = turns;
    if (headings_ && all.size() == 1 && !has_headings(all.front().content)) all.front().content = instruction_turn(all.front().content, "", InstructionForm::alpaca);
    if (!command_.system.empty() && all.front().role != "system") all.insert(all.begin(), {"system", command_.system});
    return form_->prompt(all);
  }
  // Bytes that are no UTF-8 become U+FFFD in JSON: a model may stop inside of a character.
  std::string result(const Turns& turns, const Tokens& tokens) const {
    const std::string made = form_ ? form_->answer_text(tokens) : tokenizer_->decode(tokens);
    if (command_.format == PromptFormat::text) return (form_ ? "" : turns.front().content) + made + "\n---\n";
    Json json;
    if (turns.size() == 1) json["prompt"] = turns.front().content;
    else for (const auto& [role, content] : turns) json["messages"].push_back({{"role", role}, {"content", content}});
    json["completion"] = made;
    json["tokens"] = tokens;
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  int32_t end() const { return form_ ? form_->end() : tokenizer_->end_of_text(); }
  int64_t vocabulary() const { return tokenizer_->vocab_size(); }

 private:
  const Command& command_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::string notes_;
  std::optional<ChatTemplate> form_;
  bool headings_ = false;  // a prompt that stands for itself is an instruction
};

void write_results(const Command& command, const std::string& text) {
  if (command.output.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    if (std::fflush(stdout) != 0) fail("the result cannot be written to stdout");
    return;
  }
  std::ofstream file(command.output, std::ios::binary);
  file << text;
  file.close();
  if (!file) fail("generate.output={} cannot be written", command.output);
}

std::vector<Turns> asked(const Command& command, const Writer& writer, const std::vector<std::string>& words) {
  if (command.input.empty()) return prompts_of(words);
  if (command.chat && command.format == PromptFormat::jsonl) return conversations_in(writer.conversations({command.input}));
  return prompts_in(command.input, command.format);
}

void generate(const Command& command, const std::vector<std::string>& words, const Source& source, Group& world) {
  check_tokenizer(source);
  const Writer writer(command, source);
  const std::vector<Turns> turns = unpacked(from_root(world, [&] {
    check_output(command.output);
    return packed(asked(command, writer, words));
  }));
  std::vector<Tokens> prompts;
  for (const Turns& one : turns) prompts.push_back(writer.prompt(one));
  Mesh mesh(world, mesh_shape(command.parallel, world.size()));
  LocalModel local(source.model, command.parallel, mesh, precision_on(command.parallel.device, command.generate.precision));
  Generator generator(source.model, local, mesh, command.generate, writer.end(), writer.vocabulary());
  load_weights(source, local, mesh);
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Generated> made = generator.run(prompts, {}, [&](size_t finished, size_t of) {
    if (finished < of) log::info("{} of {} prompts finished", finished, of);
  });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::string text;
  size_t tokens = 0;
  for (size_t i = 0; i < made.size(); ++i) {
    text += writer.result(turns[i], made[i].tokens);
    tokens += made[i].tokens.size();
  }
  agree(world, [&] { if (world.rank() == 0) write_results(command, text); });
  log::info("{} prompts, {} new tokens in {:.1f} s, {:.0f} tokens/s, from {}", made.size(), tokens, seconds,
            static_cast<double>(tokens) / std::max(seconds, 1e-9), source.info.path);
}

}  // namespace

int generate_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  Command command;
  Options options("skein generate", "Continues prompts with a trained model. Each ARGUMENT is one prompt.");
  bind(options, command);
  if (!parse(options, args, true, [&] { settle_precision(options, "generate.precision", command.generate.precision, command.parallel.device); })) return 0;
  require(options.words().empty() != command.input.empty(), "give prompts either as arguments or with generate.input, not {}",
          command.input.empty() ? "neither" : "both");
  check(command.generate);
  world = begin_world();
  const Source source = open_source(command.checkpoint, *world);
  generate(command, options.words(), source, *world);
  return 0;
}

}  // namespace skein
