// Where the scores of answers come from: rules, programs, models, and weighted sums of them, all of
// equal standing.
//
//   RewardMixture rewards =
//       make_rewards("exact:field=answer,match=number; -0.1*length:max=200", {world});
//   std::vector<double> scores = rewards.scores(answers);
//
// A list has rewards with ';' between them, each `kind:argument` or `weight*kind:argument`; '\;' is
// a ';' within a reward. A reward with weight 0 is only logged. A weight is at most a factor: no
// reward is scaled by what a batch of it looks like.
//
//   regex:PATTERN       1 where the regular expression (PCRE2, Unicode) matches somewhere in the
//                       answer, else 0
//   regex_full:PATTERN  the same for the answer from end to end
//   length:target=N     -|n - N| / N for an answer of n tokens, the end token not counted;
//                       ,unit=characters: n characters
//   length:max=N        min(n, N) / N, which rises up to N tokens or characters
//   exact:field=NAME    1 where the answer is the text, number or one of a list of them in that
//                       field ("answer" if not given) of the prompt's record, else 0. Case, white
//                       space and a full stop at the end do not count. ,match=number: where the
//                       last number in the answer equals the last one in the field, or after the
//                       field's last "####" (GSM8K); 1,000.50 equals 1000.5
//   words:PATH          the sum of the weights of the answer's words that a file lists: a word a
//                       line (case does not count), with its weight behind it (else 1);
//                       ,cap=C: within +-C;  ,per=token: over the number of tokens
//   ended               1 for an answer that has ended by itself, 0 for one that was cut
//   process:COMMAND     what a program says, see below
//
// A process is started once, by rank 0, as /bin/sh -c COMMAND; stderr is that of the run. For each
// answer it reads a line, with the last turn of the prompt and all of its turns (here in two):
//   {"id":7,"prompt":"...","messages":[{"role":"user","content":"..."}],
//    "response":"...","ended":true,"record":{...}}
// and writes, in any order, {"id":7,"score":0.5}. It must not wait for the whole batch to be sent
// before it writes, other than to read on, and must flush its lines. Its input is closed at the end
// of the run; a process that goes on is ended, with all it has started.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "skein/comm/group.h"
#include "skein/comm/meeting.h"
#include "skein/text/template.h"

namespace skein::rlhf::rewards {

// What is asked of a policy.
struct Prompt {
  std::vector<int32_t> tokens;
  std::vector<text::Message> messages;  // the turns before the answer, the last one the user's
  // the whole JSON line it came from, for rewards that need more of it; "" for none
  std::string record = {};
  int64_t number = 0;  // in the data

  // Its last turn.
  std::string text() const { return messages.empty() ? "" : messages.back().content; }
};

struct Answer {
  Prompt prompt;
  std::string text;
  std::vector<int32_t> tokens;  // its end token included where it ended
  bool ended = false;
  bool cut = false;  // before a text that stopped it, with which its last token may begin
};

class RewardSource {
 public:
  virtual ~RewardSource() = default;
  // For messages.
  virtual std::string name() const = 0;
  // Collective: the same answers, and the same result, on all ranks. A number an answer.
  virtual std::vector<double> scores(std::span<const Answer> answers) = 0;
  // From now on scores() may be interrupted at that meeting, which outlives its use; null: no more.
  // A source that waits for long takes it.
  virtual void set_meeting(Meeting*) {}
  // A usage error for a prompt whose answers cannot be scored because of its turns or its record,
  // so that a run can look at all prompts before it begins.
  virtual void check_prompt(const Prompt&) const {}
};

struct RewardSpec {
  double weight = 1;
  std::string kind;
  std::string argument;  // behind the first ':'

  std::string text() const;  // kind:argument
};

// The rewards of a list as above. Usage errors that quote the reward for what is none.
std::vector<RewardSpec> parse_rewards(const std::string& list);

// The weighted sum of its parts, in their order.
class RewardMixture : public RewardSource {
 public:
  struct Part {
    double weight = 1;
    // kind of the reward; with _2, _3, ... behind it where an earlier part has it
    std::string label;
    std::unique_ptr<RewardSource> source;
  };
  explicit RewardMixture(std::vector<Part> parts);

  std::string name() const override;
  // Error(failure) naming the source and the prompt where a score is not finite.
  std::vector<double> scores(std::span<const Answer> answers) override;
  void set_meeting(Meeting* meeting) override;
  void check_prompt(const Prompt& prompt) const override;

  const std::vector<Part>& parts() const { return parts_; }
  // Of the last call: for each part, its scores without the weight.
  const std::vector<std::vector<double>>& last() const { return last_; }

 private:
  std::vector<Part> parts_;
  std::vector<std::vector<double>> last_;
};

using RewardMaker = std::function<std::unique_ptr<RewardSource>(const RewardSpec&)>;

struct RewardKind {
  RewardMaker make;
  // What stands for it in a run that is only looked at: it checks the spec and prompts, but starts
  // and loads nothing. Empty: make does so.
  RewardMaker foresee = {};
};

struct RewardContext {
  Group& world;
  double process_seconds = 60;               // the longest that a process may take for a batch
  std::map<std::string, RewardKind> more{};  // further kinds, or in the place of these
  bool foresee = false;                      // a run that is only looked at
};

// Collective. Usage errors for unknown kinds and wrong arguments; Error(failure) for files that
// cannot be read.
RewardMixture make_rewards(const std::string& list, const RewardContext& context);

}  // namespace skein::rlhf::rewards
