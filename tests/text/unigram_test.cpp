// Unigram models of tokenizer.json by hand; pieces_golden_test.cpp holds them against the library.
#include "skein/text/tokenizer.h"

#include "tokenizer_json.h"

namespace skein::text {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<int32_t>;

Json small_unigram() {
  return Json::parse(R"({
    "pre_tokenizer": {"type": "Metaspace"},
    "decoder": {"type": "Metaspace"},
    "model": {"type": "Unigram", "unk_id": 0,
              "vocab": [["<unk>", 0], ["\u2581", -2], ["a", -1], ["b", -1.5], ["ab", -2.5]]}
  })");
}

// Of ties the piece that begins first, and a character that is none costs 10 more than any piece.
TEST(Unigram, TheLargestSum) {
  const auto tokenizer = made(small_unigram());
  EXPECT_EQ(tokenizer->encode("ab ba"), (Ids{1, 4, 1, 3, 2}));
  EXPECT_EQ(tokenizer->encode("axyzb"), (Ids{1, 2, 0, 3}));
  EXPECT_EQ(tokenizer->encode("a<unk>"), (Ids{1, 2, 0}));
  EXPECT_EQ(tokenizer->decode({1, 4, 1, 3}), "ab b");
  EXPECT_EQ(tokenizer->bytes_of(1), " ");
  EXPECT_EQ(tokenizer->roles().unk, 0);
  EXPECT_EQ(made(with(small_unigram(), "/model/vocab/4/1", "-2.4999"))->encode("ab"), (Ids{1, 4}));
  EXPECT_EQ(made(with(small_unigram(), "/model/vocab/4/1", "-2.5001"))->encode("ab"),
            (Ids{1, 2, 3}));
}

TEST(Unigram, BrokenPartsAreNamed) {
  refused(with(small_unigram(), "/model/unk_id", "null"), {"unk_id", "-1", "5 ids"});
  refused(with(small_unigram(), "/model/unk_id", "5"), {"unk_id", "5"});
  refused(with(small_unigram(), "/model/vocab", "{}"), {"vocabulary", "array"});
  refused(with(small_unigram(), "/model/vocab/1", R"(["a"])"), {"entry 1", "score"});
  refused(with(small_unigram(), "/model/vocab/1", R"(["a", "b"])"), {"entry 1", "score"});
  refused(with(small_unigram(), "/model/vocab/1", R"(["a", 1])"), {"a", "ids 1 and 2"});
  refused(with(small_unigram(), "/pre_tokenizer/prepend_scheme", R"("last")"), {"last"});
  refused(with(small_unigram(), "/pre_tokenizer/replacement", R"("ab")"), {"one character", "ab"});
  refused(with(small_unigram(), "/pre_tokenizer", R"({"type": "ByteLevel"})"),
          {"Unigram", "ByteLevel"});
  refused(with(small_unigram(), "/decoder", R"({"type": "ByteLevel"})"), {"decoder", "no bytes"});
  refused(with(small_unigram(), "/decoder", R"({"type": "Strip", "content": ""})"),
          {"content", "one character"});
  refused(with(small_unigram(), "/decoder", R"({"type": "Strip", "content": " ", "start": -1})"),
          {"start", "-1"});
  refused(with(small_unigram(), "/model", R"({"type": "WordLevel", "vocab": {"a": 0}})"),
          {"<unk>", "not in its vocabulary"});
}

}  // namespace
}  // namespace skein::text
