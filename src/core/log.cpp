#include "skein/core/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "skein/core/strings.h"

namespace skein::log {
namespace {

thread_local int rank_of_thread = 0;

spdlog::logger& logger() {
  static auto instance = [] {
    auto made = spdlog::stderr_logger_mt("skein");
    made->set_pattern("%H:%M:%S %^%v%$");
    return made;
  }();
  return *instance;
}

spdlog::level::level_enum native(Level level) {
  return level == Level::info   ? spdlog::level::info
         : level == Level::warn ? spdlog::level::warn
                                : spdlog::level::err;
}

}  // namespace

void set_rank(int rank) { rank_of_thread = rank; }
int rank() { return rank_of_thread; }
void set_level(Level level) { logger().set_level(native(level)); }

void write(Level level, std::string_view text) {
  const char* prefix = level == Level::warn ? "warning: " : level == Level::error ? "error: " : "";
  logger().log(native(level), "{}{}", prefix, visible(text, "\t\n"));
}

}  // namespace skein::log
