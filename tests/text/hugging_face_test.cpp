#include <chrono>
#include <random>
#include <thread>

#include "skein/data/samples/label_form.h"
#include "skein/text/tokenizer.h"

#include "tokenizer_json.h"

namespace skein::text {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<int32_t>;

// Byte-level BPE of a few letters: a b c ab abc, and special tokens <s> and </s>.
Json small_bpe() {
  return Json::parse(R"({
    "version": "1.0",
    "added_tokens": [{"id": 6, "content": "<s>", "special": true}, {"id": 7, "content": "</s>", "special": true}],
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4, "\u0120": 5}, "merges": ["a b", ["ab", "c"]]}
  })");
}

Json small_wordpiece() {
  return Json::parse(R"({
    "added_tokens": [{"id": 0, "content": "[UNK]", "special": true}, {"id": 1, "content": "[CLS]", "special": true}],
    "normalizer": {"type": "BertNormalizer"},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "decoder": {"type": "WordPiece"},
    "model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "[CLS]": 1, "un": 2, "##able": 3, "##a": 4, "able": 5, "!": 6}}
  })");
}

TEST(HuggingFace, ByteBpe) {
  const auto tokenizer = made(small_bpe());
  EXPECT_EQ(tokenizer->vocab_size(), 8);
  EXPECT_EQ(tokenizer->encode("abc ab"), (Ids{4, 5, 3}));
  EXPECT_EQ(tokenizer->encode("<s>"), Ids{});  // bytes without a token are left out
  EXPECT_EQ(tokenizer->encode_specials("a<s>b</s>"), (Ids{0, 6, 1, 7}));
  EXPECT_EQ(tokenizer->decode({6, 4, 7}), "abc");
  EXPECT_EQ(tokenizer->decode({6, 4, 7}, false), "<s>abc</s>");
  EXPECT_EQ(tokenizer->end_of_text(), 7);
  EXPECT_EQ(tokenizer->roles().cls, 6);
  EXPECT_EQ(tokenizer->id_of("<s>"), 6);
  EXPECT_EQ(tokenizer->id_of("abc"), 4);
  EXPECT_EQ(tokenizer->id_of("cba"), -1);
  EXPECT_TRUE(tokenizer->begins_word(5));
  EXPECT_TRUE(tokenizer->begins_word(6));
  EXPECT_FALSE(tokenizer->begins_word(3));
  EXPECT_THROW(tokenizer->bytes_of(8), Error);
}

// A template says what begins and ends samples, a model what stands for unknown words: names do not
// count.
TEST(HuggingFace, SpecialTokensMayHaveAnyName) {
  Json json = small_wordpiece();
  json["added_tokens"] = Json::parse(
      R"([{"id": 0, "content": "<huh>", "special": true}, {"id": 1, "content": "[CLS]", "special": true},
    {"id": 7, "content": "<open>", "special": true}, {"id": 8, "content": "<shut>", "special": true}, {"id": 9, "content": "[UNK]", "special": true}])");
  json["model"]["vocab"] = {{"<huh>", 0}, {"[CLS]", 1}, {"un", 2}, {"##able", 3},
                            {"##a", 4},   {"able", 5},  {"!", 6}};
  json["model"]["unk_token"] = "<huh>";
  const Json template_ = Json::parse(R"({"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<open>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<shut>", "type_id": 0}}],
    "pair": [{"SpecialToken": {"id": "<open>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<shut>", "type_id": 0}},
             {"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "<shut>", "type_id": 1}}],
    "special_tokens": {"<open>": {"id": "<open>", "ids": [7], "tokens": ["<open>"]}, "<shut>": {"id": "<shut>", "ids": [8], "tokens": ["<shut>"]}}})");
  for (const bool bert : {false, true}) {
    json["post_processor"] =
        bert ? Json{{"type", "BertProcessing"}, {"sep", {"<shut>", 8}}, {"cls", {"<open>", 7}}}
             : template_;
    const auto tokenizer = made(json);
    EXPECT_EQ(tokenizer->encode("unable what"), (Ids{2, 3, 0}));
    const TokenRoles roles = tokenizer->roles();
    EXPECT_EQ((std::vector{roles.unk, roles.cls, roles.sep, roles.eos}), (Ids{0, 7, 8, 8}));
    const data::LabelForm form(*tokenizer, {.encoder = true, .length = 8});
    EXPECT_EQ(form.pair("unable", "able !").tokens, (Ids{7, 2, 3, 8, 5, 6, 8}));
    EXPECT_EQ(form.pair("unable", "able !").types, (Ids{0, 0, 0, 0, 1, 1, 1}));
    EXPECT_EQ(form.words(std::vector<std::string>{"what", "unable"}).at(0).sample.tokens,
              (Ids{7, 0, 2, 3, 8}));
    const auto again = tokenizer_from_json(tokenizer->to_json());
    EXPECT_EQ(again->roles().cls, 7);
  }
}

TEST(HuggingFace, WordPiece) {
  const auto tokenizer = made(small_wordpiece());
  EXPECT_EQ(tokenizer->encode("Unable \xC3\xBCnable! [CLS]"), (Ids{2, 3, 2, 3, 6, 0, 0, 0}));
  EXPECT_EQ(tokenizer->encode("una unb"), (Ids{2, 4, 0}));
  EXPECT_EQ(tokenizer->encode(std::string(101, 'u')), Ids{0});
  EXPECT_EQ(tokenizer->bytes_of(2), " un");
  EXPECT_EQ(tokenizer->bytes_of(3), "able");
  EXPECT_EQ(tokenizer->bytes_of(1), "");
  EXPECT_EQ(tokenizer->decode({1, 2, 3, 6, 5}), "unable! able");
  EXPECT_TRUE(tokenizer->begins_word(2));
  EXPECT_FALSE(tokenizer->begins_word(3));
  EXPECT_TRUE(tokenizer->begins_word(1));
  EXPECT_EQ(tokenizer->roles().unk, 0);
}

// Settings that could make a control token out of plain text.
TEST(HuggingFace, PlainTextNeverBecomesASpecialToken) {
  Json json = with(small_wordpiece(), "/pre_tokenizer", R"({"type": "WhitespaceSplit"})");
  json.erase("normalizer");
  EXPECT_EQ(made(json)->encode("[CLS] un"), (Ids{0, 2}));
  json = with(small_bpe(), "/model/ignore_merges", "true");
  json = with(json, "/added_tokens/0", R"({"id": 4, "content": "abc", "special": true})");
  EXPECT_EQ(made(json)->encode("abc"), (Ids{3, 2}));
  EXPECT_EQ(made(json)->encode_specials("abc"), (Ids{4}));
  json["model"]["ignore_merges"] = false;
  EXPECT_EQ(made(json)->encode("abc"), (Ids{3, 2}));
}

TEST(HuggingFace, OrdinaryAddedTokensAreFoundInPlainText) {
  const Json json = with(small_bpe(), "/added_tokens/1",
                         R"({"id": 9, "content": "  ", "special": false, "normalized": true})");
  const auto tokenizer = made(json);
  EXPECT_EQ(tokenizer->vocab_size(), 10);
  EXPECT_EQ(tokenizer->encode("a   b"), (Ids{0, 9, 5, 1}));
  EXPECT_EQ(tokenizer->bytes_of(9), "  ");
  EXPECT_EQ(tokenizer->bytes_of(7), "");  // a gap
  EXPECT_EQ(tokenizer->bytes_of(8), "");
}

TEST(HuggingFace, OwnTokenizersTakeSpecialTokensToo) {
  const auto tokenizer = byte_tokenizer();
  EXPECT_EQ(tokenizer->encode_specials("a<|endoftext|>"), (Ids{97, 256}));
  EXPECT_EQ(tokenizer->encode("<|endoftext|>").size(), 13u);
  EXPECT_EQ(tokenizer->id_of("<|endoftext|>"), 256);
  EXPECT_EQ(tokenizer->id_of("a"), 97);
  EXPECT_EQ(tokenizer->decode({97, 256}, false), "a<|endoftext|>");
  const Ids second = {98};
  EXPECT_EQ(tokenizer->with_template({97}, &second).types, (Ids{0, 1}));
}

TEST(HuggingFace, InvalidUtf8IsNoTrouble) {
  const auto bpe = made(with(small_bpe(), "/normalizer", R"({"type": "NFC"})"));
  EXPECT_EQ(bpe->encode("a\xff\xcc"
                        "b\xe2\x82"),
            (Ids{0, 1}));
  const auto bert = made(small_wordpiece());
  EXPECT_EQ(bert->encode("un\xff"
                         "able \xe2\x82"),
            (Ids{2, 3}));
}

TEST(HuggingFace, UnsupportedPartsAreNamed) {
  refused(with(small_bpe(), "/model/type", R"("Other")"), {"model", "Other", "Unigram"});
  refused(with(small_bpe(), "/model/type", R"("Unigram")"), {"Unigram", "ByteLevel"});
  refused(with(small_bpe(), "/model/dropout", "0.1"), {"dropout", "0.1"});
  refused(with(small_bpe(), "/model/byte_fallback", "true"), {"byte_fallback"});
  refused(with(small_bpe(), "/model/end_of_word_suffix", R"("</w>")"),
          {"end_of_word_suffix", "</w>"});
  refused(with(small_bpe(), "/pre_tokenizer", R"({"type": "Metaspace"})"),
          {"decoder is ByteLevel", "no bytes"});
  refused(with(small_bpe(), "/pre_tokenizer", R"({"type": "Whitespace"})"),
          {"decoder is ByteLevel", "no bytes"});
  refused(with(small_bpe(), "/pre_tokenizer/behaviour", "1"), {"ByteLevel", "behaviour"});
  refused(with(small_bpe(), "/normalizer", R"({"type": "Precompiled"})"),
          {"normalizer", "Precompiled", "precompiled_charsmap"});
  refused(with(small_bpe(), "/normalizer",
               R"({"type": "Precompiled", "precompiled_charsmap": "AAAA"})"),
          {"normalizer", "3 bytes"});
  refused(with(small_bpe(), "/normalizer", R"({"type": "Other"})"),
          {"normalizer", "Other", "NFKC"});
  refused(with(small_bpe(), "/normalizer", R"({"type": "Replace", "content": ""})"),
          {"Replace", "pattern"});
  refused(with(small_bpe(), "/decoder", R"({"type": "Metaspace"})"),
          {"decoder", "ByteLevel belongs there"});
  refused(with(small_bpe(), "/decoder", R"({"type": "Other"})"), {"decoder", "Other", "Fuse"});
  refused(with(small_bpe(), "/post_processor", R"({"type": "Other"})"),
          {"post_processor", "Other"});
  refused(with(small_bpe(), "/version", R"("2.0")"), {"2.0", "1.0"});
  refused(with(small_bpe(), "/extra", "1"), {"extra"});
  refused(with(small_bpe(), "/pre_tokenizer",
               R"({"type": "Split", "pattern": {"Regex": "a"}, "behavior": "MergedWithNext"})"),
          {"Split", "MergedWithNext"});
  refused(with(small_bpe(), "/pre_tokenizer",
               R"({"type": "Split", "pattern": {"Regex": "(a"}, "behavior": "Isolated"})"),
          {"regular expression (a"});
  refused(
      with(small_bpe(), "/pre_tokenizer",
           R"({"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}, {"type": "Digits"}]})"),
      {"Digits", "follows ByteLevel"});
  refused(with(small_bpe(), "/normalizer",
               R"({"type": "Sequence", "normalizers": [{"type": "Sequence", "normalizers": []}]})"),
          {"Sequence within a Sequence"});
}

TEST(HuggingFace, BrokenPartsAreNamed) {
  refused(with(small_bpe(), "/model/vocab/ab", "2"), {"both have id 2"});
  refused(with(small_bpe(), "/model/vocab/ab", "-1"), {"ab", "-1"});
  refused(with(small_bpe(), "/model/vocab/ab", "2000000000"), {"ab", "2000000000"});
  refused(with(small_bpe(), "/model/vocab/ab", "1e300"), {"ab", "1e+300"});
  refused(with(small_bpe(), "/model/vocab", "[]"), {"vocabulary", "array"});
  refused(with(small_bpe(), "/model/vocab", "{}"), {"empty"});
  refused(with(small_bpe(), "/model/merges/0", R"("a")"), {"merge 0"});
  refused(with(small_bpe(), "/model/merges/0", R"("a b c")"), {"merge 0"});
  refused(with(small_bpe(), "/model/merges/0", R"(["b", "c"])"), {"merge 0", "bc"});
  refused(with(small_bpe(), "/model/merges/1", R"(["a", "x"])"), {"merge 1", "x"});
  refused(with(small_bpe(), "/model/merges", "null"), {"merges", "missing"});
  refused(with(small_bpe(), "/model/unk_token", R"("<none>")"), {"<none>"});
  refused(with(small_wordpiece(), "/model/unk_token", R"("<none>")"), {"<none>"});
  refused(with(small_wordpiece(), "/model/max_input_chars_per_word", "0"),
          {"max_input_chars_per_word", "0"});
  refused(with(small_bpe(), "/added_tokens/0/id", "7"), {"id 7"});
  refused(with(small_bpe(), "/added_tokens/0/id", "3"), {"<s>", "3", "ab"});
  refused(with(small_bpe(), "/added_tokens/0/content", R"("ab")"), {"ab", "6", "3"});
  refused(with(small_bpe(), "/added_tokens/0/id", "16000000"), {"16000000", "far above"});
  refused(with(small_bpe(), "/added_tokens/0/lstrip", "3"), {"lstrip", "true or false"});
  refused(with(small_bpe(), "/added_tokens", "{}"), {"added_tokens", "array"});
  refused(with(small_bpe(), "/post_processor",
               R"({"type": "BertProcessing", "sep": ["x", 99], "cls": ["y", 1]})"),
          {"99"});
  refused(with(small_bpe(), "/post_processor",
               R"({"type": "BertProcessing", "sep": ["x"], "cls": ["y", 1]})"),
          {"sep"});
  refused(with(small_bpe(), "/post_processor",
               R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "q"}}],
                                                  "pair": [], "special_tokens": {}})"),
          {"does not say the ids of q"});
  refused(with(small_bpe(), "/post_processor",
               R"({"type": "TemplateProcessing", "single": [{"Sequence": {"id": "B"}}],
                                                  "pair": [], "special_tokens": {}})"),
          {"names the sequence B"});
  refused(with(small_bpe(), "/model", "7"), {"model", "number"});
}

// Whatever is changed in a file, it is read or refused.
TEST(HuggingFace, DamagedFilesAreReadOrRefused) {
  std::mt19937 random(29);
  for (const std::string& whole : {small_bpe().dump(), small_wordpiece().dump()})
    for (int round = 0; round < 1500; ++round) {
      std::string text = whole;
      for (unsigned edits = 1 + random() % 3; edits > 0; --edits) {
        const size_t at = random() % text.size();
        switch (random() % 3) {
          case 0: text[at] = "0123456789-.eE[]{},:\"tfn\xff"[random() % 24]; break;
          case 1: text.erase(at, 1 + random() % 8); break;
          default: text.insert(at, text.substr(random() % text.size(), random() % 20));
        }
        if (text.empty()) text = "x";
      }
      try {
        tokenizer_from_json(text)->encode_specials("un abc <s> [CLS]");
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::usage) << text;
      }
    }
}

TEST(HuggingFace, DepthAndSizeDoNoHarm) {
  std::string deep(200000, '[');
  test::expect_refused({"nested deeper"}, [&] { tokenizer_from_json(R"({"model":)" + deep); });
  deep += std::string(deep.size(), ']');
  test::expect_refused({"nested deeper"},
                       [&] { tokenizer_from_json(R"({"model":)" + deep + "}"); });
  Json json = small_bpe();
  json["model"]["vocab"][std::string(5000, 'a')] = 10;
  refused(json, {"5000 bytes"});
}

TEST(HuggingFace, LongWordsTakeNoAge) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string letters(10'000'000, 'a');
  EXPECT_EQ(made(small_bpe())->encode(letters).size(), letters.size());
  EXPECT_EQ(made(small_wordpiece())->encode(letters), Ids{0});
  // Marks in falling order are the worst case of putting them into canonical order.
  std::string marks = "a";
  for (int i = 0; i < 200'000; ++i) marks += i % 2 == 0 ? "\xCC\x81" : "\xCC\xA3";
  EXPECT_EQ(made(with(small_bpe(), "/normalizer", R"({"type": "NFD"})"))->encode(marks), Ids{0});
  EXPECT_EQ(made(small_wordpiece())->encode(marks), Ids{0});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

TEST(HuggingFace, ThreadsDoNotMixUp) {
  const auto first = made(small_bpe()), second = made(small_wordpiece());
  const auto body = [&] {
    for (int i = 0; i < 300; ++i) {
      EXPECT_EQ(first->encode("abc ab"), (Ids{4, 5, 3}));
      EXPECT_EQ(second->encode("unable un"), (Ids{2, 3, 2}));
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(body);
}

TEST(HuggingFace, FoldersAndTheirSettings) {
  const test::Scratch scratch;
  const std::string vocab = scratch.write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\nUn\n##able\nun\n");
  EXPECT_EQ(load_tokenizer(vocab)->encode("Unable"), (Ids{3, 4}));
  EXPECT_EQ(load_tokenizer(vocab)->with_template({5}).ids, (Ids{1, 5, 2}));
  scratch.write("tokenizer_config.json",
                R"({"do_lower_case": true, "mask_token": {"content": "Un"}})");
  EXPECT_EQ(load_tokenizer(scratch.path())->encode("Unable"), (Ids{5, 4}));
  EXPECT_EQ(load_tokenizer(scratch.path())->encode_specials("Un un"), (Ids{3, 5}));
  scratch.write("vocab.json", R"({"a": 0, "b": 1, "ab": 2, "<s>": 3})");
  test::expect_refused({"merges.txt"}, [&] { load_tokenizer(scratch.path()); });
  const std::string merges = scratch.write("merges.txt", "#version: 0.2\r\na b\r\n");
  EXPECT_EQ(load_tokenizer(scratch.path())->encode("ab"), Ids{2});
  EXPECT_EQ(load_tokenizer(merges)->encode_specials("<s>a"), (Ids{3, 0}));
  scratch.write("tokenizer.json", small_bpe().dump());
  EXPECT_EQ(load_tokenizer(scratch.path())->encode("abc"), Ids{4});
  scratch.write("tokenizer.json", with(small_bpe(), "/model/type", R"("Unigram")").dump());
  test::expect_refused({scratch.path(), "Unigram"}, [&] { load_tokenizer(scratch.path()); });
}

TEST(HuggingFace, VocabularyLinesMustBeText) {
  const test::Scratch scratch;
  const std::string vocab = scratch.write("vocab.txt", "[UNK]\nun\nb\xFFr\n");
  test::expect_refused({"vocab.txt:3", "UTF-8"}, [&] { load_tokenizer(vocab); });
}

TEST(HuggingFace, SettingsNameTheUnknownToken) {
  const test::Scratch scratch;
  const std::string vocab = scratch.write("vocab.txt", "<odd>\nun\n##able\n");
  test::expect_refused({"[UNK]"}, [&] { load_tokenizer(vocab); });
  scratch.write("special_tokens_map.json", R"({"unk_token": {"content": "<odd>"}})");
  EXPECT_EQ(load_tokenizer(vocab)->encode("unable x"), (Ids{1, 2, 0}));
  EXPECT_EQ(load_tokenizer(vocab)->roles().unk, 0);
  scratch.write("special_tokens_map.json", R"({"unk_token": "<missing>"})");
  test::expect_refused({"<missing>", "vocabulary"}, [&] { load_tokenizer(vocab); });
}

TEST(HuggingFace, BlankLinesTakeNoAge) {
  const auto begin = std::chrono::steady_clock::now();
  const test::Scratch scratch;
  scratch.write("vocab.json", R"({"a": 0, "b": 1, "ab": 2})");
  const std::string merges =
      scratch.write("merges.txt", "#version: 0.2\n" + std::string(2'000'000, '\n') + "a b \r\n");
  EXPECT_EQ(load_tokenizer(merges)->encode("ab"), Ids{2});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

TEST(HuggingFace, TheSameTokenizerMayBeWrittenOtherwise) {
  const StoredTokenizer canonical(made(small_bpe())), written(small_bpe().dump(2)), none("{}");
  EXPECT_TRUE(same_tokenizer(canonical, written));
  EXPECT_FALSE(canonical == written) << "their texts differ";
  EXPECT_EQ(canonical->vocab_size(), written->vocab_size());
  EXPECT_FALSE(same_tokenizer(canonical, StoredTokenizer(made(small_wordpiece()))));
  EXPECT_FALSE(same_tokenizer(canonical, none));
  EXPECT_TRUE(same_tokenizer(none, StoredTokenizer("{}")));
  test::expect_refused({"a tokenizer needs \"type\""}, [&] { none.value(); });
  EXPECT_EQ(none.text(), "{}") << "what is stored stays";
  EXPECT_TRUE(StoredTokenizer().empty());
}

}  // namespace
}  // namespace skein::text
