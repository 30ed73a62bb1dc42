// What Options knows: one entry a key, with its value as text and where that came from.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/core/options/program.h"

namespace skein {

struct OptionEntry {
  std::string key, help, unit;
  std::string wanted;   // "a whole number": for errors
  std::string initial;  // the default
  std::string value;
  std::string origin = "default";
  std::vector<std::string> labels = {};  // of a choice
  bool truth = false;                    // may stand as a bare --flag
  // For helps: NUMBER or TEXT, with ",..." where it may be a list; of a truth or a choice its
  // words, divided by |.
  std::string takes = {};
  // Writes the field and gives the value in its own spelling; nothing when the text is no such
  // value.
  std::function<std::optional<std::string>(const std::string&)> assign = {};

  std::string section() const { return key.substr(0, key.find('.')); }
  std::string name() const { return key.substr(key.find('.') + 1); }
};

struct Options::Impl {
  std::string program, summary;
  std::vector<OptionEntry> entries;
  std::map<std::string, Options::Take> former;  // by key
  std::set<std::string> from_files;             // keys
  std::vector<std::string> words;
  bool takes_words = false;
  HelpForm form = HelpForm::text;  // of help, as it was asked for

  const OptionEntry* find(const std::string& key) const;
  void add(OptionEntry entry);

  std::string usage() const;
  // In the order of their first key.
  std::vector<std::string> sections() const;
  std::string help_text() const;
  std::string help_page() const;
  std::string help_table() const;
};

// Flags that every command has.
struct OwnFlag {
  const char *flag, *takes, *shown, *help;
};
inline constexpr OwnFlag kOwnFlags[] = {
    {"--config", "FILE", "--config FILE",
     "read options from an INI file; given again, later files win"},
    {"--print-config", "", "--print-config",
     "write all options and where each came from, as such a file, and stop"},
    {"--help", "man|table", "--help, -h",
     "write this and stop; --help=man: as a page of the manual, --help=table: for programs"}};
inline constexpr const char* kPrecedence =
    "A flag wins over the environment (SKEIN_SECTION_KEY), and that over files.";

// What an entry's line of help says: help, unit, default.
std::string description(const OptionEntry& entry);

// SKEIN_TRAIN_STEPS for train.steps.
std::string environment_name(const std::string& key);

// "; did you mean 'x'?", or "" when no known word is near.
std::string suggestion(const std::string& word, const std::vector<std::string>& known);

}  // namespace skein
