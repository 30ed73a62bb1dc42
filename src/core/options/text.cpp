#include <algorithm>
#include <fmt/ranges.h>
#include <sstream>
#include <utility>

#include "skein/core/options/ini.h"

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

std::string one_line(std::string text) {
  for (char& c : text)
    if ((c & 0xFF) < ' ') c = '?';
  return text;
}

}  // namespace

std::string description(const OptionEntry& entry) {
  std::vector<std::string> notes;
  if (!entry.labels.empty()) notes.push_back(entry.wanted);
  if (!entry.unit.empty()) notes.push_back(entry.unit);
  if (!entry.initial.empty()) notes.push_back("default " + ini_text(entry.initial));
  return notes.empty() ? entry.help : fmt::format("{} ({})", entry.help, fmt::join(notes, "; "));
}

std::vector<std::string> Options::Impl::sections() const {
  std::vector<std::string> names;
  for (const OptionEntry& entry : entries)
    if (std::ranges::find(names, entry.section()) == names.end()) names.push_back(entry.section());
  return names;
}

std::string Options::Impl::usage() const {
  return fmt::format("{} [--config FILE] [--section.key=value ...]{}", program,
                     takes_words ? " ARGUMENT ..." : "");
}

std::string Options::help() const {
  switch (impl_->form) {
    case HelpForm::text: return impl_->help_text();
    case HelpForm::page: return impl_->help_page();
    case HelpForm::table: return impl_->help_table();
  }
  return "";
}

std::string Options::Impl::help_text() const {
  size_t longest = std::string("--print-config").size();
  for (const OptionEntry& entry : entries)
    if (entry.key.size() + 2 <= kWidestName) longest = std::max(longest, entry.key.size() + 2);
  const size_t column = longest + 4;
  std::string text = fmt::format("{}\n\nUsage: {}\n\n", summary, usage());
  for (const OwnFlag& own : kOwnFlags) text += row(own.shown, own.help, column);
  for (const std::string& section : sections()) {
    text += fmt::format("\n[{}]\n", section);
    for (const OptionEntry& entry : entries)
      if (entry.section() == section) text += row("--" + entry.key, description(entry), column);
  }
  return fmt::format("{}\n{}\n", text, kPrecedence);
}

std::string Options::resolved() const {
  std::string text;
  for (const std::string& section : impl_->sections()) {
    text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", section);
    for (const OptionEntry& entry : impl_->entries)
      if (entry.section() == section)
        text += fmt::format("{} = {}  # {}\n", entry.name(), ini_text(entry.value),
                            one_line(entry.origin));
  }
  return text;
}

}  // namespace skein
