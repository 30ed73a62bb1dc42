#include "skein/generate/generator.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <nlohmann/json.hpp>

#include "command.h"
#include "skein/checkpoint/agree.h"
#include "skein/core/log.h"
#include "skein/text/tokenizer.h"

namespace skein {
namespace {

using Texts = std::vector<std::string>;
using Json = nlohmann::ordered_json;

enum class Format { text, jsonl };

struct Command {
  std::string checkpoint, input, output;
  Format format = Format::text;
  GenerateConfig generate;
  ParallelConfig parallel;
};

void bind(Options& options, Command& c) {
  options.add("checkpoint.path", c.checkpoint, "run folder (its newest good checkpoint) or checkpoint");
  options.add("generate.input", c.input, "file of prompts, one a line, instead of ARGUMENTs; - for stdin");
  options.add("generate.output", c.output, "file for the result instead of stdout");
  options.add_choice("generate.format", c.format, {{"text", Format::text}, {"jsonl", Format::jsonl}},
                     "of input and output; jsonl: {\"prompt\": ...} a line");
  bind(options, c.generate);
  bind(options, c.parallel);
}

std::string prompt_of(const std::string& line, Format format, const std::string& path, int number) {
  if (format == Format::text) return line;
  const auto json = Json::parse(line, nullptr, false);
  require(json.is_object() && json.contains("prompt") && json["prompt"].is_string(),
          "{}:{}: a line of generate.format=jsonl is an object with a \"prompt\" text", path, number);
  return json["prompt"];
}

Texts read_prompts(const Command& command) {
  std::ifstream file;
  if (command.input != "-") {
    file.open(command.input);
    require(file.is_open(), "generate.input={} cannot be opened", command.input);
  }
  std::istream& in = command.input == "-" ? std::cin : file;
  Texts prompts;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) prompts.push_back(prompt_of(line, command.format, command.input, number));
  }
  require(!prompts.empty(), "generate.input={} holds no prompt", command.input);
  return prompts;
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

// Any bytes, which JSON's text could not hold.
std::string packed_texts(const Texts& texts) {
  const auto bytes = nlohmann::json::to_cbor(texts);
  return {bytes.begin(), bytes.end()};
}

// Bytes that are no UTF-8 become U+FFFD: a model may stop inside of a character.
std::string result_text(const Command& command, const std::string& prompt, const std::string& made, const Tokens& tokens) {
  if (command.format == Format::text) return prompt + made + "\n---\n";
  return Json{{"prompt", prompt}, {"completion", made}, {"tokens", tokens}}.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

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

void generate(const Command& command, const Texts& texts, const Source& source, Group& world) {
  require(!source.tokenizer.empty(), "{} was trained on token files that named no tokenizer, so it cannot read or write text",
          source.info.path);
  const auto tokenizer = tokenizer_from_json(source.tokenizer);
  std::vector<Tokens> prompts;
  for (const std::string& text : texts) prompts.push_back(tokenizer->encode(text));
  Mesh mesh(world, mesh_shape(command.parallel, world.size()));
  LocalModel local(source.model, command.parallel, mesh, precision_on(command.parallel.device, command.generate.precision));
  Generator generator(source.model, local, mesh, command.generate, tokenizer->end_of_text(), tokenizer->vocab_size());
  load_weights(source, local, mesh);
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Generated> made = generator.run(prompts, {}, [&](size_t finished, size_t of) {
    if (finished < of) log::info("{} of {} prompts finished", finished, of);
  });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::string text;
  size_t tokens = 0;
  for (size_t i = 0; i < made.size(); ++i) {
    text += result_text(command, texts[i], tokenizer->decode(made[i].tokens), made[i].tokens);
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
  const std::string shared = from_root(*world, [&] {
    check_output(command.output);
    return packed_texts(command.input.empty() ? options.words() : read_prompts(command));
  });
  generate(command, nlohmann::json::from_cbor(shared).get<Texts>(), source, *world);
  return 0;
}

}  // namespace skein
