// What a machine is like for runs, in findings: `skein doctor`.
#pragma once

#include <string>
#include <vector>

#include "skein/comm/group.h"

namespace skein::train {

// good; note: runs work, but slower, or less safe, than they could; bad: a run will fail.
enum class Grade { good, note, bad };

struct Finding {
  Grade grade = Grade::good;
  std::string about;   // a word or two
  std::string text;    // what was found
  std::string advice;  // what to do, where not all is good
};

// Of this host: processors, memory, shared memory, GPUs, limits of the process.
std::vector<Finding> examine_host();
// Of where a run would write: space, and what the file system can do. What is made for it there is
// removed again; of a folder that does not exist yet its nearest parent is examined.
std::vector<Finding> examine_folder(const std::string& folder);
// Collective. How the ranks met, after so many seconds; how fast they exchange, whether their
// clocks agree, and whether all see the folder.
std::vector<Finding> examine_ranks(Group& world, double seconds, const std::string& folder);

// A line a finding, and one for its advice.
std::string findings_text(const std::vector<Finding>& findings);
Grade worst_of(const std::vector<Finding>& findings);

}  // namespace skein::train
