#include "skein/models/attention_options.h"

#include <gtest/gtest.h>

#include "skein/core/error.h"
#include "skein/models/architecture.h"
#include "skein/models/bert/bert.h"
#include "skein/models/flops.h"

namespace skein {
namespace {

AttentionOptions of_kind(const std::string& kind) {
  AttentionOptions made;
  made.kinds = {kind};
  if (kind == "window" || kind == "global") made.windows = {8};
  return made;
}

std::string refused(const AttentionOptions& c, bool causal = true, int64_t context = 64) {
  return refusal_of([&] { check(c, causal, context, 10); });
}

TEST(AttentionOptions, DifferByBlockAndBeginAgain) {
  AttentionOptions c;
  c.kinds = {"window", "full", "global"};
  c.windows = {8, 16};
  const std::vector<SightKind> kinds{SightKind::window, SightKind::full, SightKind::global};
  for (int64_t block = 0; block < 7; ++block) {
    EXPECT_EQ(c.of_block(block, 64).kind, kinds[block % 3]) << block;
    EXPECT_EQ(c.of_block(block, 64).window, block % 2 ? 16 : 8) << block;
  }
  EXPECT_FALSE(c.is_full());
  EXPECT_TRUE(AttentionOptions{}.is_full());
}

TEST(AttentionOptions, AreReadFromText) {
  ModelConfig c;
  Options options("", "");
  bind(options, c);
  options.set("attention.kind", "global,window", "here");
  options.set("attention.window", "512,64", "here");
  options.set("attention.mark_every", "100", "here");
  EXPECT_EQ(c.attention.of_block(0, c.context).kind, SightKind::global);
  EXPECT_EQ(c.attention.of_block(3, c.context).window, 64);
  EXPECT_EQ(c.attention.of_block(2, c.context).marks.every, 100);
}

// Runs and checkpoints of earlier versions have model.window.
TEST(AttentionOptions, TakeTheFormerWindow) {
  for (const bool encoder : {false, true}) {
    ModelConfig c;
    Options options("", "");
    bind(options, c);
    if (encoder) options.set("model.architecture", "bert", "old");
    options.set("model.window", "0", "old");
    EXPECT_TRUE(c.attention.is_full());
    options.set("model.window", "9", "old");
    EXPECT_EQ(c.attention.of_block(5, c.context).kind, SightKind::window);
    EXPECT_EQ(c.attention.of_block(5, c.context).window, encoder ? 16 : 9);
    EXPECT_NE(refusal_of([&] {
                options.set("model.window", "nine", "old.ini:3");
              }).find("model.window = 'nine' (old.ini:3): a whole number"),
              std::string::npos);
    EXPECT_EQ(refusal_of([&] { options.set("model.window", "-1", "old"); }).find("model.window=-1"),
              0u);
    EXPECT_EQ(options.help().find("model.window "), std::string::npos);
  }
}

TEST(AttentionOptions, RefuseWhatCannotBe) {
  EXPECT_EQ(refused(of_kind("sideways")),
            "attention.kind has 'sideways'; it may name full, window, global, bigbird, fixed, lsh");
  AttentionOptions c = of_kind("window");
  for (const std::string kind : {"window", "global", "bigbird", "fixed", "full"})
    EXPECT_EQ(refused(of_kind(kind), kind == "window"), "") << kind;
  c.windows = {0};
  EXPECT_EQ(refused(c).find("attention.window is 0; it must be from 1 to"), 0u);
  c.windows = {8, 7};
  EXPECT_EQ(refused(c), "");
  EXPECT_EQ(refused(c, false),
            "attention.window=7 must be even where tokens see those after them, too: half of it "
            "lies on each side");
  c = of_kind("bigbird");
  c.windows = {8};
  EXPECT_EQ(refused(c).find("attention.window=8 is for attention.kind window, global and lsh"), 0u);
  c = of_kind("bigbird");
  c.other.random = 9;
  c.other.block = 8;
  EXPECT_EQ(refused(c),
            "attention.random=9 is more than the 8 blocks of 8 tokens that model.context=64 has");
  c.other.random = 257;
  EXPECT_EQ(refused(c), "attention.random is 257; it must be from 0 to 256");
  c.other.random = 9;
  c.other.block = 0;
  EXPECT_EQ(refused(c).find("attention.block is 0; it must be from 1 to"), 0u);
  c = of_kind("fixed");
  c.other.block = c.other.stretch = 1;
  EXPECT_EQ(refused(c, true, 1'000'000),
            "attention.block=1 cuts model.context=1000000 into 1000000 blocks that look at about "
            "1000001 each; 67108864 are the most together: give larger blocks");
  c = of_kind("global");
  c.other.marks.first = 65;
  EXPECT_EQ(refused(c), "attention.mark_first=65 must be from 0 to model.context=64");
  c.other.marks = {.every = 65};
  EXPECT_EQ(refused(c), "attention.mark_every=65 must be from 0 to model.context=64");
  c.other.marks = {.token = 3};
  EXPECT_EQ(refused(c, false), "");
  EXPECT_EQ(refused(c).find("attention.mark_token=3 is for encoders"), 0u);
  c.other.marks = {.until = 3};
  EXPECT_EQ(refused(c, false), "");
  EXPECT_EQ(refused(c).find("attention.mark_until=3 is for encoders"), 0u);
  c.other.marks = {.until = 9};
  EXPECT_EQ(refused(c, false), "");
  c.other.marks = {.until = 10};
  EXPECT_EQ(refused(c, false),
            "attention.mark_until=10 is no token: give the id of one, below model.vocab_size=10, "
            "or -1 for none");
  c.other.marks = {.token = -2};
  EXPECT_EQ(refused(c, false).find("attention.mark_token=-2 is no token"), 0u);
  EXPECT_EQ(refused(c).find("attention.mark_token=-2 is no token"), 0u);
  c.kinds = {"full"};
  c.windows = {0};
  EXPECT_EQ(refused(c).find("attention.mark_first, mark_every, mark_token and mark_until are for"),
            0u);
  c = of_kind("full");
  c.other.stretch = 4;
  EXPECT_EQ(refused(c).find("attention.stretch=4 is for attention.kind=fixed"), 0u);
  c.other = {.block = 4};
  EXPECT_EQ(refused(c).find("attention.block=4 is for attention.kind bigbird, fixed and lsh"), 0u);
  c.other = {.random = 4};
  EXPECT_EQ(refused(c).find("attention.random and attention.drawn are for"), 0u);
}

TEST(AttentionOptions, OfHashingAreRefusedWhereTheyCannotBe) {
  AttentionOptions c = of_kind("lsh");
  c.windows = {16};
  EXPECT_EQ(refused(c), "");
  c.other.sides = {6, 7};
  EXPECT_EQ(refused(c),
            "attention.buckets=7 must be even: half of them lie opposite to the other half");
  c.other.sides = {4, 4, 4};
  EXPECT_EQ(refused(c),
            "attention.buckets=4,4,4 may be one number, or two whose product is 1048576 at most");
  c.other.sides = {4096, 512};
  EXPECT_EQ(
      refused(c),
      "attention.buckets=4096,512 may be one number, or two whose product is 1048576 at most");
  c.other.sides = {16384};
  EXPECT_EQ(refused(c),
            "attention.buckets=16384 cost as much as their sum, 16384, which may be 8192 at most; "
            "give two numbers of about the same size, whose product they are");
  c.other.sides = {0};
  EXPECT_EQ(refused(c), "attention.buckets is 0; it must be from 2 to 1048576");
  c.other.sides = {};
  c.other.rounds = 0;
  EXPECT_EQ(refused(c), "attention.rounds is 0; it must be from 1 to 64");
  c.other.rounds = 2;
  c.other.block = 8;
  EXPECT_EQ(refused(c).find("attention.block=8 is for attention.kind bigbird, fixed and lsh with "
                            "attention.same_bucket=false"),
            0u);
  c.other.same_bucket = false;
  EXPECT_EQ(refused(c).find("attention.window=16 is for attention.kind window, global and lsh"),
            0u);
  c.windows = {0};
  EXPECT_EQ(refused(c), "");
  c.other.block = 65;
  EXPECT_EQ(refused(c), "attention.block=65 must be from 1 to model.context=64");
  c = of_kind("full");
  c.other.rounds = 4;
  EXPECT_EQ(refused(c),
            "attention.rounds, attention.buckets and attention.same_bucket are for "
            "attention.kind=lsh, not full; leave them out");
}

TEST(AttentionOptions, TakeAsManyBucketsAsHalfOfWhatIsSeen) {
  AttentionOptions c = of_kind("lsh");
  c.windows = {64};
  using Sides = std::vector<int64_t>;
  EXPECT_EQ(c.of_block(0, 64).sides, Sides{2});
  EXPECT_EQ(c.of_block(0, 1000).sides, Sides{32});
  EXPECT_EQ(c.of_block(0, 2048).sides, Sides{64});
  EXPECT_EQ(c.of_block(0, 4096).sides, (Sides{16, 8}));
  c.other.same_bucket = false;
  EXPECT_EQ(c.of_block(0, 8192).sides, (Sides{16, 16}));
  c.other.sides = {10};
  EXPECT_EQ(c.of_block(0, 8192).sides, Sides{10});
}

TEST(AttentionOptions, HashQueriesThatAreKeys) {
  ModelConfig c;
  c.vocab_size = 100;
  c.context = 64;
  c.attention = of_kind("lsh");
  c.attention.windows = {16};
  c.n_kv_heads = c.n_heads / 2;
  EXPECT_NE(refusal_of([&] {
              check(c, 1, false);
            }).find("attention.kind=lsh makes keys of queries, so model.n_kv_heads="),
            std::string::npos);
}

TEST(AttentionOptions, SayWhereAStructureSavesNothing) {
  AttentionOptions c = windowed(64);
  EXPECT_EQ(useless_structures(c, true, 65, 1).size(), 0u);
  EXPECT_EQ(useless_structures(c, true, 64, 1),
            std::vector<std::string>{"attention.kind=window sees no less than full attention does "
                                     "in model.context=64 (attention.window=64)"});
  EXPECT_EQ(useless_structures(of_kind("bigbird"), false, 64 * 11, 1).size(), 1u);
  EXPECT_EQ(useless_structures(of_kind("bigbird"), false, 64 * 24, 1).size(), 0u);
  c.kinds = {"full", "full", "window"};
  c.windows = {8, 64};
  EXPECT_EQ(useless_structures(c, true, 64, 5).size(), 0u);
  EXPECT_EQ(useless_structures(c, true, 64, 6).size(), 1u) << "of the sixth block";
}

TEST(AttentionOptions, SayWhereNothingIsMarked) {
  AttentionOptions c = of_kind("global");
  EXPECT_EQ(useless_structures(c, false, 64, 1).size(), 0u);
  c.other.marks = {.first = 0};
  ASSERT_EQ(useless_structures(c, false, 64, 1).size(), 1u);
  EXPECT_EQ(useless_structures(c, false, 64, 1)[0].find("attention.kind=global marks no token"),
            0u);
  c.other.marks.until = 3;
  EXPECT_EQ(useless_structures(c, false, 64, 1).size(), 0u);
}

TEST(AttentionOptions, AreWhatFlopsCount) {
  ModelConfig c;
  c.vocab_size = 100;
  c.context = 64;
  const auto scores = [&](int64_t length) {
    ModelConfig full = c;
    full.attention = {};
    // Causal attention counts half of all pairs, windows the pairs that they have.
    const double pairs = 12.0 * 256 * static_cast<double>(c.n_layers);
    return (TokenFlops(c)(length) - TokenFlops(full)(length)) / pairs +
           static_cast<double>(length) / 2;
  };
  c.attention = windowed(4);
  EXPECT_NEAR(scores(64), (1 + 2 + 3 + 61 * 4) / 64.0, 1e-9);
  EXPECT_NEAR(scores(2), 1.5, 1e-9);
  EXPECT_NEAR(model_flops_per_token(c, 64), TokenFlops(c)(64), 1e-6);
  c.attention = of_kind("fixed");
  c.attention.other.block = c.attention.other.stretch = 4;
  EXPECT_NEAR(scores(64), keys_per_query(c.attention.of_block(0, c.context), true, 64), 1e-9);
}

}  // namespace
}  // namespace skein
