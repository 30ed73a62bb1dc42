#include "skein/comm/standing.h"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <set>

#include "skein/core/json.h"

namespace skein {

std::string packed(const Standing& s) {
  nlohmann::json turns = nlohmann::json::array();
  for (const Turn& turn : s.turns) turns.push_back({turn.group, turn.number, turn.turn});
  nlohmann::json made{{"rank", s.rank},       {"host", s.host},
                      {"process", s.process}, {"thread", s.thread},
                      {"running", s.running}, {"turns", turns},
                      {"last", s.last},       {"exchanges", s.exchanges},
                      {"step", s.step},       {"new_in_step", s.new_in_step}};
  if (s.waiting)
    made["waiting"] = {s.waiting->text, s.waiting->group, s.waiting->turn, s.waiting->peer,
                       s.waiting->seconds};
  return made.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<Standing> unpacked(const std::string& text) {
  const nlohmann::json given = nlohmann::json::parse(text, nullptr, false);
  try {
    Standing made;
    made.rank = given.at("rank");
    made.host = given.at("host");
    made.process = given.at("process");
    made.thread = given.at("thread");
    made.running = given.at("running");
    made.last = given.at("last");
    made.exchanges = given.at("exchanges");
    made.step = given.at("step");
    made.new_in_step = given.at("new_in_step");
    for (const auto& turn : given.at("turns"))
      made.turns.push_back({turn.at(0), turn.at(1), turn.at(2)});
    if (given.contains("waiting")) {
      const auto& w = given["waiting"];
      made.waiting = {w.at(0), w.at(1), w.at(2), w.at(3), w.at(4)};
    }
    return made;
  } catch (const nlohmann::json::exception&) {
    return {};
  }
}

namespace {

// The letter of the state, as in "17 (a name, with anything) T ..."; 'X' where there is none.
char letter_of_thread(int64_t process, int64_t thread) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/stat", process, thread));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const size_t end = text.rfind(") ");
  return end == text.npos || end + 2 >= text.size() ? 'X' : text[end + 2];
}

}  // namespace

bool is_runnable(int64_t process, int64_t thread) {
  return letter_of_thread(process, thread) == 'R';
}

Standing::State state_of_thread(int64_t process, int64_t thread) {
  switch (letter_of_thread(process, thread)) {
    case 'T':
    case 't': return Standing::stopped;
    case 'D': return Standing::blocked;
    case 'Z':
    case 'X': return Standing::gone;
    default: return Standing::answers;
  }
}

namespace {

const Turn* turn_in(const Standing& one, const std::string& group) {
  for (const Turn& turn : one.turns)
    if (turn.group == group) return &turn;
  return nullptr;
}

// Members of the group of that name that `one` is in, in the order of their ranks.
std::vector<int> members(const std::vector<Standing>& ranks, const Standing& one,
                         const std::string& group) {
  std::vector<int> found;
  const Turn* own = turn_in(one, group);
  for (const Standing& other : ranks) {
    const Turn* turn = turn_in(other, group);
    if (own && turn && turn->number == own->number) found.push_back(other.rank);
  }
  return found;
}

// Whom a rank waits for: the other end of a message, or all who have not come to a collective. Of
// one that does not answer nobody knows how far it is.
std::vector<int> waits_for(const std::vector<Standing>& ranks, const Standing& one) {
  std::vector<int> found;
  if (one.state != Standing::answers || !one.waiting) return found;
  const std::vector<int> all = members(ranks, one, one.waiting->group);
  if (const int peer = one.waiting->peer; peer >= 0) {
    if (peer < std::ssize(all)) found.push_back(all[static_cast<size_t>(peer)]);
    return found;
  }
  for (const int member : all) {
    const Standing& other = ranks[static_cast<size_t>(member)];
    if (other.state != Standing::answers ||
        turn_in(other, one.waiting->group)->turn < one.waiting->turn)
      found.push_back(member);
  }
  return found;
}

std::string state_text(const Standing& one) {
  switch (one.state) {
    case Standing::stopped: return "is stopped, by a signal or a debugger";
    case Standing::blocked: return "waits in the system, for storage or a driver";
    case Standing::gone: return "is gone";
    case Standing::silent: return "does not answer: it is stopped, or its host is cut off";
    case Standing::answers: break;
  }
  if (one.waiting)
    return fmt::format("waits {:.0f} s for {}", one.waiting->seconds, one.waiting->text);
  return one.running ? "is running, outside of any exchange" : "sleeps, outside of any exchange";
}

}  // namespace

std::string Standing::str() const {
  return fmt::format("rank {} (host {}, process {}) {}{}", rank, host, process, state_text(*this),
                     last.empty() ? "" : "; its last exchange was " + last);
}

std::string record_of(const Standing& standing) {
  std::string text = standing.str() + "\n";
  for (const std::string& line : standing.exchanges) text += line + "\n";
  return text;
}

namespace {

// Whether another rank made the collective that `other` waits for, which `one` has not, on its way
// to what `one` waits for.
bool left_out(const std::vector<Standing>& ranks, const Standing& one, const Standing& other) {
  const WaitingFor &lacks = *other.waiting, &place = *one.waiting;
  if (lacks.turn == 0 || place.turn == 0) return false;
  const Turn* own = turn_in(one, place.group);
  return std::ranges::any_of(ranks, [&](const Standing& third) {
    const Turn *made = turn_in(third, lacks.group), *there = turn_in(third, place.group);
    return third.rank != one.rank && made && there && own && there->number == own->number &&
           made->turn >= lacks.turn && there->turn >= place.turn;
  });
}

std::vector<int> of_circle(const std::vector<Standing>& ranks, const std::set<int>& circle) {
  std::set<int> odd;
  for (const int from : circle)
    for (const int to : waits_for(ranks, ranks[static_cast<size_t>(from)]))
      if (left_out(ranks, ranks[static_cast<size_t>(to)], ranks[static_cast<size_t>(from)]))
        odd.insert(to);
  const std::set<int>& found = odd.empty() ? circle : odd;
  return {found.begin(), found.end()};
}

// Those that nobody else keeps, by the exchanges alone.
std::vector<int> ends_of_waits(const std::vector<Standing>& ranks) {
  std::set<int> seen, found;
  std::vector<int> open;
  for (const Standing& one : ranks)
    for (const int other : waits_for(ranks, one)) open.push_back(other);
  while (!open.empty()) {
    const int next = open.back();
    open.pop_back();
    if (!seen.insert(next).second) continue;
    const std::vector<int> further = waits_for(ranks, ranks[static_cast<size_t>(next)]);
    if (further.empty()) found.insert(next);
    open.insert(open.end(), further.begin(), further.end());
  }
  if (found.empty()) return of_circle(ranks, seen);
  return {found.begin(), found.end()};
}

// The ranks that did something new in the step that they are in; none where all did.
std::vector<int> on_new_ways(const std::vector<Standing>& ranks) {
  std::vector<int> found;
  for (const Standing& one : ranks)
    if (one.step > 0 && one.new_in_step == one.step) found.push_back(one.rank);
  return found.size() < ranks.size() ? found : std::vector<int>();
}

bool waits(const Standing& one) { return one.state == Standing::answers && one.waiting; }

}  // namespace

// Where one stands outside of exchanges, the others wait for it. Where all of them wait, they are
// in different exchanges. A turn alone does not tell, for the root of a broadcast does not wait in
// it.
Behind waited_for(const std::vector<Standing>& ranks) {
  std::vector<int> odd;
  if (std::ranges::all_of(ranks, waits)) odd = on_new_ways(ranks);
  if (!odd.empty()) return {std::move(odd), true};
  return {ends_of_waits(ranks)};
}

namespace {

// The longest of those that wait for one of `behind`, or of all where nobody is known to.
const Standing* longest_wait(const std::vector<Standing>& ranks, const std::vector<int>& behind) {
  const Standing* found = nullptr;
  bool found_direct = false;
  for (const Standing& one : ranks) {
    if (!waits(one)) continue;
    const bool direct = std::ranges::any_of(waits_for(ranks, one), [&](int other) {
      return std::ranges::binary_search(behind, other);
    });
    if (!found || direct > found_direct ||
        (direct == found_direct && one.waiting->seconds > found->waiting->seconds))
      found = &one, found_direct = direct;
  }
  return found;
}

// Nobody waits for a host: all of them for storage or their devices.
std::string at_rest(const std::vector<Standing>& ranks) {
  constexpr size_t kTold = 4;
  std::string text = "the job stands still, and no rank waits for another through its host: ";
  for (size_t i = 0; i < std::min(kTold, ranks.size()); ++i)
    text += (i ? "; " : "") + ranks[i].str();
  if (ranks.size() > kTold) text += fmt::format("; and {} more", ranks.size() - kTold);
  return text + ". Look at the storage of run.dir, and at the devices and what connects them";
}

}  // namespace

std::string verdict(const std::vector<Standing>& ranks) {
  if (std::ranges::none_of(ranks, waits)) return at_rest(ranks);
  const Behind behind = waited_for(ranks);
  std::string text = "the job stands still: ";
  for (size_t i = 0; i < behind.ranks.size(); ++i)
    text += (i ? "; " : "") + ranks[static_cast<size_t>(behind.ranks[i])].str();
  if (behind.left_out)
    text +=
        ", which did not come next in earlier steps: an exchange may have been left out before it";
  if (behind.ranks.empty())
    text += "every rank has come to what the others wait for, so look at the network between them";
  const auto waiting = std::ranges::count_if(
      ranks, [](const Standing& one) { return one.state == Standing::answers && one.waiting; });
  if (const Standing* longest = longest_wait(ranks, behind.ranks))
    text += fmt::format(". {} rank{} wait{}; {}", waiting, waiting == 1 ? "" : "s",
                        waiting == 1 ? "s" : "", longest->str());
  return text;
}

}  // namespace skein
