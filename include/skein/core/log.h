// One line per event on stderr.
//
//   log::info("{} tokens in {}", tokens, path);          // rank 0 only
//   log::warn("...");                                     // rank 0 only
#pragma once

#include <fmt/format.h>
#include <string_view>

namespace skein::log {

enum class Level { info, warn, error };

// The rank of the calling thread (ranks may be threads of one process).
void set_rank(int rank);
int rank();

// Lines below `level` are dropped. Default: info.
void set_level(Level level);
// Drops them until it goes.
class LevelScope {
 public:
  explicit LevelScope(Level level) { set_level(level); }
  ~LevelScope() { set_level(Level::info); }
  LevelScope(const LevelScope&) = delete;
  LevelScope& operator=(const LevelScope&) = delete;
};

// Writes one line, whatever the rank. Bytes that would steer a terminal are written as \x1B.
void write(Level level, std::string_view text);

template <class... Args>
void info(fmt::format_string<Args...> text, Args&&... args) {
  if (rank() == 0) write(Level::info, fmt::format(text, std::forward<Args>(args)...));
}

template <class... Args>
void warn(fmt::format_string<Args...> text, Args&&... args) {
  if (rank() == 0) write(Level::warn, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace skein::log
