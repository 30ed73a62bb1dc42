// Helps for man(1) and for other programs; those for people are in text.cpp and program.cpp.
#include <utility>

#include "skein/core/options/ini.h"

#include "command_line.h"
#include "manual.h"
#include "option_table.h"

namespace skein {
namespace {

std::string table_row(const std::string& flag, const OptionEntry& entry, const std::string& help) {
  return fmt::format("{}\t{}\t{}\t{}\t{}\n", flag, entry.takes, entry.unit,
                     entry.initial.empty() ? "" : ini_text(entry.initial), help);
}

// A choice's words stand in its description.
std::string term_of(const OptionEntry& entry) {
  return fmt::format("--{}={}", entry.key, entry.labels.empty() ? entry.takes : "WORD");
}

}  // namespace

std::string Options::Impl::help_page() const {
  ManualPage page(program, summary);
  page.heading("SYNOPSIS");
  page.paragraph(usage());
  page.heading("DESCRIPTION");
  page.paragraph(summary);
  page.heading("OPTIONS");
  page.paragraph(kPrecedence);
  for (const OwnFlag& own : kOwnFlags) page.item(own.shown, own.help);
  for (const std::string& section : sections()) {
    page.subheading(fmt::format("[{}]", section));
    for (const OptionEntry& entry : entries)
      if (entry.section() == section) page.item(term_of(entry), description(entry));
  }
  return std::move(page).finished();
}

std::string Options::Impl::help_table() const {
  std::string table;
  for (const OwnFlag& own : kOwnFlags)
    table += fmt::format("{}\t{}\t\t\t{}\n", own.flag, own.takes, own.help);
  for (const ShortFlag& one : short_flags(entries))
    table += table_row(one.flag, *find(one.key), fmt::format("--{} for short", one.key));
  for (const OptionEntry& entry : entries) table += table_row("--" + entry.key, entry, entry.help);
  return table;
}

}  // namespace skein
