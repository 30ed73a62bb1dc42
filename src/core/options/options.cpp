#include "skein/core/options/options.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/ranges.h>
#include <fstream>
#include <limits>
#include <sstream>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/core/options/ini.h"
#include "skein/core/strings.h"

#include "command_line.h"
#include "environment.h"
#include "known_options.h"
#include "option_table.h"
#include "option_values.h"

namespace skein {
namespace {

template <class T>
std::string text_of(const T& value) {
  return fmt::format("{}", value);
}
template <class T>
std::string text_of(const std::vector<T>& value) {
  return fmt::format("{}", fmt::join(value, ","));
}

// For errors: what a text should have been.
std::string wanted(bool) { return "true or false"; }
template <std::integral T>
std::string wanted(T) {
  return fmt::format(
      "a whole number from {} to {}, like 1000, 1_000, 1k or 1e3, with k, M or G for "
      "thousands, millions or billions",
      std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
}
std::string wanted(double) { return "a number like 0.1 or 3e-4"; }
std::string wanted(const std::string&) { return "text"; }
std::string wanted(const std::vector<std::string>&) {
  return "a list like a,b without empty items";
}
std::string wanted(const std::vector<int64_t>&) { return "a list of whole numbers like 1,2,3"; }
std::string wanted(const std::vector<double>&) { return "a list of numbers like 1,1.5,2e3"; }

// For helps.
std::string takes(bool) { return "true|false"; }
template <class T>
std::string takes(const T&) {
  return "NUMBER";
}
std::string takes(const std::string&) { return "TEXT"; }
template <class T>
std::string takes(const std::vector<T>&) {
  return takes(T()) + ",...";
}

template <class T>
constexpr bool is_list = false;
template <class T>
constexpr bool is_list<std::vector<T>> = true;

template <class T>
OptionEntry entry_for(const std::string& key, T& field, const std::string& help,
                      const std::string& unit) {
  OptionEntry entry{key,           help,           is_list<T> ? "comma-separated" : unit,
                    wanted(field), text_of(field), text_of(field)};
  entry.truth = std::is_same_v<T, bool>;
  entry.takes = takes(field);
  entry.assign = [&field](const std::string& text) -> std::optional<std::string> {
    return read_value(text, field) ? std::optional(text_of(field)) : std::nullopt;
  };
  return entry;
}

std::string file_text(const std::string& path) {
  std::error_code error;
  require(!std::filesystem::is_directory(path, error), "--config {}: it is a directory, not a file",
          path);
  std::ifstream file(path, std::ios::binary);
  require(file.is_open(), "--config {}: {}", path, std::strerror(errno));
  std::ostringstream text;
  text << file.rdbuf();
  require(!text.bad(), "--config {}: it cannot be read: {}", path, std::strerror(errno));
  return text.str();
}

// Of this command, else of any: a file may hold the options of others.
std::string own_or_other_suggestion(const std::string& key,
                                    const std::vector<OptionEntry>& entries) {
  const std::string own = key_suggestion(key, entries);
  return own.empty() ? suggestion(key, known_options()) : own;
}

void refuse_words(const std::vector<std::string>& words, const std::vector<OptionEntry>& entries) {
  if (words.empty()) return;
  const std::string& word = words.front();
  fail_usage("'{}' is no option{}; options look like --section.key=value", word,
             key_suggestion(word.substr(0, word.find('=')), entries));
}

}  // namespace

const OptionEntry* Options::Impl::find(const std::string& key) const {
  const auto found = std::ranges::find_if(entries, [&](const auto& e) { return e.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

void Options::Impl::add(OptionEntry entry) {
  const size_t dot = entry.key.find('.');
  SKEIN_CHECK(dot != std::string::npos && dot > 0 && dot + 1 < entry.key.size());
  SKEIN_CHECK(find(entry.key) == nullptr);
  entries.push_back(std::move(entry));
}

void Options::add_former(const std::string& key, Take take) {
  SKEIN_CHECK(impl_->find(key) == nullptr);
  impl_->former[key] = std::move(take);
}

void Options::set(const std::string& key, const std::string& text, const std::string& origin) {
  if (const auto former = impl_->former.find(key); former != impl_->former.end()) {
    int64_t value = 0;
    require(read_value(text, value), "{} = '{}' ({}): {} was expected", key, excerpt(text), origin,
            wanted(value));
    return former->second(value);
  }
  const OptionEntry* found = impl_->find(key);
  if (found == nullptr)
    fail_usage("unknown option '{}' ({}){}; `{} --help` lists all", excerpt(key), origin,
               own_or_other_suggestion(key, impl_->entries), impl_->program);
  OptionEntry& entry = impl_->entries[found - impl_->entries.data()];
  const std::optional<std::string> value = entry.assign(text);
  if (!value)
    fail_usage("{} = '{}' ({}): {} was expected{}", key, excerpt(text), origin, entry.wanted,
               suggestion(text, entry.labels));
  entry.value = *value;
  entry.origin = origin;
  impl_->from_files.erase(key);
}

void Options::take_environment() {
  const Environment environment = read_environment(impl_->entries);
  for (const auto& [key, text] : environment.values)
    set(key, text, "environment " + environment_name(key));
  if (environment.others.empty()) return;
  log::info("environment variables for other commands are left alone, {} has no such option: {}",
            impl_->program, fmt::join(environment.others, ", "));
}

Options::Options(std::string program, std::string summary) : impl_(std::make_unique<Impl>()) {
  impl_->program = std::move(program);
  impl_->summary = std::move(summary);
}

Options::~Options() = default;

void Options::add_field(const std::string& key, Field field, const std::string& help,
                        const std::string& unit) {
  std::visit([&](auto* bound) { impl_->add(entry_for(key, *bound, help, unit)); }, field);
}

void Options::add_named(const std::string& key, std::vector<std::string> labels,
                        const std::string& current, std::function<void(const std::string&)> assign,
                        const std::string& help) {
  SKEIN_CHECK(std::ranges::find(labels, current) != labels.end());
  OptionEntry entry{key,     help,   "", fmt::format("one of {}", fmt::join(labels, ", ")),
                    current, current};
  entry.labels = labels;
  entry.takes = fmt::format("{}", fmt::join(labels, "|"));
  entry.assign =
      [labels, assign = std::move(assign)](const std::string& text) -> std::optional<std::string> {
    if (std::ranges::find(labels, text) == labels.end()) return std::nullopt;
    assign(text);
    return text;
  };
  impl_->add(std::move(entry));
}

namespace {

// A config.ini of another command has hundreds: sections are counted, and five told.
std::string told_briefly(const std::vector<std::string>& keys) {
  constexpr size_t kMost = 5;
  std::vector<std::pair<std::string, std::vector<std::string>>> sections;
  for (const std::string& key : keys) {
    const std::string section = key.substr(0, key.find('.'));
    auto found = std::ranges::find(sections, section, [](const auto& one) { return one.first; });
    if (found == sections.end()) found = sections.insert(found, {section, {}});
    found->second.push_back(key);
  }
  std::vector<std::string> told;
  for (const auto& [section, own] : sections)
    told.push_back(own.size() == 1 ? own.front()
                                   : fmt::format("[{}] ({} options)", section, own.size()));
  const size_t more = told.size() - std::min(told.size(), kMost);
  told.resize(told.size() - more);
  return fmt::format("{}{}", fmt::join(told, ", "),
                     more > 0 ? fmt::format(" and those of {} sections more", more) : "");
}

using Former = std::map<std::string, Options::Take>;

// One file may hold the options of all commands of a project.
std::vector<IniValue> own_values(const std::string& path, const std::vector<OptionEntry>& entries,
                                 const Former& former, const std::string& program) {
  std::vector<IniValue> made = parse_ini(file_text(path), path);
  std::vector<std::string> others;
  std::erase_if(made, [&](const IniValue& value) {
    const bool own = former.contains(value.key) ||
                     std::ranges::find(entries, value.key, &OptionEntry::key) != entries.end();
    const bool other = !own && is_known_option(value.key);
    if (other) others.push_back(value.key);
    return other;
  });
  if (!others.empty())
    log::info("{}: left alone, for other commands than `{}`: {}", path, program,
              told_briefly(others));
  return made;
}

}  // namespace

Options::Outcome Options::parse(const std::vector<std::string>& args, bool allow_words) {
  impl_->takes_words = allow_words;
  const CommandLine line = read_command_line(args, impl_->entries, impl_->program);
  impl_->form = line.form;
  if (line.help) return Outcome::help;
  if (!allow_words) refuse_words(line.words, impl_->entries);
  for (const std::string& path : line.configs)
    for (const IniValue& value : own_values(path, impl_->entries, impl_->former, impl_->program)) {
      set(value.key, value.text, fmt::format("{}:{}", path, value.line));
      impl_->from_files.insert(value.key);
    }
  take_environment();
  for (const auto& [key, text] : line.flags) set(key, text, "flag --" + key);
  impl_->words = line.words;
  return line.print_config ? Outcome::print_config : Outcome::run;
}

const std::vector<std::string>& Options::words() const { return impl_->words; }

void Options::read_ini(const std::string& text, const std::string& origin) {
  for (const IniValue& value : parse_ini(text, origin))
    set(value.key, value.text, fmt::format("{}:{}", origin, value.line));
}

std::vector<std::pair<std::string, std::string>> Options::values() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const OptionEntry& entry : impl_->entries) all.emplace_back(entry.key, entry.value);
  return all;
}

std::map<std::string, std::string> bound_values(const std::function<void(Options&)>& bind_own) {
  Options own("", "");
  bind_own(own);
  const auto values = own.values();
  return {values.begin(), values.end()};
}

void refuse_changed(const Options& options, const std::function<void(Options&)>& bind_own,
                    const std::string& why) {
  Options own("", "");
  bind_own(own);
  for (const auto& [key, value] : own.values()) require(!options.changed(key), "{} {}", key, why);
}

bool Options::given(const std::string& key) const {
  const OptionEntry* entry = impl_->find(key);
  SKEIN_CHECK(entry != nullptr);
  return entry->origin != "default";
}

bool Options::changed(const std::string& key) const {
  const OptionEntry* entry = impl_->find(key);
  SKEIN_CHECK(entry != nullptr);
  return entry->value != entry->initial;
}

bool Options::from_file(const std::string& key) const { return impl_->from_files.contains(key); }

}  // namespace skein
