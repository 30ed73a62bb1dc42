// The one exception type of Skein, and the checks that throw it.
//
//   require(vocab % tp == 0, "model.vocab_size {} does not divide by parallel.tensor {}; ...",
//           vocab, tp);
//   SKEIN_CHECK_EQ(x.dim(-1), weight.dim(1));
//
// `require` and `fail_usage` speak to the user (exit code 2): say what was wrong, both values,
// where the value came from and what to do. `fail` is a failure of the outside world (exit code 1):
// a disk, a peer. SKEIN_CHECK* guard what only a bug of ours can break (exit code 70).
#pragma once

#include <fmt/format.h>
#include <stdexcept>
#include <string>
#include <system_error>

namespace skein {

// Exit codes of every Skein program; docs/exit-codes.md lists them for users.
enum class ExitCode : int {
  done = 0,
  failure = 1,
  usage = 2,
  internal = 70,
  watchdog = 75,
  superseded = 76,
  requeue = 85
};

class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

// Throws Error with ExitCode::failure.
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) {
  throw Error(ExitCode::failure, fmt::format(text, std::forward<Args>(args)...));
}

// Throws Error with ExitCode::usage.
template <class... Args>
[[noreturn]] void fail_usage(fmt::format_string<Args...> text, Args&&... args) {
  throw Error(ExitCode::usage, fmt::format(text, std::forward<Args>(args)...));
}

// Throws Error with ExitCode::usage unless `ok`.
template <class... Args>
void require(bool ok, fmt::format_string<Args...> text, Args&&... args) {
  if (!ok) fail_usage(text, std::forward<Args>(args)...);
}

// What `step` finds wrong with the input: the text of the usage error that it throws, or "" where
// it throws none. Other errors pass.
template <class Step>
std::string refusal_of(const Step& step) {
  try {
    step();
    return "";
  } catch (const Error& error) {
    if (error.code() != ExitCode::usage) throw;
    return error.what();
  }
}

// What `work` returns. Errors that it throws begin with `origin` and a colon.
template <class Work>
auto with_origin(const std::string& origin, Work&& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", origin, error.what()));
  }
}

namespace detail {
[[noreturn]] void check_failed(const char* expression, const std::string& values, const char* file,
                               int line);
}

// Whether `number`, an errno, says that a path leads to nothing: a mistake of the user's. Other
// numbers are failures of the outside world, such as of a disk, a mount or a permission.
bool names_nothing(int number);

// Throws what refuses a file that could not be opened to be read: the text, a colon and the
// system's words for `number`.
template <class... Args>
[[noreturn]] void fail_to_open(int number, fmt::format_string<Args...> text, Args&&... args) {
  throw Error(names_nothing(number) ? ExitCode::usage : ExitCode::failure,
              fmt::format(text, std::forward<Args>(args)...) + ": " +
                  std::generic_category().message(number));
}

#define SKEIN_CHECK(condition)                                                           \
  do {                                                                                   \
    if (!(condition)) ::skein::detail::check_failed(#condition, "", __FILE__, __LINE__); \
  } while (false)

#define SKEIN_CHECK_EQ(left, right)                                                            \
  do {                                                                                         \
    const auto skein_left_ = (left);                                                           \
    const auto skein_right_ = (right);                                                         \
    if (!(skein_left_ == skein_right_))                                                        \
      ::skein::detail::check_failed(#left " == " #right,                                       \
                                    ::fmt::format("{} against {}", skein_left_, skein_right_), \
                                    __FILE__, __LINE__);                                       \
  } while (false)

}  // namespace skein
