#include "skein/core/options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "skein/core/error.h"

extern char** environ;

namespace skein {
namespace {

namespace po = boost::program_options;

struct Entry {
  std::string key, help, unit, value, origin = "default";
  std::vector<std::string> labels = {};
  std::function<void(const std::string&)> assign = {};
  bool flag = false;
};

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r"), last = text.find_last_not_of(" \t\r");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

[[noreturn]] void wrong_type(const Entry& entry, const std::string& value, const char* wanted) {
  fail_usage("{} = '{}' ({}): {} was expected", entry.key, value, entry.origin, wanted);
}

// 1_000, 10k, 5M and 2G are whole numbers too.
template <class T>
T whole_number(const Entry& entry, const std::string& text) {
  std::string digits = text;
  std::erase(digits, '_');
  int64_t factor = 1;
  if (!digits.empty()) {
    const size_t unit = std::string("kMG").find(digits.back());
    for (size_t i = 0; unit != std::string::npos && i <= unit; ++i) factor *= 1000;
    if (factor > 1) digits.pop_back();
  }
  T value{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  T scaled{};
  if (error != std::errc{} || end != digits.data() + digits.size() || digits.empty() ||
      __builtin_mul_overflow(value, factor, &scaled))
    wrong_type(entry, text, "a whole number");
  return scaled;
}

double real_number(const Entry& entry, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) wrong_type(entry, text, "a number");
  return value;
}

bool truth(const Entry& entry, const std::string& text) {
  for (const char* yes : {"true", "on", "yes", "1"})
    if (text == yes) return true;
  for (const char* no : {"false", "off", "no", "0"})
    if (text == no) return false;
  wrong_type(entry, text, "true or false");
}

std::vector<std::string> list_of(const std::string& text) {
  std::vector<std::string> items;
  std::stringstream stream(text);
  for (std::string item; std::getline(stream, item, ',');)
    if (!trimmed(item).empty()) items.push_back(trimmed(item));
  return items;
}

std::string environment_name(const std::string& key) {
  std::string name = "SKEIN_";
  for (char c : key) name += c == '.' || c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

}  // namespace

struct Options::Impl {
  std::string program, summary;
  std::vector<Entry> entries;
  std::vector<std::string> words;

  Entry* find(const std::string& key) {
    for (Entry& entry : entries)
      if (entry.key == key) return &entry;
    return nullptr;
  }
  std::vector<std::string> keys() const {
    std::vector<std::string> all;
    for (const Entry& entry : entries) all.push_back(entry.key);
    return all;
  }
  void add(Entry entry) {
    SKEIN_CHECK(!find(entry.key));
    entries.push_back(std::move(entry));
  }
  void set(const std::string& key, const std::string& value, const std::string& origin) {
    Entry* entry = find(key);
    if (!entry) unknown(key, keys(), origin);
    entry->origin = origin;
    if (!entry->labels.empty() && std::find(entry->labels.begin(), entry->labels.end(), value) == entry->labels.end())
      fail_usage("{} = '{}' ({}): choose one of {}", key, value, origin, fmt::join(entry->labels, ", "));
    entry->assign(value);
    entry->value = value;
  }
  [[noreturn]] static void unknown(const std::string& key, const std::vector<std::string>& known, const std::string& origin) {
    const std::string near = nearest(key, known);
    fail_usage("unknown option '{}' ({}){}; --help lists all", key, origin,
               near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
  }
  void read_environment();
  void read_flags(const std::vector<std::string>& args, bool allow_words, Outcome& outcome, Options& options);
};

Options::Options(std::string program, std::string summary) : impl_(std::make_unique<Impl>()) {
  impl_->program = std::move(program);
  impl_->summary = std::move(summary);
}
Options::~Options() = default;

namespace {

template <class T, class Read>
Entry entry_for(const std::string& key, T& field, const std::string& help, const std::string& unit, std::string value,
                Read read) {
  Entry entry{key, help, unit, std::move(value)};
  // The entry knows its key only; the origin in messages is set before assign is called.
  entry.assign = [&field, key, read](const std::string& text) { field = read(Entry{key, "", "", ""}, text); };
  return entry;
}

}  // namespace

void Options::add(const std::string& key, bool& field, const std::string& help) {
  Entry entry = entry_for(key, field, help, "", field ? "true" : "false", truth);
  entry.flag = true;
  impl_->add(std::move(entry));
}
void Options::add(const std::string& key, int& field, const std::string& help, const std::string& unit) {
  impl_->add(entry_for(key, field, help, unit, fmt::format("{}", field), whole_number<int>));
}
void Options::add(const std::string& key, int64_t& field, const std::string& help, const std::string& unit) {
  impl_->add(entry_for(key, field, help, unit, fmt::format("{}", field), whole_number<int64_t>));
}
void Options::add(const std::string& key, uint64_t& field, const std::string& help, const std::string& unit) {
  impl_->add(entry_for(key, field, help, unit, fmt::format("{}", field), whole_number<uint64_t>));
}
void Options::add(const std::string& key, double& field, const std::string& help, const std::string& unit) {
  impl_->add(entry_for(key, field, help, unit, fmt::format("{}", field), real_number));
}
void Options::add(const std::string& key, std::string& field, const std::string& help, const std::string& unit) {
  impl_->add(entry_for(key, field, help, unit, field, [](const Entry&, const std::string& text) { return text; }));
}
void Options::add(const std::string& key, std::vector<std::string>& field, const std::string& help) {
  impl_->add(entry_for(key, field, help, "list", fmt::format("{}", fmt::join(field, ",")),
                       [](const Entry&, const std::string& text) { return list_of(text); }));
}
void Options::add(const std::string& key, std::vector<int64_t>& field, const std::string& help) {
  impl_->add(entry_for(key, field, help, "list", fmt::format("{}", fmt::join(field, ",")),
                       [](const Entry& entry, const std::string& text) {
                         std::vector<int64_t> values;
                         for (const std::string& item : list_of(text)) values.push_back(whole_number<int64_t>(entry, item));
                         return values;
                       }));
}
void Options::add_named(const std::string& key, std::vector<std::string> labels, const std::string& current,
                        std::function<void(const std::string&)> assign, const std::string& help) {
  Entry entry{key, help, "", current};
  entry.labels = std::move(labels);
  entry.assign = std::move(assign);
  impl_->add(std::move(entry));
}

void Options::Impl::read_environment() {
  std::map<std::string, std::string> names;
  std::vector<std::string> known;
  for (const Entry& entry : entries) {
    names[environment_name(entry.key)] = entry.key;
    known.push_back(environment_name(entry.key));
  }
  for (char** variable = environ; *variable; ++variable) {
    const std::string text = *variable;
    const std::string name = text.substr(0, text.find('='));
    if (!name.starts_with("SKEIN_") || name.starts_with("SKEIN_TEST_")) continue;
    if (!names.contains(name)) unknown(name, known, "environment");
    set(names[name], text.substr(name.size() + 1), "environment " + name);
  }
}

void Options::Impl::read_flags(const std::vector<std::string>& args, bool allow_words, Outcome& outcome, Options& options) {
  po::options_description described;
  for (const Entry& entry : entries) {
    auto* value = po::value<std::string>();
    if (entry.flag) value->implicit_value("true", "true");
    described.add_options()(entry.key.c_str(), value);
  }
  described.add_options()("config", po::value<std::string>())("print-config", "")("help", "");
  try {
    const auto style = po::command_line_style::allow_long | po::command_line_style::long_allow_adjacent |
                       po::command_line_style::long_allow_next;
    const auto parsed = po::command_line_parser(args).options(described).style(style).allow_unregistered().run();
    std::vector<std::pair<std::string, std::string>> given;
    for (const auto& option : parsed.options) {
      if (option.unregistered) unknown(option.string_key, keys(), "flag");
      if (option.position_key >= 0) {
        require(allow_words, "'{}' is not an option; options look like --section.key=value", option.value.at(0));
        words.push_back(option.value.at(0));
      } else if (option.string_key == "help") {
        outcome = Outcome::help;
      } else if (option.string_key == "print-config") {
        if (outcome == Outcome::run) outcome = Outcome::print_config;
      } else if (option.string_key == "config") {
        const std::string path = option.value.at(0);
        std::ifstream file(path);
        if (!file) fail_usage("--config {}: {}", path, std::strerror(errno));
        std::stringstream text;
        text << file.rdbuf();
        options.read_ini(text.str(), path);
      } else {
        given.emplace_back(option.string_key, option.value.empty() ? "true" : option.value.at(0));
      }
    }
    read_environment();
    for (const auto& [key, value] : given) set(key, value, "flag --" + key);
  } catch (const po::error& error) {
    fail_usage("{}; --help lists all options", error.what());
  }
}

Options::Outcome Options::parse(const std::vector<std::string>& args, bool allow_words) {
  Outcome outcome = Outcome::run;
  impl_->read_flags(args, allow_words, outcome, *this);
  return outcome;
}

const std::vector<std::string>& Options::words() const { return impl_->words; }

void Options::read_ini(const std::string& text, const std::string& origin) {
  std::stringstream lines(text);
  std::string section, line;
  std::map<std::string, int> seen;
  for (int number = 1; std::getline(lines, line); ++number) {
    const size_t comment = line.find(" #");
    line = trimmed(line.starts_with("#") ? "" : line.substr(0, comment));
    if (line.empty()) continue;
    const std::string place = fmt::format("{}:{}", origin, number);
    if (line.front() == '[' && line.back() == ']') {
      section = trimmed(line.substr(1, line.size() - 2)) + ".";
      continue;
    }
    const size_t equals = line.find('=');
    require(equals != std::string::npos, "{}: '{}' is neither [section] nor key = value", place, line);
    const std::string key = section + trimmed(line.substr(0, equals));
    const auto [before, fresh] = seen.emplace(key, number);
    require(fresh, "{}: {} was given before, in line {}", place, key, before->second);
    impl_->set(key, trimmed(line.substr(equals + 1)), place);
  }
}

void Options::set(const std::string& key, const std::string& value, const std::string& origin) {
  impl_->set(key, value, origin);
}

bool Options::given(const std::string& key) const {
  const Entry* entry = impl_->find(key);
  return entry && entry->origin != "default";
}

std::string Options::help() const {
  std::string text = fmt::format("{}: {}\n\nUsage: {} [--config FILE] [--section.key=value ...]\n"
                                 "  --print-config  write the resolved options and where each came from\n",
                                 impl_->program, impl_->summary, impl_->program);
  std::string section;
  for (const Entry& entry : impl_->entries) {
    const std::string own = entry.key.substr(0, entry.key.find('.'));
    if (own != section) text += fmt::format("\n[{}]\n", section = own);
    std::string about = entry.help;
    if (!entry.labels.empty()) about += fmt::format(" ({})", fmt::join(entry.labels, ", "));
    text += fmt::format("  --{:<30} {} [{}{}{}]\n", entry.key, about, entry.value, entry.unit.empty() ? "" : " ", entry.unit);
  }
  return text;
}

std::string Options::resolved() const {
  std::string text, section;
  for (const Entry& entry : impl_->entries) {
    const size_t dot = entry.key.find('.');
    const std::string own = entry.key.substr(0, dot);
    if (own != section) text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", section = own);
    text += fmt::format("{} = {} # {}\n", entry.key.substr(dot + 1), entry.value, entry.origin);
  }
  return text;
}

std::string nearest(const std::string& word, const std::vector<std::string>& known) {
  std::string best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    std::vector<size_t> row(candidate.size() + 1);
    for (size_t j = 0; j < row.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= word.size(); ++i) {
      size_t diagonal = std::exchange(row[0], i);
      for (size_t j = 1; j < row.size(); ++j) {
        const size_t changed = diagonal + (word[i - 1] != candidate[j - 1]);
        diagonal = row[j];
        row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
      }
    }
    if (row.back() < best_distance) best = candidate, best_distance = row.back();
  }
  return best;
}

}  // namespace skein
