// Preferences and scores drawn by a known utility.
#pragma once

#include "rlhf/reward_model_fixture.h"

namespace skein::rlhf {

// What a letter adds to the worth of an answer.
inline double worth(const std::string& answer) {
  const std::map<char, double> letters{{'a', 1.2}, {'b', -1.2}, {'c', 0.6}, {'d', -0.6}};
  double sum = 0;
  for (char letter : answer)
    if (const auto found = letters.find(letter); found != letters.end()) sum += found->second;
  return sum;
}

inline std::string drawn_answer(Chance& chance) {
  std::string answer;
  for (int i = 0, length = 1 + chance.below(3); i < length; ++i)
    answer += fmt::format("{}{}", i ? " " : "", static_cast<char>('a' + chance.below(6)));
  return answer;
}

// Pairs whose labels are drawn by σ of the difference of their worth.
inline std::string write_pairs(const std::string& path, int count, uint64_t seed) {
  Chance chance(seed);
  std::ofstream file(path);
  for (int i = 0; i < count;) {
    std::string first = drawn_answer(chance), second = drawn_answer(chance);
    if (first == second) continue;
    if (chance.uniform() > 1 / (1 + std::exp(worth(second) - worth(first))))
      std::swap(first, second);
    file << nlohmann::json{{"prompt", "ask"}, {"chosen", first}, {"rejected", second}}.dump()
         << '\n';
    ++i;
  }
  return path;
}

// Lists, choices of the best and scores beside pairs, with long and short prompts.
inline std::string write_mixed(const std::string& path) {
  Chance chance(9);
  std::ofstream file(path);
  for (int i = 0; i < 48; ++i) {
    std::vector<std::string> answers;
    while (answers.size() < 2 + static_cast<size_t>(i % 3)) {
      const std::string drawn = drawn_answer(chance);
      if (std::find(answers.begin(), answers.end(), drawn) == answers.end())
        answers.push_back(drawn);
    }
    std::vector<double> ranks;
    for (const std::string& answer : answers)
      ranks.push_back(-worth(answer) - 1e-3 * static_cast<double>(ranks.size()));
    file << nlohmann::json{{"prompt", std::string(static_cast<size_t>(i % 4), 'e') + " ask"},
                           {"answers", answers},
                           {"ranks", ranks},
                           {"scores", ranks}}
                .dump()
         << '\n';
  }
  return path;
}

inline std::string write_scores(const std::string& path) {
  Chance chance(10);
  std::ofstream file(path);
  for (int i = 0; i < 32; ++i) {
    const std::string answer = drawn_answer(chance);
    file << nlohmann::json{{"prompt", "ask"}, {"answer", answer}, {"score", worth(answer)}}.dump()
         << '\n';
  }
  return path;
}

class RewardTasks : public testing::Test {
 protected:
  test::Scratch folder_;
};

}  // namespace skein::rlhf
