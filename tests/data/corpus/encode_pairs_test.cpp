// From pairs of texts to records of tokens, in stores and in memory.
#include "skein/data/corpus/encode_pairs.h"

#include "skein/text/train_tokenizer.h"

#include "data/data_fixtures.h"

namespace skein::data {
namespace {

using namespace test;

const std::shared_ptr<const text::Tokenizer>& bytes() {
  static const std::shared_ptr<const text::Tokenizer> tokenizer = text::byte_tokenizer();
  return tokenizer;
}
const PairTokenizers& one_tokenizer() {
  static const PairTokenizers both{bytes(), bytes()};
  return both;
}

std::string side(const Records& records, const char* column, int64_t pair) {
  return bytes()->decode(records.tokens(records.column(column), pair));
}

// "source|target" of each pair.
std::vector<std::string> summary(const Records& records) {
  std::vector<std::string> lines;
  for (int64_t i = 0; i < records.count(); ++i)
    lines.push_back(side(records, "source", i) + "|" + side(records, "target", i));
  return lines;
}

// Some thousand pairs, more than one batch of 1 MiB.
std::string many_pairs(const Scratch& scratch) {
  std::string text = "text\tlabel\n";
  for (int i = 0; i < 5000; ++i)
    text += std::string(static_cast<size_t>(100 + i % 333), 'a') + std::to_string(i) + "\tb" +
            std::to_string(i * i) + "\n";
  write_file(scratch.file("many.tsv"), text);
  return scratch.file("many.tsv");
}

PairStoreConfig store_of(const Scratch& scratch, const std::string& input,
                         const std::string& output) {
  return {.pairs = {.files = {input}}, .output = scratch.file(output)};
}

TEST(EncodePairs, StoresAreTheSameByAnyThreadsAndAsRecordsInMemory) {
  const Scratch scratch;
  const std::string input = many_pairs(scratch);
  PairStoreConfig config = store_of(scratch, input, "a.h5");
  config.threads = 1;
  CorpusProgress last;
  const PairCounts counts = write_pair_store(
      config, one_tokenizer(), [&](const CorpusProgress& progress) { last = progress; });
  EXPECT_EQ(counts.pairs, 5000);
  EXPECT_EQ(counts.left_out, 0);
  EXPECT_EQ(last.documents, 5000);
  EXPECT_EQ(last.tokens, counts.source_tokens + counts.target_tokens);
  EXPECT_EQ(last.bytes_total, static_cast<int64_t>(std::filesystem::file_size(input)));
  EXPECT_EQ(last.bytes_read, last.bytes_total);
  EXPECT_NE(progress_line(last).find("5000 pairs"), std::string::npos);
  config.threads = 3;
  config.output = scratch.file("b.h5");
  write_pair_store(config, one_tokenizer());
  EXPECT_TRUE(bytes_of_file(scratch.file("a.h5")) == bytes_of_file(scratch.file("b.h5")));
  const Records stored(scratch.file("a.h5"), true),
      made = pair_records(config.pairs, one_tokenizer());
  EXPECT_TRUE(summary(stored) == summary(made));
  EXPECT_EQ(stored.fingerprint(), made.fingerprint());
  EXPECT_EQ(side(stored, "target", 4999), "b24990001");
}

TEST(EncodePairs, SidesMayHaveTokenizersOfTheirOwnAndSourcesAPrefix) {
  const Scratch scratch;
  write_file(scratch.file("a.tsv"), "text\tlabel\nxy\tz\n");
  const std::shared_ptr<const text::Tokenizer> other = text::bpe_tokenizer({{87, 88}});
  const PairsConfig config{.files = {scratch.file("a.tsv")}, .prefix = "to: "};
  const Records records = pair_records(config, {bytes(), other});
  EXPECT_EQ(side(records, "source", 0), "to: xy");
  EXPECT_EQ(other->decode(records.tokens(1, 0)), "z");
  const auto& source = std::get<TokenMeaning>(records.columns()[0].info.meaning);
  EXPECT_EQ(source.prefix, "to: ");
  EXPECT_EQ(source.text_bytes, 6);
  EXPECT_EQ(tokenizers_of(records).source->to_json(), bytes()->to_json());
  EXPECT_EQ(tokenizers_of(records).target->to_json(), other->to_json());
}

TEST(EncodePairs, WhatCannotBeUsedIsRefusedOrLeftOut) {
  const Scratch scratch;
  write_file(scratch.file("a.tsv"), "text\tlabel\n\tb\na\tb\nc\t \n");
  PairStoreConfig config = store_of(scratch, scratch.file("a.tsv"), "a.h5");
  expect_error(ExitCode::usage, {"a.tsv:2", "the source is empty", "data.bad_records=N"},
               [&] { write_pair_store(config, one_tokenizer()); });
  config.pairs.bad_records = 2;
  EXPECT_EQ(scratch.entries(), 1) << "a refused run left something";
  EXPECT_EQ(write_pair_store(config, one_tokenizer()).left_out, 2);
  EXPECT_EQ(summary(Records(config.output)), (std::vector<std::string>{"a|b"}));
  expect_error(ExitCode::usage, {"output.path", "exists already"},
               [&] { write_pair_store(config, one_tokenizer()); });
  config.replace = true;
  config.output = config.pairs.files[0];
  expect_error(ExitCode::usage, {"destroy"}, [&] { write_pair_store(config, one_tokenizer()); });
  write_file(scratch.file("b.tsv"), "text\tlabel\n");
  expect_error(ExitCode::usage, {"b.tsv", "no pair that can be used"},
               [&] { pair_records({.files = {scratch.file("b.tsv")}}, one_tokenizer()); });
}

TEST(EncodePairs, ATextOfWhichNothingIsLeftIsRefusedToo) {
  const Scratch scratch;
  const std::string json = R"({"version":"1.0","added_tokens":[],
    "normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,
      "strip_accents":null,"lowercase":true},
    "pre_tokenizer":{"type":"BertPreTokenizer"},"post_processor":null,"decoder":null,
    "model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",
      "max_input_chars_per_word":100,"vocab":{"[UNK]":0,"a":1}}})";
  const std::shared_ptr<const text::Tokenizer> tokenizer = text::tokenizer_from_json(json);
  write_file(scratch.file("a.tsv"), "text\tlabel\na\ta\n\x01\x02\ta\n");
  expect_error(ExitCode::usage, {"a.tsv:3", "makes no token of the source", "\\x01"}, [&] {
    pair_records({.files = {scratch.file("a.tsv")}}, {tokenizer, bytes()});
  });
}

TEST(OpenPairs, TakesStoresAndFilesAndKnowsWhatTheyAre) {
  const Scratch scratch;
  write_file(scratch.file("a.tsv"), "text\tlabel\na\tb\n");
  PairStoreConfig config = store_of(scratch, scratch.file("a.tsv"), "a.h5");
  write_pair_store(config, one_tokenizer());
  const std::vector<std::string> entries{"2:" + scratch.file("a.h5"), scratch.file("a.tsv")};
  const PairBlend blend = open_pairs(entries, {}, one_tokenizer());
  ASSERT_EQ(blend.parts.size(), 2u);
  EXPECT_EQ(blend.weights, (std::vector<double>{2, 1}));
  for (const auto& part : blend.parts) EXPECT_EQ(summary(*part), (std::vector<std::string>{"a|b"}));
  const std::vector<DataFile> files = pair_files("data.train", blend);
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].path, scratch.file("a.h5"));
  EXPECT_EQ(files[0].sum, blend.parts[0]->fingerprint());
  EXPECT_NE(files[0].store, nullptr);
  EXPECT_EQ(files[1].path, scratch.file("a.tsv"));
  EXPECT_EQ(files[1].store, nullptr) << "of a file of texts";
  EXPECT_EQ(files[1].bytes, 15);

  const std::shared_ptr<const text::Tokenizer> other = text::bpe_tokenizer({{64, 65}});
  expect_error(ExitCode::usage, {"targets of", "a.h5", "257 ids", "258 ids"}, [&] {
    open_pairs({entries[0]}, {}, {bytes(), other});
  });
  expect_error(ExitCode::usage, {"a.h5", "prefix \"\"", "task.prefix is \"x: \""},
               [&] { open_pairs({entries[0]}, {.prefix = "x: "}, one_tokenizer()); });
  expect_error(ExitCode::usage, {"no pairs were given"},
               [] { open_pairs({}, {}, one_tokenizer()); });
  expect_error(ExitCode::usage, {"weight 0"},
               [&] { open_pairs({"0:" + scratch.file("a.tsv")}, {}, one_tokenizer()); });
}

TEST(PairStores, NeedTwoColumnsOfTokensAndNoEmptySide) {
  const Scratch scratch;
  const auto refused = [&](const std::vector<ColumnInfo>& columns,
                           std::initializer_list<std::string> words) {
    RecordBuilder builder("x.h5", columns);
    for (size_t i = 0; i < columns.size(); ++i) {
      const std::byte row[4] = {};
      builder.add_rows(i, std::span(row).first(columns[i].type.bytes));
    }
    builder.end_record();
    builder.end_record();
    const Records records = builder.finish();
    expect_error(ExitCode::usage, words, [&] { check_pair_store(records); });
  };
  const ColumnInfo source = token_column("source", *bytes()),
                   target = token_column("target", *bytes());
  refused({source}, {"x.h5", "no column \"target\"", "source"});
  ColumnInfo plain = target;
  plain.meaning = PlainMeaning();
  refused({source, plain}, {"x.h5", "\"target\" holds numbers"});
  refused({source, target}, {"x.h5", "the source of pair 1 is empty"});
}

// Of the pairs that are used alone, so that text k belongs to record k.
TEST(EncodePairs, TextsAreKeptBesideTheirRecordsWhereTheyAreAskedFor) {
  const Scratch scratch;
  write_file(scratch.file("a.jsonl"),
             "{\"text\": \"one\", \"label\": [\"eins\", \"ein\"]}\n"
             "{\"text\": \"\", \"label\": \"zwei\"}\n"
             "{\"text\": \"three\", \"label\": \"drei\"}\n");
  write_pair_store(store_of(scratch, many_pairs(scratch), "b.h5"), one_tokenizer());
  const std::vector<std::string> entries{scratch.file("a.jsonl"), scratch.file("b.h5")};
  const PairsConfig config{.prefix = "to: ", .bad_records = 1};
  const std::vector<std::string> file{entries.front()};
  const PairBlend kept = open_pairs(file, config, one_tokenizer(), true);
  ASSERT_EQ(kept.texts.size(), 1u);
  ASSERT_EQ(std::ssize(kept.texts[0]), kept.parts[0]->count());
  EXPECT_EQ(kept.texts[0][0].source, "one");
  EXPECT_EQ(kept.texts[0][0].target, "eins");
  EXPECT_EQ(kept.texts[0][0].references, std::vector<std::string>{"ein"});
  EXPECT_EQ(kept.texts[0][1].target, "drei");
  EXPECT_EQ(side(*kept.parts[0], "source", 1), "to: three");
  const PairBlend both = open_pairs(entries, {.bad_records = 1}, one_tokenizer());
  EXPECT_EQ(both.texts.size(), 2u);
  EXPECT_TRUE(both.texts[0].empty());
  EXPECT_TRUE(open_pairs({entries.back()}, {}, one_tokenizer(), true).texts[0].empty());
}

}  // namespace
}  // namespace skein::data
