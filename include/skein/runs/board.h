// Runs on a page that follows them, served to browsers of this machine alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "skein/core/options/options.h"

namespace skein::runs {

struct BoardConfig {
  std::string folder;
  int64_t port = 0;  // 0: any that is free
};
// Section "board", but for the folder.
void bind(Options& options, BoardConfig& config);

// What it answers, at http://127.0.0.1:PORT/TOKEN/, where TOKEN are 32 random hex digits; whoever
// does not know them is told nothing but 404.
//   /TOKEN/                   the page (src/runs/page.html)
//   /TOKEN/runs               {"runs": [{"name", "step", "changed", "last"}], "now", "note"}
//   /TOKEN/figures?run=NAME&run=...&seen=VERSION
//                             runs_json of these, of kMostShown at most, with their "version" and
//                             "faults": [[NAME, why it cannot be drawn]]; 204 where the version is
//                             the one that was seen
// The page loads nothing from elsewhere, and browsers are told to let it load nothing. Names and
// numbers of runs are text in it, whatever they hold.
class Board {
 public:
  static constexpr size_t kMostShown = 12;

  // Usage errors where the folder is none or the port is taken.
  explicit Board(const BoardConfig& config);
  ~Board();
  std::string address() const;
  // Answers until stop(), which another thread calls.
  void serve();
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace skein::runs
