// Helps as pages of the manual and as tables.
#include <algorithm>

#include "skein/core/options/program.h"

#include "options_fixture.h"

namespace skein {
namespace {

using namespace test;

std::string help_of(Bound& bound, const std::string& form, bool allow_words = false) {
  EXPECT_EQ(bound.options.parse({"--help=" + form}, allow_words), Options::Outcome::help);
  return bound.options.help();
}

TEST(HelpForms, ATableHasARowOfFiveColumnsAnOption) {
  Bound bound;
  std::istringstream lines(help_of(bound, "table"));
  Words rows;
  for (std::string line; std::getline(lines, line); rows.push_back(line))
    EXPECT_EQ(std::count(line.begin(), line.end(), '\t'), 4) << line;
  for (const char* row : {"--data.shuffle\ttrue|false\t\ttrue\tvisit in shuffled order",
                          "--train.steps\tNUMBER\tsteps\t100\toptimizer steps",
                          "--data.note\tTEXT\t\tnone\tfree text",
                          "--data.stores\tTEXT,...\tcomma-separated\ta,b\twhat to read",
                          "--train.layers\tNUMBER,...\tcomma-separated\t\tblocks of each stage",
                          "--model.norm\tlayer|rms\t\tlayer\tkind of norm"})
    EXPECT_EQ(std::ranges::count(rows, row), 1) << row;
  EXPECT_EQ(rows.size(), 13u);  // ten, and three that every command has
}

TEST(HelpForms, ATableHasShortFlagsWhereTheirOptionsAre) {
  std::string device = "cpu";
  Options options("prog", "Does things.");
  options.add("parallel.device", device, "where", "");
  options.parse({"--help=table"});
  const std::string table = options.help();
  expect_words(table, {"--device\tTEXT\t\tcpu\t--parallel.device for short\n"});
  EXPECT_EQ(table.find("--profile"), std::string::npos);
}

TEST(HelpForms, APageIsRoffOfAllSections) {
  Bound bound;
  const std::string page = help_of(bound, "man", true);
  EXPECT_EQ(page.find(".TH PROG 1 \"\" \"Skein "), 0u) << page;
  expect_words(page, {".SH NAME\nprog \\- does things\n", ".SH SYNOPSIS\n", "ARGUMENT ...\n",
                      ".SS [train]\n", ".TP\n\\fB\\-\\-train.steps=NUMBER\\fR\n",
                      "optimizer steps (steps; default 100)\n", "\\-\\-model.norm=WORD",
                      "one of layer, rms; default layer", ".SH EXIT STATUS\n", "\\fB85\\fR",
                      "\\fBskein\\-data\\fR(1)"});
}

TEST(HelpForms, APageKeepsSignsThatRoffWouldTake) {
  bool field = false;
  Options options("prog some", "Takes 'it' apart: by \\ and ~.");
  options.add("a.b", field, ".leads with `a-b` and ^");
  options.parse({"--help=man"});
  expect_words(options.help(), {".TH PROG\\-SOME 1", "prog\\-some \\- takes \\(aqit\\(aq apart\n",
                                "Takes \\(aqit\\(aq apart: by \\(rs and \\(ti.\n",
                                "\n\\&.leads with \\fBa\\-b\\fR and \\(ha (default false)\n"});
}

TEST(HelpForms, AProgramTellsItsCommandsInEachForm) {
  const std::vector<CommandHelp> commands = {{"list", "DIR", "what is there"},
                                             {"drop", "", "what is not"}};
  const auto help = [&](HelpForm form) {
    return program_help("prog", "Does things.", commands, "DIR is a folder.\n", form);
  };
  EXPECT_EQ(help(HelpForm::table), "list\tDIR\twhat is there\ndrop\t\twhat is not\n");
  expect_words(help(HelpForm::page), {".TP\n\\fBlist DIR\\fR\nwhat is there\n", "DIR is a folder.",
                                      "prog COMMAND [options] [arguments]"});
  expect_words(help(HelpForm::text), {"  list      DIR  what is there\n", "\nDIR is a folder.\n"});
}

TEST(HelpForms, AFormThatIsNotKnownIsRefused) {
  EXPECT_EQ(parse_error({"--help=pdf"}), "--help=pdf: one of text, man, table was expected");
  EXPECT_EQ(parse_error({"--help="}), "--help=: one of text, man, table was expected");
  EXPECT_EQ(help_form("--help=text"), HelpForm::text);
  EXPECT_EQ(help_form("help"), HelpForm::text);
}

}  // namespace
}  // namespace skein
