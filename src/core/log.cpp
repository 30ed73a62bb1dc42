#include "skein/core/log.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/ringbuffer_sink.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "skein/core/log_file.h"
#include "skein/core/strings.h"

namespace skein::log {
namespace {

thread_local int rank_of_thread = 0;

// As https://no-color.org asks for.
bool wants_no_colour() {
  const char* const value = std::getenv("NO_COLOR");
  return value && *value;
}

// The line at the bottom of a terminal, below what is logged.
class StatusLine {
 public:
  void show(std::string_view line) {
    const std::scoped_lock lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (!line.empty() && now - drawn_ < std::chrono::milliseconds(100)) return;
    drawn_ = now;
    erase();
    line_ = line;
    draw();
  }
  // `write` logs a line where the status was.
  template <class Write>
  void around(const Write& write) {
    const std::scoped_lock lock(mutex_);
    erase();
    write();
    draw();
  }

 private:
  // One that is wider than the terminal could not be taken back.
  static size_t columns() {
    winsize size{};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1 : 79;
  }
  void erase() {
    if (!line_.empty()) std::fputs("\r\033[K", stderr);
  }
  void draw() {
    if (!line_.empty()) std::fputs(line_.substr(0, columns()).c_str(), stderr);
    std::fflush(stderr);
  }

  std::mutex mutex_;
  std::string line_;
  std::chrono::steady_clock::time_point drawn_;
};

StatusLine& status_line() {
  static StatusLine instance;
  return instance;
}

std::shared_ptr<spdlog::sinks::dist_sink_mt> all_sinks() {
  static const auto instance = [] {
    auto terminal = std::make_shared<spdlog::sinks::ansicolor_stderr_sink_mt>(
        wants_no_colour() ? spdlog::color_mode::never : spdlog::color_mode::automatic);
    terminal->set_color(spdlog::level::info, "");
    terminal->set_pattern("%H:%M:%S %^%v%$");
    auto made = std::make_shared<spdlog::sinks::dist_sink_mt>();
    made->add_sink(terminal);
    return made;
  }();
  return instance;
}

using Sink = std::shared_ptr<spdlog::sinks::sink>;

// The last lines while no file takes them, for the next one.
class KeptLines {
 public:
  KeptLines() { begin(); }
  void file_opens(const Sink& file) {
    for (const Sink& ended : std::exchange(ended_, {})) all_sinks()->remove_sink(ended);
    if (files_++ == 0) {
      for (const auto& line : sink_->last_raw()) file->log(line);
      all_sinks()->remove_sink(sink_);
    }
    all_sinks()->add_sink(file);
  }
  void file_closes(const Sink& file, bool by_exception) {
    if (by_exception)
      ended_.push_back(file);
    else
      all_sinks()->remove_sink(file);
    if (--files_ == 0) begin();
  }

 private:
  void begin() {
    sink_ = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(256);
    all_sinks()->add_sink(sink_);
  }

  int files_ = 0;            // that are open
  std::vector<Sink> ended_;  // by exceptions, since the last one was opened
  std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt> sink_;
};

KeptLines& kept_lines() {
  static KeptLines instance;
  return instance;
}

spdlog::logger& logger() {
  static auto instance = [] {
    kept_lines();
    auto made = std::make_shared<spdlog::logger>("skein", all_sinks());
    made->flush_on(spdlog::level::info);
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
  status_line().around([&] { logger().log(native(level), "{}{}", prefix, visible(text, "\t\n")); });
}

void show_status(std::string_view line) {
  static const bool terminal = isatty(STDERR_FILENO) != 0;
  if (terminal && rank_of_thread == 0) status_line().show(line);
}

struct LogFile::Impl {
  std::shared_ptr<spdlog::sinks::basic_file_sink_mt> sink;
};

LogFile::LogFile(const std::string& path) : exceptions_(std::uncaught_exceptions()) {
  try {
    auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
    sink->set_pattern("%Y-%m-%d %H:%M:%S %v");
    status_line().around([&] { kept_lines().file_opens(sink); });
    impl_ = std::make_unique<Impl>(Impl{std::move(sink)});
  } catch (const spdlog::spdlog_ex& error) {
    warn("{}; what is logged is in no file of the run", error.what());
  }
}

LogFile::~LogFile() {
  if (!impl_) return;
  const bool by_exception = std::uncaught_exceptions() != exceptions_;
  status_line().around([&] { kept_lines().file_closes(impl_->sink, by_exception); });
}

}  // namespace skein::log
