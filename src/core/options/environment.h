// Options from environment variables: SKEIN_TRAIN_STEPS for train.steps.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "option_table.h"

namespace skein {

struct Environment {
  std::vector<std::pair<std::string, std::string>> values;  // key and text
  // Variables of options that other commands have, in order of the alphabet.
  std::vector<std::string> others;
};

// A variable is of another command when it begins with a section of ours and names no key that is
// known here. A usage error for one that looks like a misspelt option of `entries` or of the
// launch. Others that begin with SKEIN_, and SKEIN_TEST_*, look like no option and are not read.
Environment read_environment(const std::vector<OptionEntry>& entries);

}  // namespace skein
