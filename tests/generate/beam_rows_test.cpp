// Rows of the cache hold the tokens of their beams, and little is copied for it.
#include "generate/beam_rows.h"

#include <gtest/gtest.h>

#include "generate/scripted_logits.h"

namespace skein::generate {
namespace {

// Of each row the tokens that its columns are of, moved as the cache would be.
class Columns {
 public:
  explicit Columns(int64_t rows) : held_(static_cast<size_t>(rows)) {}

  void feed(BeamRows& rows) {
    for (size_t row = 0; row < held_.size(); ++row)
      held_[row].push_back(rows.feed(static_cast<int64_t>(row)));
  }
  void follow(const std::vector<KvCache::Follow>& moves) {
    std::vector<bool> read(held_.size()), written(held_.size());
    for (const auto& [from, to, first] : moves) {
      const Tokens& source = held_[static_cast<size_t>(from)];
      Tokens& target = held_[static_cast<size_t>(to)];
      EXPECT_TRUE(std::equal(source.begin(), source.begin() + first, target.begin()));
      EXPECT_NE(source[static_cast<size_t>(first)], target[static_cast<size_t>(first)]);
      copied_ += std::ssize(source) - first;
      target = source;
      read[static_cast<size_t>(from)] = true;
      EXPECT_FALSE(written[static_cast<size_t>(to)]) << "twice";
      written[static_cast<size_t>(to)] = true;
    }
    for (size_t row = 0; row < held_.size(); ++row) EXPECT_FALSE(read[row] && written[row]);
  }
  const Tokens& row(int64_t number) const { return held_[static_cast<size_t>(number)]; }
  int64_t copied() const { return copied_; }

 private:
  std::vector<Tokens> held_;
  int64_t copied_ = 0;
};

// Each beam is in one row, which holds all its tokens but the last.
void expect_held(const BeamRows& rows, const Columns& columns, int64_t size) {
  std::vector<bool> seen(rows.search().beams().size());
  for (int64_t row = 0; row < size; ++row) {
    const int64_t beam = rows.beam(row);
    if (beam < 0) continue;
    EXPECT_FALSE(seen.at(static_cast<size_t>(beam)));
    seen[static_cast<size_t>(beam)] = true;
    Tokens tokens = rows.search().beams()[static_cast<size_t>(beam)].tokens;
    tokens.pop_back();
    EXPECT_EQ(columns.row(row), tokens);
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), std::ssize(seen));
}

TEST(BeamRows, HoldTheTokensOfTheirBeams) {
  int64_t copied = 0, all = 0;
  for (int32_t source = 0; source < 20; ++source) {
    BeamConfig config;
    config.size = 5;
    config.first_token = source % 3 ? -1 : 7;  // one beam alone after the first step
    config.early_stop = EarlyStop::never;
    test::ScriptedModel model({30, 0, 61, {}});
    const Tokens prompt{source, 4};
    BeamRows rows(config, prompt, 30, 0);
    Columns columns(config.size);
    columns.follow(rows.advance(model.candidates(rows.search(), prompt, 10)));
    while (!rows.search().finished()) {
      expect_held(rows, columns, config.size);
      columns.feed(rows);
      all += config.size * rows.search().length();
      columns.follow(rows.advance(model.candidates(rows.search(), prompt, 10)));
    }
    copied += columns.copied();
  }
  EXPECT_GT(copied, 0);
  EXPECT_LT(copied * 8, all) << "beams that go on stay, and the others share their beginnings";
}

}  // namespace
}  // namespace skein::generate
