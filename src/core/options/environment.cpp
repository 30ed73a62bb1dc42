#include "environment.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>
#include <iterator>
#include <map>
#include <string_view>

#include "skein/core/error.h"
#include "skein/core/strings.h"

#include "known_options.h"

namespace skein {
namespace {

namespace po = boost::program_options;

constexpr std::string_view kPrefix = "SKEIN_";

// Read by comm/world, before there are options.
constexpr std::string_view kLaunchVariables[] = {"SKEIN_KEEPALIVE",
                                                 "SKEIN_RANK",
                                                 "SKEIN_RANKS",
                                                 "SKEIN_RENDEZVOUS",
                                                 "SKEIN_RENDEZVOUS_OPEN",
                                                 "SKEIN_RENDEZVOUS_SECRET",
                                                 "SKEIN_RENDEZVOUS_SECRET_FILE",
                                                 "SKEIN_RENDEZVOUS_TIMEOUT"};

template <class List>
bool is_in(const std::string& word, const List& list) {
  return std::ranges::find(list, word) != std::end(list);
}

// TRAIN of SKEIN_TRAIN_STEPS; "" of a variable that has no second word.
std::string section_in(const std::string& variable) {
  const size_t end = variable.find('_', kPrefix.size());
  return end == std::string::npos ? "" : variable.substr(kPrefix.size(), end - kPrefix.size());
}

// Sections such as PPO and DPO differ by a letter: under a known one only the names after it are
// compared.
std::string nearest_in_section(const std::string& variable,
                               const std::vector<OptionEntry>& entries) {
  const std::string section = section_in(variable);
  const size_t head = kPrefix.size() + section.size() + 1;
  std::vector<std::string> names;
  for (const OptionEntry& entry : entries) {
    const std::string known = environment_name(entry.key);
    if (section_in(known) == section) names.push_back(known.substr(head));
  }
  const std::string near = nearest(variable.substr(head), names);
  return near.empty() ? "" : variable.substr(0, head) + near;
}

// Of a variable with no section of ours: at most one letter in five is wrong.
std::string nearest_in_all(const std::string& variable, const std::vector<OptionEntry>& entries) {
  std::vector<std::string> known(std::begin(kLaunchVariables), std::end(kLaunchVariables));
  for (const OptionEntry& entry : entries) known.push_back(environment_name(entry.key));
  return nearest(variable, known, std::max<size_t>(1, (variable.size() - kPrefix.size()) / 5));
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool is_of_some_command(const std::string& variable) {
  const std::vector<std::string> keys = known_options();
  return std::ranges::any_of(keys,
                             [&](const auto& key) { return environment_name(key) == variable; });
}

// True for an option of another command, false for a variable that is no option.
bool names_other(const std::string& variable, const std::vector<OptionEntry>& entries) {
  if (is_of_some_command(variable)) return true;
  const bool ours = is_known_section(lower(section_in(variable)));
  const std::string near =
      ours ? nearest_in_section(variable, entries) : nearest_in_all(variable, entries);
  require(near.empty(),
          "the environment variable {} names no option here; did you mean '{}'? Correct it, or "
          "unset it",
          variable, near);
  return ours;
}

}  // namespace

Environment read_environment(const std::vector<OptionEntry>& entries) {
  std::map<std::string, std::string> key_of;
  for (const OptionEntry& entry : entries)
    SKEIN_CHECK(key_of.emplace(environment_name(entry.key), entry.key).second);
  Environment found;
  const auto key = [&](const std::string& variable) -> std::string {
    if (!variable.starts_with(kPrefix) || variable.starts_with("SKEIN_TEST_") ||
        is_in(variable, kLaunchVariables))
      return "";
    if (const auto known = key_of.find(variable); known != key_of.end()) return known->second;
    if (names_other(variable, entries)) found.others.push_back(variable);
    return "";
  };
  const boost::function1<std::string, std::string> mapper = key;
  for (const po::option& option : po::parse_environment(po::options_description(), mapper).options)
    found.values.emplace_back(option.string_key, option.value.at(0));
  std::ranges::sort(found.others);
  return found;
}

std::string environment_name(const std::string& key) {
  std::string name(kPrefix);
  for (const char c : key) name += c == '.' || c == '-' ? '_' : std::toupper(c & 0xFF);
  return name;
}

}  // namespace skein
