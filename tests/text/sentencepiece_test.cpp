// Files of SentencePiece: what they say beside the golden models, how they are written, and what is
// refused.
#include <random>

#include "skein/core/base64.h"
#include "skein/text/export.h"
#include "skein/text/sentencepiece/model_file.h"
#include "skein/text/tokenizer.h"

#include "golden_files.h"

namespace skein::text {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<int32_t>;
using Model = SentencePieceModel;
using test::expect_refused;
using test::Scratch;

Model small_model() {
  Model model;
  model.pieces = {{"<unk>", 0, Model::Type::unknown},
                  {"<s>", 0, Model::Type::control},
                  {"</s>", 0, Model::Type::control},
                  {"\u2581a", -1},
                  {"b", -2},
                  {"\u2581", -3},
                  {"ab", -1.5},
                  {"a", -2.5}};
  model.unknown = 0;
  model.begin = 1;
  model.end = 2;
  return model;
}

std::unique_ptr<Tokenizer> loaded(const std::string& bytes) {
  const Scratch scratch;
  return load_tokenizer(scratch.write("small.model", bytes));
}

void refuse_model(const std::string& bytes, std::initializer_list<std::string> words) {
  const Scratch scratch;
  const std::string path = scratch.write("small.model", bytes);
  expect_refused(words, [&] { load_tokenizer(path); });
  expect_refused({path}, [&] { load_tokenizer(path); });
}

void refuse_model(const Model& model, std::initializer_list<std::string> words) {
  refuse_model(written_sentencepiece(model), words);
}

TEST(SentencePiece, AWrittenModelSaysTheSame) {
  Model model = small_model();
  model.byte_fallback = true;
  for (int byte = 0; byte < 256; ++byte)
    model.pieces.push_back({fmt::format("<0x{:02X}>", byte), 0, Model::Type::byte});
  model.kind = Model::Kind::bpe;
  model.unknown_surface = "?";
  model.add_dummy_prefix = model.remove_extra_whitespaces = false;
  const std::string bytes = written_sentencepiece(model);
  const Model read = read_sentencepiece(bytes, "it");
  EXPECT_EQ(written_sentencepiece(read), bytes);
  EXPECT_EQ(read.pieces.size(), model.pieces.size());
  EXPECT_EQ(read.pieces[3].text, "\u2581a");
  EXPECT_EQ(read.pieces[6].score, -1.5F);
  EXPECT_EQ(read.kind, Model::Kind::bpe);
  EXPECT_TRUE(read.byte_fallback && !read.add_dummy_prefix && !read.remove_extra_whitespaces);
  EXPECT_EQ(read.unknown_surface, "?");
  EXPECT_EQ((Ids{read.unknown, read.begin, read.end, read.pad}), (Ids{0, 1, 2, -1}));
}

TEST(SentencePiece, IdsRolesAndText) {
  const auto tokenizer = loaded(written_sentencepiece(small_model()));
  EXPECT_EQ(tokenizer->encode("ab  bc</s>"), (Ids{3, 4, 5, 4, 0}));
  EXPECT_EQ(tokenizer->encode_specials("<s>b</s>"), (Ids{1, 5, 4, 2}));
  EXPECT_EQ(tokenizer->decode({1, 3, 4, 5, 4, 2}), "ab b");
  EXPECT_EQ(tokenizer->decode({1, 3, 4, 2}, false), "<s> ab</s>");
  EXPECT_EQ(tokenizer->decode({3, 0}), "a \u2047 ");
  EXPECT_EQ(tokenizer->bytes_of(3), " a");
  EXPECT_EQ(tokenizer->bytes_of(2), "");
  EXPECT_TRUE(tokenizer->begins_word(3));
  EXPECT_FALSE(tokenizer->begins_word(4));
  const TokenRoles roles = tokenizer->roles();
  EXPECT_EQ((Ids{roles.unk, roles.bos, roles.eos, tokenizer->end_of_text()}), (Ids{0, 1, 2, 2}));
  EXPECT_EQ(tokenizer->id_of("ab"), 6);
}

TEST(SentencePiece, FilesBesideItSayHowItIsUsed) {
  const Scratch scratch;
  scratch.write("spiece.model", written_sentencepiece(small_model()));
  EXPECT_EQ(load_tokenizer(scratch.path())->with_template({4}).ids, (Ids{4}));
  scratch.write("tokenizer_config.json", R"({"tokenizer_class": "T5Tokenizer", "extra_ids": 2})");
  const auto t5 = load_tokenizer(scratch.path());
  EXPECT_EQ(t5->vocab_size(), 10);
  EXPECT_EQ(t5->id_of("<extra_id_0>"), 9);
  EXPECT_EQ(t5->id_of("<extra_id_1>"), 8);
  EXPECT_EQ(t5->with_template({4}).ids, (Ids{4, 2}));
  EXPECT_EQ(t5->encode_specials("a<extra_id_0>"), (Ids{3, 9}));
  EXPECT_EQ(tokenizer_from_json(t5->to_json())->to_json(), t5->to_json());
  scratch.write("tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizerFast"})");
  EXPECT_EQ(load_tokenizer(scratch.path())->with_template({4}).ids, (Ids{1, 4}));
  scratch.write("tokenizer_config.json", R"({"tokenizer_class": "XLMRobertaTokenizer"})");
  expect_refused({"XLMRobertaTokenizer", "tokenizer.json"},
                 [&] { load_tokenizer(scratch.path()); });
}

// Ids by vocab.json, pieces by source.spm and target.spm.
TEST(SentencePiece, MariansFolder) {
  const Scratch scratch;
  scratch.write("source.spm", written_sentencepiece(small_model()));
  Model target = small_model();
  target.pieces[3].score = -9;
  scratch.write("target.spm", written_sentencepiece(target));
  const std::string vocab =
      scratch.write("vocab.json", R"({"</s>": 0, "<unk>": 1, "ab": 2, "\u2581": 3, "\u2581a": 4,
                                      ">>de<<": 5, "<pad>": 6})");
  const auto tokenizer = load_tokenizer(scratch.path());
  EXPECT_EQ(tokenizer->vocab_size(), 7);
  EXPECT_EQ(tokenizer->encode("a b ab"), (Ids{4, 3, 1, 4, 1}));
  EXPECT_EQ(tokenizer->encode_specials(">>de<<a"), (Ids{5, 4}));
  EXPECT_EQ(tokenizer->with_template({4}).ids, (Ids{4, 0}));
  EXPECT_EQ(tokenizer->decode({4, 2, 3, 2, 0}), "aab ab");
  EXPECT_EQ((Ids{tokenizer->roles().pad, tokenizer->roles().unk, tokenizer->end_of_text()}),
            (Ids{6, 1, 0}));
  EXPECT_EQ(load_tokenizer(scratch.path() + "/target.spm")->encode("ab"), (Ids{3, 2}));
  EXPECT_EQ(tokenizer_from_json(tokenizer->to_json())->to_json(), tokenizer->to_json());
  expect_refused({"vocab.json", "keep its files"}, [&] { tokenizer_files(*tokenizer); });
  scratch.write("vocab.json", R"({"</s>": 0, "<unk>": 2})");
  expect_refused({vocab, "<unk>", "the id 2"}, [&] { load_tokenizer(scratch.path()); });
  scratch.write("vocab.json", R"({"</s>": 0, "a": 1})");
  expect_refused({"<unk>"}, [&] { load_tokenizer(scratch.path()); });
}

TEST(SentencePiece, ExportHasTheFileAndItsForm) {
  const std::string bytes = written_sentencepiece(small_model());
  const auto tokenizer = loaded(bytes);
  std::string form, file;
  for (const auto& [name, text] : tokenizer_files(*tokenizer)) {
    if (name == "tokenizer.json") form = text;
    if (name == "tokenizer.model") file = text;
  }
  EXPECT_EQ(file, bytes);
  const auto again = tokenizer_from_json(form);
  for (const char* text : {"", " ", "ab  bc", " a b ", "aab ab\n"}) {
    EXPECT_EQ(again->encode(text), tokenizer->encode(text)) << text;
    EXPECT_EQ(again->decode({3, 4, 5, 4}), tokenizer->decode({3, 4, 5, 4}));
  }
}

TEST(SentencePiece, GoldenModelsKeepTheirIdsInTheOtherForm) {
  const Scratch scratch;
  for (const Json& line : test::golden_lines("sentencepiece.jsonl.xz")) {
    const auto name = line["name"].get<std::string>();
    SCOPED_TRACE(name);
    if (name.find("user") != std::string::npos) continue;  // found before text is normalised there
    const auto tokenizer =
        load_tokenizer(scratch.write("x.model", *from_base64(line["model"].get<std::string>())));
    if (name.find("unused") != std::string::npos) {
      expect_refused({"unused"}, [&] { tokenizer_files(*tokenizer); });
      continue;
    }
    const auto again = tokenizer_from_json(tokenizer_files(*tokenizer)[0].second);
    int64_t same = 0, all = 0;
    for (const Json& made : line["strings"]) {
      ++all;
      same += Json(again->encode(made["text"].get<std::string>())) == made["ids"] ? 1 : 0;
    }
    EXPECT_GE(same, all * 9 / 10) << same << " of " << all;
  }
}

TEST(SentencePiece, RefusesModelsThatCannotBe) {
  const auto with = [](auto&& change) {
    Model model = small_model();
    change(model);
    return model;
  };
  refuse_model(with([](Model& model) { model.pieces[4].text = "a"; }), {"the piece a twice"});
  refuse_model(with([](Model& model) { model.pieces[4].text = ""; }), {"piece 4", "empty"});
  refuse_model(with([](Model& model) { model.pieces[0].type = Model::Type::normal; }),
               {"0 unknown pieces among 8"});
  refuse_model(with([](Model& model) { model.pieces[4].type = Model::Type::unknown; }),
               {"2 unknown pieces"});
  refuse_model(with([](Model& model) { model.pieces[4].score = NAN; }), {"piece 4", "score nan"});
  refuse_model(with([](Model& model) { model.pieces[4].type = Model::Type::byte; }),
               {"byte piece b", "byte_fallback is false"});
  refuse_model(with([](Model& model) { model.byte_fallback = true; }),
               {"0 pieces of bytes", "256"});
  refuse_model(with([](Model& model) { model.pieces[4].text = "\xFF"; }), {"piece 4", "UTF-8"});
  refuse_model(with([](Model& model) { model.charsmap = "abc"; }), {"precompiled_charsmap"});
  refuse_model(with([](Model& model) { model.charsmap = std::string("\x10\0\0\0abcd", 8); }),
               {"trie has 16 bytes, but 4 follow"});
  refuse_model(with([](Model& model) {
                 model.charsmap = std::string("\4\0\0\0\0\0\0\0", 8) + std::string(2000, 'x');
               }),
               {"replacement of 2000 bytes", "1024"});
  refuse_model(with([](Model& model) { model.kind = static_cast<Model::Kind>(3); }),
               {"type 3", "words (3)"});
}

TEST(SentencePiece, RefusesDamagedFiles) {
  refuse_model("", {"0 unknown pieces among 0"});
  refuse_model("\x0A", {"ends within a number"});
  refuse_model(
      "\x0A\x05"
      "ab",
      {"5 bytes are announced and 2 are there", "byte 2 of 4"});
  refuse_model("\x0B", {"field 1 has the unknown type 3"});
  refuse_model(std::string("\x02\x00", 2), {"a field of number 0"});
  refuse_model(std::string(11, '\xFF'), {"64 bits"});
  refuse_model("\x08\x01", {"field 1 has type 0 instead of 2"});
  const std::string good = written_sentencepiece(small_model());
  for (size_t bytes = 0; bytes < good.size(); ++bytes) {
    const Scratch scratch;
    try {
      load_tokenizer(scratch.write("cut.model", good.substr(0, bytes)));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage) << error.what();
    }
  }
}

TEST(SentencePiece, WhateverIsChangedInAFileItIsReadOrRefused) {
  std::mt19937 random(9);
  Model model = small_model();
  model.pieces.push_back({"ba", -1, Model::Type::user_defined});
  model.pieces.push_back({"aa", -1, Model::Type::unused});
  model.charsmap = std::string("\x0C\0\0\0\0\x04\0\0\x61\x01\0\0\0\0\0\x80z\0", 18);
  const Scratch scratch;
  for (int round = 0; round < 4000; ++round) {
    model.kind = round % 2 == 0 ? Model::Kind::unigram : Model::Kind::bpe;
    std::string bytes = written_sentencepiece(model);
    for (unsigned change = 0; change <= random() % 3; ++change)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    try {
      const auto tokenizer = load_tokenizer(scratch.write("changed.model", bytes));
      const Ids ids = tokenizer->encode(" abba \xFF aab\n\u2581c");
      for (const int32_t id : ids) ASSERT_TRUE(id >= 0 && id < tokenizer->vocab_size());
      tokenizer->decode(ids);
      EXPECT_EQ(tokenizer_from_json(tokenizer->to_json())->to_json(), tokenizer->to_json());
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ExitCode::usage) << error.what();
    }
  }
}

TEST(SentencePiece, RefusesWhatIsNotSupported) {
  const std::string good = written_sentencepiece(small_model());
  // trainer_spec (2) with field 24; denormalizer_spec (5) with its table (2); field 1000
  refuse_model(good + "\x12\x03\xC0\x01\x01", {"treat_whitespace_as_suffix"});
  refuse_model(good + "\x2A\x03\x12\x01x", {"denormalizer_spec"});
  EXPECT_EQ(loaded(good + "\xC0\x3E\x05")->vocab_size(), 8);
}

TEST(SentencePiece, RefusesAKeptFormThatIsNone) {
  const auto refuse = [](const char* key, const char* value,
                         std::initializer_list<std::string> words) {
    Json json = Json::parse(loaded(written_sentencepiece(small_model()))->to_json());
    json[key] = Json::parse(value);
    expect_refused(words, [&] { tokenizer_from_json(json.dump()); });
  };
  refuse("file", "\"a\"", {"file", "base64"});
  refuse("file", "5", {"file", "base64"});
  refuse("vocab", R"(["a"])", {"<unk>"});
  refuse("begin", "5", {"begin", "true or false"});
  refuse("extra", "5", {"extra"});
  refuse("extra", R"(["a"])", {"a", "ids"});
  refuse("other", "5", {"other"});
}

}  // namespace
}  // namespace skein::text
