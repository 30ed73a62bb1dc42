// Text that goes on with other text: it has the ids that it has in the whole.
#include "skein/text/sentencepiece/model_file.h"
#include "skein/text/train_tokenizer.h"

#include "tokenizer_json.h"

namespace skein::text {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<int32_t>;

// What is divided so that no word lies across the cut.
const std::pair<std::string, std::string> kParts[] = {
    {"a b.", " a b"}, {"a b.", "  ab"},     {"a.", "\nb a"}, {"a.", "\n\n a"},
    {"a.", "b a"},    {"ab.", " \u00E4 b"}, {"a.", " "},     {"a. ", " b"}};

void parts_are_the_whole(const Tokenizer& tokenizer, const std::string& name,
                         bool ends_are_kept = true) {
  for (const auto& [before, after] : kParts) {
    SCOPED_TRACE(name + ": " + Json(before).dump() + Json(after).dump());
    // Where white space at the end is removed, a text that is cut there loses it.
    if (!ends_are_kept && before.ends_with(' ')) continue;
    Ids ids = tokenizer.encode(before);
    const Ids rest = tokenizer.encode_within(after);
    ids.insert(ids.end(), rest.begin(), rest.end());
    EXPECT_EQ(ids, tokenizer.encode(before + after));
  }
}

Json unigram(const std::string& normalizer, const std::string& pre_tokenizer) {
  const Json vocabulary = Json::parse(R"([["<unk>", 0], ["▁", -3], ["a", -2], ["b", -2], [".", -2],
      ["\n", -2], [" ", -2], ["▁a", -1], ["ab", -1.5], [" b", -1.5], ["▁▁", -9]])");
  return {{"version", "1.0"},
          {"added_tokens", Json::array()},
          {"normalizer", Json::parse(normalizer)},
          {"pre_tokenizer", Json::parse(pre_tokenizer)},
          {"post_processor", nullptr},
          {"decoder", nullptr},
          {"model", {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", vocabulary}}}};
}

constexpr const char* kPrepend = R"({"type": "Prepend", "prepend": "▁"})";
constexpr const char* kMarks = R"({"type": "Replace", "pattern": {"String": " "}, "content": "▁"})";
constexpr const char* kOneSpace =
    R"({"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "})";
constexpr const char* kNoneAtTheEnds = R"({"type": "Strip"})";

std::string steps(std::initializer_list<const char*> list) {
  return fmt::format(R"({{"type": "Sequence", "normalizers": [{}]}})", fmt::join(list, ", "));
}

std::string metaspace(const char* scheme, bool split = true) {
  return fmt::format(R"({{"type": "Metaspace", "prepend_scheme": "{}", "split": {}}})", scheme,
                     split);
}

TEST(EncodeWithin, OfHuggingFacesForms) {
  const auto check = [](const std::string& normalizer, const std::string& pre_tokenizer,
                        bool ends_are_kept = true) {
    parts_are_the_whole(*made(unigram(normalizer, pre_tokenizer)), normalizer + " " + pre_tokenizer,
                        ends_are_kept);
  };
  check(steps({kPrepend, kMarks}), "null");
  check(steps({kMarks, kPrepend}), "null");
  check(kPrepend, metaspace("never"));
  for (const char* scheme : {"first", "always", "never"}) {
    check("null", metaspace(scheme));
    check("null", metaspace(scheme, false));
    check(kOneSpace, metaspace(scheme), false);
  }
  check(steps({kOneSpace, kNoneAtTheEnds, kPrepend}), metaspace("never"), false);
  check(steps({kOneSpace, kNoneAtTheEnds}), metaspace("first"), false);
  check(steps({kOneSpace, kNoneAtTheEnds}), metaspace("always"), false);
  check("null", R"({"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, )" +
                    metaspace("always") + "]}");
}

TEST(EncodeWithin, OfLearntKinds) {
  for (const LearntKind kind : {LearntKind::bpe, LearntKind::wordpiece, LearntKind::unigram})
    for (const LearntForm form : {LearntForm::none, LearntForm::nfkc}) {
      TokenizerTrainer trainer(
          {.kind = kind, .vocab_size = 300, .min_frequency = 1, .normal_form = form});
      for (int i = 0; i < 20; ++i) trainer.count("a b. ab. ba \n\u00E4 b");
      parts_are_the_whole(*trainer.train(),
                          fmt::format("{} {}", static_cast<int>(kind), static_cast<int>(form)),
                          form == LearntForm::none);
    }
}

TEST(EncodeWithin, OfByteLevelWithASpaceBefore) {
  TokenizerTrainer trainer({.vocab_size = 300, .min_frequency = 1, .special = {"<s>"}});
  trainer.count("a b. ab. ba \n\u00E4 b");
  Json json = Json::parse(trainer.train()->to_json());
  json["pre_tokenizer"]["add_prefix_space"] = true;
  parts_are_the_whole(*made(json), "byte-level");
}

TEST(EncodeWithin, OfSentencePiece) {
  using Type = SentencePieceModel::Type;
  SentencePieceModel model;
  model.pieces = {{"<unk>", 0, Type::unknown},
                  {"\u2581a", -1},
                  {"\u2581", -3},
                  {"a", -2},
                  {"b", -2},
                  {".", -2},
                  {"ab", -1.5},
                  {"\n", -2}};
  model.unknown = 0;
  const test::Scratch scratch;
  for (const auto kind : {SentencePieceModel::Kind::unigram, SentencePieceModel::Kind::bpe})
    for (const bool prefix : {false, true})
      for (const bool tidy : {false, true}) {
        model.kind = kind;
        model.add_dummy_prefix = prefix;
        model.remove_extra_whitespaces = tidy;
        const std::string path = scratch.write("small.model", written_sentencepiece(model));
        parts_are_the_whole(*load_tokenizer(path),
                            fmt::format("{} {} {}", static_cast<int>(kind), prefix, tidy), !tidy);
      }
}

TEST(EncodeWithin, PutsNoSpaceBefore) {
  const auto tokenizer = made(unigram(steps({kPrepend, kMarks}), "null"));
  EXPECT_EQ(tokenizer->encode("b"), (Ids{1, 3}));
  EXPECT_EQ(tokenizer->encode_within("b"), (Ids{3}));
  EXPECT_EQ(tokenizer->encode(" a"), (Ids{1, 7}));
  EXPECT_EQ(tokenizer->encode_within(" a"), (Ids{7}));
}

}  // namespace
}  // namespace skein::text
