// What stands around the texts of a pair, by the tokenizer.
#include "skein/data/samples/pair_form.h"

#include "data/data_fixtures.h"

namespace skein::data {
namespace {

using namespace test;
using Ids = std::vector<int32_t>;

// Words "a" and "b" with special tokens from id 2 on. post: its post_processor.
std::unique_ptr<text::Tokenizer> tokenizer(const std::vector<std::string>& special,
                                           const std::string& post = "null") {
  std::string added, vocabulary = R"("[UNK]":0,"a":1)";
  for (size_t i = 0; i < special.size(); ++i) {
    const std::string id = std::to_string(i + 2);
    added += (i ? "," : "") + (R"({"id":)" + id + R"(,"content":")" + special[i] +
                               R"(","single_word":false,"lstrip":false,"rstrip":false,)" +
                               R"("normalized":false,"special":true})");
    vocabulary += ",\"" + special[i] + "\":" + id;
  }
  return text::tokenizer_from_json(
      R"({"version":"1.0","added_tokens":[)" + added +
      R"(],"normalizer":null,"pre_tokenizer":{"type":"Whitespace"},"post_processor":)" + post +
      R"(,"decoder":null,"model":{"type":"WordPiece","unk_token":"[UNK]",)"
      R"("continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":{)" +
      vocabulary + "}}}");
}

std::string single(const std::string& before, const std::string& after, int id_before,
                   int id_after) {
  const auto token = [](const std::string& name) {
    return R"({"SpecialToken":{"id":")" + name + R"(","type_id":0}})";
  };
  const auto entry = [](const std::string& name, int id) {
    return "\"" + name + R"(":{"id":")" + name + R"(","ids":[)" + std::to_string(id) +
           R"(],"tokens":[")" + name + "\"]}";
  };
  return R"({"type":"TemplateProcessing","single":[)" +
         (before.empty() ? "" : token(before) + ",") + R"({"Sequence":{"id":"A","type_id":0}},)" +
         token(after) +
         R"(],"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}}],)" +
         R"("special_tokens":{)" + (before.empty() ? "" : entry(before, id_before) + ",") +
         entry(after, id_after) + "}}";
}

TEST(PairForm, OfT5AndMarianBeginsWithPadding) {
  const auto t5 = tokenizer({"<pad>", "</s>"}, single("", "</s>", 0, 3));
  const PairForm form = pair_form(*t5, *t5);
  EXPECT_EQ(form.source.before, Ids{});
  EXPECT_EQ(form.source.after, Ids{3});
  EXPECT_EQ(form.target.framed({1, 1}, 8), (Ids{1, 1, 3}));
  EXPECT_EQ(form.start, 2);
  EXPECT_EQ(form.source_pad, 2);
}

TEST(PairForm, OfBartBeginsWithTheTokenThatEnds) {
  const auto bart = tokenizer({"<s>", "<pad>", "</s>"}, single("<s>", "</s>", 2, 4));
  const PairForm form = pair_form(*bart, *bart, "</s>");
  EXPECT_EQ(form.source.before, Ids{2});
  EXPECT_EQ(form.start, 4);
  EXPECT_EQ(form.target_pad, 3);
  EXPECT_EQ(form.target.framed({1, 1, 1}, 4), (Ids{2, 1, 1, 4}));
  expect_error(ExitCode::usage, {"task.start=\"<start>\"", "no token"},
               [&] { pair_form(*bart, *bart, "<start>"); });
}

TEST(PairForm, WithoutATemplateTakesEndOfText) {
  const auto bytes = text::byte_tokenizer();
  const PairForm form = pair_form(*bytes, *bytes);
  EXPECT_EQ(form.target.framed({5}, 3), (Ids{5, 256}));
  EXPECT_EQ(form.source.after, Ids{256});
  EXPECT_EQ(form.start, 256);
  EXPECT_EQ(form.target_pad, -1);
}

TEST(PairForm, NeedsATokenThatEndsTargets) {
  const auto plain = tokenizer({});
  const auto bytes = text::byte_tokenizer();
  expect_error(ExitCode::usage, {"targets' tokenizer", "ends a text"},
               [&] { pair_form(*bytes, *plain); });
  EXPECT_EQ(pair_form(*plain, *bytes).source.size(), 0);
}

}  // namespace
}  // namespace skein::data
