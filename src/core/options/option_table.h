// What Options knows: one entry a key, with its value as text and where that came from.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "skein/core/options/options.h"

namespace skein {

struct OptionEntry {
  std::string key, help, unit;
  std::string wanted;   // "a whole number": for errors
  std::string initial;  // the default
  std::string value;
  std::string origin = "default";
  std::vector<std::string> labels = {};  // of a choice
  bool truth = false;                    // may stand as a bare --flag
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
  std::vector<std::string> words;
  bool takes_words = false;

  const OptionEntry* find(const std::string& key) const;
  void add(OptionEntry entry);
};

// SKEIN_TRAIN_STEPS for train.steps.
std::string environment_name(const std::string& key);

// "; did you mean 'x'?", or "" when no known word is near.
std::string suggestion(const std::string& word, const std::vector<std::string>& known);

}  // namespace skein
