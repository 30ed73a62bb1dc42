#include <algorithm>
#include <fmt/ranges.h>
#include <sstream>
#include <utility>

#include "ini.h"
#include "option_table.h"

namespace skein {
namespace {

constexpr size_t kLineWidth = 100, kWidestName = 34;

// A name on the left, wrapped text in a column of its own.
std::string row(const std::string& name, const std::string& text, size_t column) {
  std::string rows, line = "  " + name;
  const std::string margin(column, ' ');
  if (line.size() + 2 > column) rows = std::exchange(line, "") + "\n";
  line.resize(column, ' ');
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const bool fresh = line.size() == column;
    if (!fresh && line.size() + 1 + word.size() > kLineWidth)
      rows += std::exchange(line, margin) + "\n";
    if (line.size() > column) line += ' ';
    line += word;
  }
  return rows + line + "\n";
}

std::string description(const OptionEntry& entry) {
  std::vector<std::string> notes;
  if (!entry.labels.empty()) notes.push_back(entry.wanted);
  if (!entry.unit.empty()) notes.push_back(entry.unit);
  if (!entry.initial.empty()) notes.push_back("default " + ini_text(entry.initial));
  return notes.empty() ? entry.help : fmt::format("{} ({})", entry.help, fmt::join(notes, "; "));
}

std::string one_line(std::string text) {
  for (char& c : text)
    if ((c & 0xFF) < ' ') c = '?';
  return text;
}

// In the order of their first key.
std::vector<std::string> sections_of(const std::vector<OptionEntry>& entries) {
  std::vector<std::string> names;
  for (const OptionEntry& entry : entries)
    if (std::ranges::find(names, entry.section()) == names.end()) names.push_back(entry.section());
  return names;
}

}  // namespace

std::string Options::help() const {
  size_t longest = std::string("--print-config").size();
  for (const OptionEntry& entry : impl_->entries)
    if (entry.key.size() + 2 <= kWidestName) longest = std::max(longest, entry.key.size() + 2);
  const size_t column = longest + 4;
  std::string text =
      fmt::format("{}\n\nUsage: {} [--config FILE] [--section.key=value ...]{}\n\n", impl_->summary,
                  impl_->program, impl_->takes_words ? " ARGUMENT ..." : "");
  text +=
      row("--config FILE", "read options from an INI file; given again, later files win", column);
  text += row("--print-config",
              "write all options and where each came from, as such a file, and stop", column);
  text += row("--help, -h", "write this and stop", column);
  for (const std::string& section : sections_of(impl_->entries)) {
    text += fmt::format("\n[{}]\n", section);
    for (const OptionEntry& entry : impl_->entries)
      if (entry.section() == section) text += row("--" + entry.key, description(entry), column);
  }
  return text + "\nA flag wins over the environment (SKEIN_SECTION_KEY), and that over files.\n";
}

std::string Options::resolved() const {
  std::string text;
  for (const std::string& section : sections_of(impl_->entries)) {
    text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", section);
    for (const OptionEntry& entry : impl_->entries)
      if (entry.section() == section)
        text += fmt::format("{} = {}  # {}\n", entry.name(), ini_text(entry.value),
                            one_line(entry.origin));
  }
  return text;
}

}  // namespace skein
