#include "manual.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/version.h"

namespace skein {
namespace {

constexpr std::string_view kPrograms[] = {"skein", "skein-convert", "skein-data", "skein-inspect"};

constexpr std::pair<ExitCode, const char*> kEnds[] = {
    {ExitCode::done, "finished"},
    {ExitCode::failure, "failure of the outside world; repair it and start again"},
    {ExitCode::usage, "usage, configuration or bad input; correct what the message names"},
    {ExitCode::internal, "internal error; please report it"},
    {ExitCode::watchdog, "a rank stood still for too long and the job was ended; start again"},
    {ExitCode::superseded, "another process writes this run now; do not start again"},
    {ExitCode::requeue, "stopped on request with a checkpoint; start again to go on"}};

// What is not plain text: signs that roff would turn into those of printed text, and quotes that
// would begin a request.
std::string escaped(char c) {
  switch (c) {
    case '\\': return "\\(rs";
    case '-': return "\\-";
    case '\'': return "\\(aq";
    case '^': return "\\(ha";
    case '~': return "\\(ti";
    case '`': return "\\(ga";
    default: return {c};
  }
}

std::string roff(const std::string& text) {
  const bool paired = std::ranges::count(text, '`') % 2 == 0;
  std::string made;
  bool bold = false, begins = true;
  for (const char c : text) {
    if (begins && c == '.') made += "\\&";
    begins = c == '\n';
    if (paired && c == '`') {
      bold = !bold;
      made += bold ? "\\fB" : "\\fR";
    } else {
      made += escaped(c);
    }
  }
  return made;
}

std::string page_name(std::string program) {
  std::ranges::replace(program, ' ', '-');
  return program;
}

std::string first_clause(const std::string& summary) {
  const size_t end = std::min({summary.find(": "), summary.find("; "), summary.find(". "),
                               summary.ends_with('.') ? summary.size() - 1 : summary.size()});
  std::string clause = summary.substr(0, end);
  if (!clause.empty()) clause[0] = static_cast<char>(std::tolower(clause[0] & 0xFF));
  return clause;
}

}  // namespace

ManualPage::ManualPage(const std::string& program, const std::string& summary)
    : own_(page_name(program)) {
  std::string title = own_;
  for (char& c : title) c = static_cast<char>(std::toupper(c & 0xFF));
  text_ = fmt::format(".TH {} 1 \"\" \"Skein {}\" \"Skein\"\n.SH NAME\n{} \\- {}\n", roff(title),
                      kVersion, roff(own_), roff(first_clause(summary)));
}

void ManualPage::heading(const std::string& title) {
  text_ += ".SH " + roff(title) + "\n";
  under_heading_ = true;
}

void ManualPage::subheading(const std::string& title) { text_ += ".SS " + roff(title) + "\n"; }

void ManualPage::paragraph(const std::string& text) {
  text_ += (under_heading_ ? "" : ".PP\n") + roff(text) + "\n";
  under_heading_ = false;
}

void ManualPage::item(const std::string& term, const std::string& text) {
  text_ += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(term), roff(text));
}

std::string ManualPage::finished() && {
  heading("EXIT STATUS");
  for (const auto& [code, meaning] : kEnds) item(std::to_string(static_cast<int>(code)), meaning);
  heading("SEE ALSO");
  std::string others;
  for (const std::string_view program : kPrograms)
    if (program != own_)
      others +=
          fmt::format("{}\\fB{}\\fR(1)", others.empty() ? "" : ", ", roff(std::string(program)));
  return std::move(text_) + others + "\n";
}

}  // namespace skein
