#include "skein/runs/board.h"

#include "skein/comm/world.h"
#include "skein/core/log.h"

#include "command.h"

namespace skein::cli {

int board_command(const std::vector<std::string>& args, std::unique_ptr<Group>&) {
  runs::BoardConfig config;
  Options options("skein board",
                  "Shows the runs in a folder on a page that follows them, to browsers of this "
                  "machine: skein board DIR");
  bind(options, config);
  if (!parse(options, args, true)) return 0;
  // One process is enough; the others of a launcher have nothing to add.
  if (detect_launch().rank > 0) return 0;
  require(options.words().size() == 1,
          "{} folders are named; give the one that runs lie in, as skein board runs",
          options.words().size());
  config.folder = options.words().front();
  runs::Board board(config);
  answer(board.address() + "\n");
  log::info("open that address in a browser; Ctrl-C ends the board");
  board.serve();
  return 0;
}

}  // namespace skein::cli
