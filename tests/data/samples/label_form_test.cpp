#include "skein/data/samples/label_form.h"

#include <algorithm>
#include <set>

#include "skein/data/samples/label_samples.h"

#include "data/data_fixtures.h"

namespace skein::data {
namespace {

using namespace test;
using Ids = std::vector<int32_t>;
using Words = std::vector<std::string>;

// Letters are their own ids, white space is dropped.
class Letters : public text::Tokenizer {
 public:
  explicit Letters(text::TokenRoles roles) : roles_(roles) {}
  int64_t vocab_size() const override { return 128; }
  int32_t end_of_text() const override { return roles_.eos; }
  Ids encode(std::string_view text) const override {
    Ids ids;
    std::copy_if(text.begin(), text.end(), std::back_inserter(ids),
                 [](char c) { return c != ' '; });
    return ids;
  }
  text::TokenRoles roles() const override { return roles_; }
  std::string_view bytes_of(int32_t) const override { return ""; }
  std::string to_json() const override { return ""; }

 private:
  text::TokenRoles roles_;
};

const Letters& framed() {
  static const Letters made({.pad = 9, .cls = 1, .sep = 2});
  return made;
}

const Letters& open_ended() {
  static const Letters made({.eos = 3});
  return made;
}

TEST(LabelForm, EncodersAreFramedAndReadAtTheFirstPlace) {
  const LabelForm form(framed(), {true, 8});
  EXPECT_EQ(form.text("ab c").tokens, (Ids{1, 'a', 'b', 'c', 2}));
  EXPECT_EQ(form.text("").tokens, (Ids{1, 2}));
  const FormedSample pair = form.pair("ab", "cd");
  EXPECT_EQ(pair.tokens, (Ids{1, 'a', 'b', 2, 'c', 'd', 2}));
  EXPECT_EQ(pair.types, (Ids{0, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(pair.places, Ids{0});
  EXPECT_EQ(form.pad(), 9);
}

TEST(LabelForm, DecodersAreReadAtTheLastPlace) {
  const LabelForm form(open_ended(), {false, 8, "|"});
  EXPECT_EQ(form.text("abc").tokens, (Ids{'a', 'b', 'c', 3}));
  EXPECT_EQ(form.text("abc").places, Ids{3});
  EXPECT_EQ(form.pair("a", "b").tokens, (Ids{'a', '|', 'b', 3}));
  EXPECT_EQ(LabelForm(open_ended(), {false, 8, "|", false}).text("abc").tokens,
            (Ids{'a', 'b', 'c'}));
  EXPECT_EQ(LabelForm(Letters({}), {false, 8}).text("").tokens, Ids{0});
}

// Begins with 7, and has it between two texts, too.
class Begun : public Letters {
 public:
  Begun() : Letters({.eos = 3}) {}
  text::TemplatedIds with_template(const Ids& first, const Ids* second) const override {
    text::TemplatedIds made{{7}, {}};
    made.ids.insert(made.ids.end(), first.begin(), first.end());
    if (second) {
      made.ids.push_back(7);
      made.ids.insert(made.ids.end(), second->begin(), second->end());
    }
    made.types.resize(made.ids.size());
    return made;
  }
};

TEST(LabelForm, DecodersOfOthersAreFramedByTheirTokenizer) {
  const LabelFormConfig config{.length = 6, .separator = "|", .framed = true};
  const Begun begun;
  const LabelForm form(begun, config);
  EXPECT_EQ(form.text("abc").tokens, (Ids{7, 'a', 'b', 'c'}));
  EXPECT_EQ(form.text("abc").places, Ids{3});
  EXPECT_EQ(form.pair("a", "b").tokens, (Ids{7, 'a', 7, 'b'}));
  EXPECT_EQ(form.pair("abcdef", "xy").tokens, (Ids{7, 'a', 'b', 7, 'x', 'y'}));
  EXPECT_EQ(form.text("abcdefgh").tokens, (Ids{7, 'a', 'b', 'c', 'd', 'e'}));
  const LabelForm bare(open_ended(), config);
  EXPECT_EQ(bare.pair("ab", "c").tokens, (Ids{'a', 'b', 'c'}));
  EXPECT_EQ(bare.text("").tokens, Ids{0});
}

TEST(LabelForm, SaysWhetherATokenStandsBehindAPair) {
  EXPECT_TRUE(LabelForm(framed(), {true, 8}).closes_pairs());
  EXPECT_EQ(LabelForm(framed(), {true, 8}).pair("ab", "").tokens, (Ids{1, 'a', 'b', 2, 2}));
  EXPECT_TRUE(LabelForm(open_ended(), {false, 8, "|"}).closes_pairs());
  EXPECT_FALSE(LabelForm(open_ended(), {false, 8, "|", false}).closes_pairs());
  EXPECT_FALSE(LabelForm(Begun(), {.length = 8, .framed = true}).closes_pairs());
}

TEST(LabelForm, CutsTheLongerTextFirst) {
  const LabelForm form(framed(), {true, 8});
  EXPECT_FALSE(form.text("abcdef").cut);
  const FormedSample single = form.text("abcdefgh");
  EXPECT_TRUE(single.cut);
  EXPECT_EQ(single.tokens, (Ids{1, 'a', 'b', 'c', 'd', 'e', 'f', 2}));
  EXPECT_EQ(form.pair("abcdefgh", "x").tokens, (Ids{1, 'a', 'b', 'c', 'd', 2, 'x', 2}));
  EXPECT_EQ(form.pair("a", "uvwxyz").tokens, (Ids{1, 'a', 2, 'u', 'v', 'w', 'x', 2}));
  EXPECT_EQ(form.pair("abcdef", "uvwxyz").tokens, (Ids{1, 'a', 'b', 'c', 2, 'u', 'v', 2}));
}

TEST(LabelForm, PutsEachWordInOneWindow) {
  const Words words{"ab", "cde", "f", "ghijklmn", "o"};
  const auto windows = LabelForm(framed(), {true, 7}).words(words);
  ASSERT_EQ(windows.size(), 4u);
  EXPECT_EQ(windows[0].sample.tokens, (Ids{1, 'a', 'b', 'c', 'd', 'e', 2}));
  EXPECT_EQ(windows[0].sample.places, (Ids{1, 3}));
  EXPECT_EQ(windows[1].sample.tokens, (Ids{1, 'f', 2}));
  EXPECT_EQ(windows[1].first, 2);
  EXPECT_EQ(windows[2].sample.tokens, (Ids{1, 'g', 'h', 'i', 'j', 'k', 2}));
  EXPECT_TRUE(windows[2].sample.cut);
  EXPECT_EQ(windows[3].first, 4);
  EXPECT_FALSE(windows[3].sample.cut);
}

// [CLS] and another token before the text.
class LongLead final : public Letters {
 public:
  LongLead() : Letters({.pad = 9, .cls = 1, .sep = 2}) {}
  text::TemplatedIds with_template(const Ids& first, const Ids*) const override {
    Ids ids{1, 5};
    ids.insert(ids.end(), first.begin(), first.end());
    ids.push_back(2);
    return {ids, Ids(ids.size(), 0)};
  }
};

TEST(LabelForm, TagsFollowTheTemplate) {
  const LongLead tokenizer;
  const auto windows = LabelForm(tokenizer, {true, 7}).words(Words{"ab", "cd", "e"});
  ASSERT_EQ(windows.size(), 2u);
  EXPECT_EQ(windows[0].sample.tokens, (Ids{1, 5, 'a', 'b', 'c', 'd', 2}));
  EXPECT_EQ(windows[0].sample.places, (Ids{2, 4}));
  EXPECT_EQ(windows[1].sample.places, Ids{2});
}

// A template of special tokens alone.
class Textless final : public Letters {
 public:
  Textless() : Letters({.pad = 9, .cls = 1, .sep = 2}) {}
  text::TemplatedIds with_template(const Ids&, const Ids*) const override {
    return {{1, 2}, {0, 0}};
  }
};

TEST(LabelForm, DecodersReadTagsAtTheLastSubword) {
  const auto windows = LabelForm(open_ended(), {false, 5}).words(Words{"ab", "cde", "f"});
  ASSERT_EQ(windows.size(), 2u);
  EXPECT_EQ(windows[0].sample.places, (Ids{1, 4}));
  EXPECT_EQ(windows[1].sample.places, Ids{0});
}

TEST(LabelForm, RefusesWhatCannotBe) {
  expect_error(ExitCode::usage, {"encoder", "[CLS]"}, [] { LabelForm(open_ended(), {true, 8}); });
  expect_error(ExitCode::usage, {"template", "leaves out"}, [] {
    LabelForm(Textless(), {true, 8});
  });
  expect_error(ExitCode::usage, {"task.separator", "UTF-8"}, [] {
    LabelForm(framed(), {true, 8, "\xC3"});
  });
  expect_error(ExitCode::usage, {"task.length=4", "no room"}, [] {
    LabelForm(framed(), {true, 4});
  });
}

TEST(LabelSamples, MakeBatchesByTheSamplesAlone) {
  const LabelForm form(framed(), {true, 8});
  std::vector<LabelledSample> samples;
  for (const char* text : {"a", "bc", "def"})
    samples.push_back({form.text(text), {static_cast<int32_t>(samples.size())}});
  samples[1].labels = {-1};
  EXPECT_EQ(padded_length(samples, 4, 100), 8);
  EXPECT_EQ(padded_length(samples, 4, 6), 6);
  const LabelSamples plain(samples, {6, 1, form.pad(), true, true, false}, 1, false);
  const Batch batch = plain.batch(0, 3);
  const auto row = [](const Tensor& tensor, int64_t at) {
    return Ids(tensor.data<int32_t>() + at * 6, tensor.data<int32_t>() + (at + 1) * 6);
  };
  EXPECT_EQ(row(batch.tokens, 0), (Ids{1, 'a', 2, 9, 9, 9}));
  EXPECT_EQ(row(batch.segments, 1), (Ids{0, 0, 0, 0, -1, -1}));
  EXPECT_EQ(row(batch.positions, 2), (Ids{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(std::vector<float>(batch.weights.data<float>(), batch.weights.data<float>() + 3),
            (std::vector<float>{1, 0, 1}));
  EXPECT_EQ(batch.targets.data<int32_t>()[2], 2);
  const LabelSamples shuffled(samples, plain.shape(), 7, true);
  std::multiset<int32_t> seen;
  for (int64_t i = 0; i < 3; ++i) seen.insert(shuffled.batch(i, 1).tokens.data<int32_t>()[1]);
  EXPECT_EQ(seen, (std::multiset<int32_t>{'a', 'b', 'd'}));
  EXPECT_EQ(shuffled.checksum(), plain.checksum());
  samples[2].labels = {0};
  EXPECT_NE(LabelSamples(samples, plain.shape(), 7, true).checksum(), plain.checksum());
}

}  // namespace
}  // namespace skein::data
