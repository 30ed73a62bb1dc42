#include "skein/checkpoint/agree.h"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

namespace skein::checkpoint {
namespace {

constexpr size_t kReasonsShown = 4;

struct Failure {
  ExitCode code = ExitCode::done;  // done: there was none
  std::string text;
};

Failure catch_failure(const std::function<void()>& step) {
  try {
    step();
    return {};
  } catch (const Error& error) {
    return {error.code(), error.what()};
  } catch (const std::exception& error) {
    return {ExitCode::failure, error.what()};
  }
}

std::string encode(const Failure& failure) {
  return fmt::format("{} {}", static_cast<int>(failure.code), failure.text);
}

Failure decode(const std::string& text) {
  const size_t space = text.find(' ');
  return {static_cast<ExitCode>(std::stoi(text.substr(0, space))), text.substr(space + 1)};
}

struct Reason {
  std::string text;
  int first_rank = 0;
  int ranks = 0;
};

std::vector<Reason> group_by_text(const std::vector<Failure>& failures) {
  std::vector<Reason> reasons;
  for (size_t rank = 0; rank < failures.size(); ++rank) {
    if (failures[rank].code == ExitCode::done) continue;
    auto same = std::ranges::find_if(
        reasons, [&](const Reason& reason) { return reason.text == failures[rank].text; });
    if (same == reasons.end())
      same = reasons.insert(reasons.end(), Reason{failures[rank].text, narrow<int>(rank), 0});
    ++same->ranks;
  }
  return reasons;
}

std::string describe(const std::vector<Reason>& reasons) {
  std::string text;
  for (size_t i = 0; i < std::min(reasons.size(), kReasonsShown); ++i) {
    const Reason& reason = reasons[i];
    text += fmt::format("{}rank {}{}: {}", i == 0 ? "" : "; ", reason.first_rank,
                        reason.ranks > 1 ? fmt::format(" and {} more", reason.ranks - 1) : "",
                        reason.text);
  }
  if (reasons.size() > kReasonsShown)
    text += fmt::format("; and {} other reasons", reasons.size() - kReasonsShown);
  return text;
}

// What is wrong with the input counts only where nothing else failed: that may pass, and then be
// all there is.
ExitCode code_of(const std::vector<Failure>& failures) {
  ExitCode code = ExitCode::done;
  for (const Failure& failure : failures)
    if (code == ExitCode::done || (code == ExitCode::usage && failure.code != ExitCode::done))
      code = failure.code;
  return code;
}

}  // namespace

void agree(Group& world, const std::function<void()>& step) {
  const std::string mine = encode(catch_failure(step));
  std::vector<Failure> failures;
  for (const std::string& text : world.all_gather(mine)) failures.push_back(decode(text));
  const ExitCode code = code_of(failures);
  if (code == ExitCode::done) return;
  throw Error(code, world.size() == 1 ? failures[0].text : describe(group_by_text(failures)));
}

std::string from_root(Group& world, const std::function<std::string()>& step) {
  std::string answer;
  if (world.rank() == 0) {
    Failure failure = catch_failure([&] { answer = step(); });
    if (failure.code == ExitCode::done) failure.text = std::move(answer);
    answer = encode(failure);
  }
  Failure outcome = decode(world.broadcast(answer, 0));
  if (outcome.code != ExitCode::done) throw Error(outcome.code, outcome.text);
  return std::move(outcome.text);
}

std::string failure_of(const std::function<void()>& step) { return catch_failure(step).text; }

}  // namespace skein::checkpoint
