#include "command_line.h"

#include <algorithm>
#include <boost/program_options.hpp>

#include "skein/core/error.h"
#include "skein/core/strings.h"

#include "option_values.h"

namespace skein {
namespace {

namespace po = boost::program_options;
using Tokens = std::vector<std::string>;

po::option one_option(const std::string& key, const std::string& text, const std::string& token) {
  po::option made;
  made.string_key = key;
  made.value = {text};
  made.original_tokens = {token};
  return made;
}

bool is_truth(const std::string& key, const std::vector<OptionEntry>& entries) {
  return std::ranges::any_of(entries, [&](const auto& e) { return e.truth && e.key == key; });
}

constexpr ShortFlag kShortFlags[] = {{"--profile", "run.profile", "3"},
                                     {"--device", "parallel.device", ""},
                                     {"--oracle", "oracle.language", "built-in"},
                                     {"--dump", "oracle.dump", "responses.tsv"},
                                     {"--to", "convert.to", ""},
                                     {"--to-context", "convert.to_context", ""},
                                     {"--dtype", "convert.dtype", ""},
                                     {"--tokenizer", "convert.tokenizer", ""},
                                     {"--average", "convert.average", "true"},
                                     {"--dry-run", "convert.dry_run", "true"},
                                     {"--dry-run", "run.dry_run", "true"},
                                     {"--verify", "convert.verify", "true"},
                                     {"--allow-missing", "convert.allow_missing", "true"},
                                     {"--allow-unexpected", "convert.allow_unexpected", "true"}};

}  // namespace

std::vector<ShortFlag> short_flags(const std::vector<OptionEntry>& entries) {
  std::vector<ShortFlag> known;
  for (const ShortFlag& one : kShortFlags)
    if (std::ranges::any_of(entries, [&](const auto& e) { return e.key == one.key; }))
      known.push_back(one);
  return known;
}

namespace {

std::vector<po::option> read_short(Tokens& args, const std::vector<OptionEntry>& entries) {
  const std::string token = args.front(), name = token.substr(0, token.find('='));
  for (const ShortFlag& one : short_flags(entries)) {
    if (name != one.flag) continue;
    args.erase(args.begin());
    if (name != token) return {one_option(one.key, token.substr(name.size() + 1), token)};
    if (*one.alone) return {one_option(one.key, one.alone, token)};
    require(!args.empty(), "{} needs a value; write {}=VALUE", token, token);
    const std::string value = args.front();
    args.erase(args.begin());
    return {one_option(one.key, value, token)};
  }
  return {};
}

// Boost refuses `--key=` and gives a bare flag the word that follows, whatever it is: these are
// read here.
std::vector<po::option> read_special(Tokens& args, const std::vector<OptionEntry>& entries) {
  if (const auto found = read_short(args, entries); !found.empty()) return found;
  const std::string token = args.front();
  if (token != "-h" && (!token.starts_with("--") || token.size() == 2)) return {};
  const size_t equals = token.find('=');
  const std::string key = token == "-h" ? "help" : token.substr(2, equals - 2);
  require(!key.empty(), "'{}' names no option; options look like --section.key=value", token);
  const bool truth = is_truth(key, entries);
  bool ignored = false;
  std::string text = "true";
  if (equals != std::string::npos) {
    if (equals + 1 < token.size()) return {};
    text = "";
  } else if (truth && args.size() > 1 && read_value(args[1], ignored)) {
    text = args[1];
    args.erase(args.begin());
  } else if (!truth && key != "help" && key != "print-config") {
    return {};
  }
  args.erase(args.begin());
  return {one_option(key, text, token)};
}

po::parsed_options run_parser(const Tokens& args, const std::vector<OptionEntry>& entries,
                              const po::options_description& described,
                              const std::string& program) {
  namespace style = po::command_line_style;
  try {
    return po::command_line_parser(args)
        .options(described)
        .style(style::allow_long | style::long_allow_adjacent | style::long_allow_next)
        .extra_style_parser([&](Tokens& tokens) { return read_special(tokens, entries); })
        .allow_unregistered()
        .run();
  } catch (const po::error& error) {
    fail_usage("{}; options look like --section.key=value, and `{} --help` lists them",
               error.what(), program);
  }
}

void take_flag(CommandLine& line, const po::option& option) {
  const std::string& text = option.value.at(0);
  const std::string token = option.original_tokens.empty() ? "" : option.original_tokens.front();
  require(!text.starts_with("--") || token.find('=') != std::string::npos,
          "{} is followed by '{}' instead of its value; write {}=VALUE", token, text, token);
  if (option.string_key == "help") {
    line.help = true;
    line.form = help_form(token);
  } else if (option.string_key == "print-config") {
    line.print_config = true;
  } else if (option.string_key == "config") {
    line.configs.push_back(text);
  } else {
    line.flags.emplace_back(option.string_key, text);
  }
}

// A program has a version, its commands have none of their own.
void refuse_version(const po::option& option, const std::string& program) {
  require(!option.unregistered || option.string_key != "version",
          "`{}` has no option --version; `{} --version` writes what this build is made of", program,
          program.substr(0, program.find(' ')));
}

}  // namespace

CommandLine read_command_line(const Tokens& args, const std::vector<OptionEntry>& entries,
                              const std::string& program) {
  po::options_description described;
  for (const OptionEntry& entry : entries)
    described.add_options()(entry.key.c_str(), po::value<std::string>());
  for (const char* own : {"config", "print-config", "help"})
    described.add_options()(own, po::value<std::string>());
  CommandLine line;
  for (const po::option& option : run_parser(args, entries, described, program).options) {
    refuse_version(option, program);
    if (option.unregistered)
      fail_usage("unknown option '{}' (flag --{}){}; `{} --help` lists all", option.string_key,
                 option.string_key, key_suggestion(option.string_key, entries), program);
    if (option.string_key.empty()) {
      line.words.push_back(option.value.at(0));
    } else {
      take_flag(line, option);
    }
  }
  return line;
}

std::string suggestion(const std::string& word, const Tokens& known) {
  const std::string near = nearest(word, known);
  return near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
}

std::string key_suggestion(const std::string& key, const std::vector<OptionEntry>& entries) {
  Tokens keys;
  for (const OptionEntry& entry : entries) keys.push_back(entry.key);
  for (const char* own : {"config", "print-config", "help"}) keys.emplace_back(own);
  const std::string near = nearest(key, keys);
  const bool is_key = near.find('.') != std::string::npos;  // no section: a flag only
  if (!near.empty()) return fmt::format("; did you mean '{}{}'?", is_key ? "" : "--", near);
  for (const OptionEntry& entry : entries)
    if (entry.name() == key || key.ends_with("." + entry.name()))
      return fmt::format("; did you mean '{}'?", entry.key);
  return "";
}

}  // namespace skein
