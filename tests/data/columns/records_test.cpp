// Stores of records, and records in memory.
#include "skein/data/columns/records.h"

#include <cstring>

#include "skein/data/columns/record_sink.h"
#include "skein/data/stores/hdf5_writer.h"
#include "skein/data/stores/store_check.h"

#include "data/data_fixtures.h"

namespace skein::data {
namespace {

using namespace test;
using Ids = std::vector<int32_t>;

constexpr Hdf5Type kByte{Hdf5Type::Kind::integer, 1, false}, kReal{Hdf5Type::Kind::real, 4, true};

ColumnInfo small_tokens(const std::string& name, int64_t vocab_size = 300) {
  const uint64_t width = vocab_size <= 256 ? 1 : vocab_size <= 65536 ? 2 : 4;
  return {.name = name,
          .meaning = TokenMeaning{.tokenizer = text::StoredTokenizer("{\"of\":\"" + name + "\"}"),
                                  .vocab_size = vocab_size,
                                  .text_bytes = 0,
                                  .prefix = name + ": "},
          .ragged = true,
          .type = {Hdf5Type::Kind::integer, width, false},
          .row_shape = {}};
}

// Column 0 is "source", column 1 "target".
void add_pairs(RecordSink& sink) {
  const std::vector<std::pair<Ids, Ids>> pairs{{{1, 2, 299}, {4}}, {{5}, {6, 7}}, {{8, 9}, {}}};
  for (const auto& [source, target] : pairs) {
    sink.add_tokens(0, source, std::ssize(source));
    sink.add_tokens(1, target, 10);
    sink.end_record();
  }
}

std::string pair_store(const Scratch& scratch, const std::string& name) {
  RecordWriter writer(scratch.file(name), {small_tokens("target"), small_tokens("source")});
  add_pairs(writer);
  writer.finish();
  return scratch.file(name);
}

void expect_pairs(const Records& records) {
  ASSERT_EQ(records.count(), 3);
  const size_t source = records.column("source"), target = records.column("target");
  EXPECT_EQ(source, 0u);
  EXPECT_EQ(records.tokens(source, 0), (Ids{1, 2, 299}));
  EXPECT_EQ(records.tokens(source, 1), (Ids{5}));
  EXPECT_EQ(records.tokens(source, 2), (Ids{8, 9}));
  EXPECT_EQ(records.tokens(target, 1), (Ids{6, 7}));
  EXPECT_EQ(records.tokens(target, 2), Ids{});
  EXPECT_EQ(records.rows(source, 0), 3);
  EXPECT_EQ(records.rows(target, 2), 0);
  const auto& meaning = std::get<TokenMeaning>(records.columns()[target].info.meaning);
  EXPECT_EQ(meaning.text_bytes, 30);
  EXPECT_EQ(meaning.vocab_size, 300);
  EXPECT_EQ(meaning.prefix, "target: ");
  EXPECT_EQ(meaning.tokenizer.text(), "{\"of\":\"target\"}");
  expect_error(ExitCode::internal, {}, [&] { records.tokens(source, 3); });
  expect_error(ExitCode::usage, {records.name(), "\"sorce\"", "source, target", "did you mean"},
               [&] { records.column("sorce"); });
}

TEST(Records, RoundTripThroughAStoreAndThroughMemory) {
  const Scratch scratch;
  const Records stored(pair_store(scratch, "a.h5"), true);
  expect_pairs(stored);
  RecordBuilder builder("memory", {small_tokens("source"), small_tokens("target")});
  add_pairs(builder);
  const Records made = builder.finish();
  expect_pairs(made);
  EXPECT_EQ(made.fingerprint(), stored.fingerprint());
  EXPECT_EQ(made.bytes(), stored.bytes());
  EXPECT_EQ(stored.bytes(), (6 + 3) * 2 + 2 * 4 * 8);
  made.verify_sum();
  EXPECT_EQ(scratch.entries(), 1) << "something was left behind";
}

TEST(Records, EqualContentsGiveEqualFilesAndOtherContentsOtherFingerprints) {
  const Scratch scratch;
  const std::string path = pair_store(scratch, "a.h5");
  EXPECT_TRUE(bytes_of_file(path) == bytes_of_file(pair_store(scratch, "b.h5")));
  RecordWriter writer(scratch.file("c.h5"), {small_tokens("source"), small_tokens("target")});
  add_pairs(writer);
  writer.add_tokens(0, Ids{1}, 1);
  writer.end_record();
  writer.finish();
  EXPECT_NE(Records(path).fingerprint(), Records(scratch.file("c.h5")).fingerprint());
}

TEST(Records, HoldColumnsOfOneRowARecordAndOfRowsOfAnyShape) {
  const Scratch scratch;
  const ColumnInfo image{
      .name = "image", .meaning = {}, .ragged = false, .type = kByte, .row_shape = {2, 3}};
  const ColumnInfo places{
      .name = "places", .meaning = {}, .ragged = true, .type = kReal, .row_shape = {2}};
  RecordWriter writer(scratch.file("a.h5"), {image, places});
  for (unsigned char record = 0; record < 3; ++record) {
    const std::vector<unsigned char> pixels(6, record);
    const std::vector<float> rows(2 * record, 0.5f + static_cast<float>(record));
    writer.add_rows(0, std::as_bytes(std::span(pixels)));
    writer.add_rows(1, std::as_bytes(std::span(rows)));
    writer.end_record();
  }
  writer.finish();
  const Records records(scratch.file("a.h5"), true);
  EXPECT_EQ(records.columns()[0].info.row_shape, (std::vector<uint64_t>{2, 3}));
  EXPECT_FALSE(records.columns()[0].info.ragged);
  EXPECT_EQ(records.rows(0, 2), 1);
  ASSERT_EQ(records.values(0, 2).size(), 6u);
  EXPECT_EQ(records.values(0, 2)[5], std::byte{2});
  EXPECT_EQ(records.rows(1, 0), 0);
  ASSERT_EQ(records.values(1, 2).size(), 16u);
  float last = 0;
  std::memcpy(&last, &records.values(1, 2)[12], 4);
  EXPECT_EQ(last, 2.5f);
  EXPECT_EQ(std::string(name_of(records.columns()[1].info.meaning)), "numbers");
}

// What tools/make_record_store.py wrote, by other libraries.
TEST(Records, OfOtherProgramsAreAsGood) {
  const Records records("data/golden/records.h5", true);
  ASSERT_EQ(records.count(), 5);
  ASSERT_EQ(records.columns().size(), 3u);
  const size_t source = records.column("source"), target = records.column("target"),
               image = records.column("image");
  for (int32_t k = 0; k < 5; ++k) {
    Ids sources, targets;
    for (int32_t i = 0; i <= k; ++i) sources.push_back(10 * k + i);
    for (int32_t i = 0; i < 5 - k; ++i) targets.push_back(200 - i);
    EXPECT_EQ(records.tokens(source, k), sources);
    EXPECT_EQ(records.tokens(target, k), targets);
    float last = 0;
    ASSERT_EQ(records.values(image, k).size(), 24u);
    std::memcpy(&last, &records.values(image, k)[20], 4);
    EXPECT_EQ(last, static_cast<float>(6 * k + 5));
  }
  const auto& meaning = std::get<TokenMeaning>(records.columns()[source].info.meaning);
  EXPECT_EQ(meaning.prefix, "source: ");
  EXPECT_EQ(meaning.tokenizer.text(), "{\"of\":\"source\"}");
  EXPECT_EQ(records.columns()[image].info.row_shape, (std::vector<uint64_t>{2, 3}));
}

TEST(Records, SinksRefuseWhatTheirColumnsCannotHold) {
  const Scratch scratch;
  {
    RecordWriter writer(scratch.file("a.h5"), {small_tokens("source")});
    expect_error(ExitCode::usage, {"a.h5", "token 1 of record 0 is 300", "300 ids", "source"}, [&] {
      writer.add_tokens(0, Ids{1, 300}, 2);
    });
    expect_error(ExitCode::usage, {"is -1"}, [&] { writer.add_tokens(0, Ids{-1}, 2); });
    expect_error(ExitCode::usage, {"a.h5", "no record"}, [&] { writer.finish(); });
  }
  EXPECT_EQ(scratch.entries(), 0);
  const ColumnInfo fixed{
      .name = "x", .meaning = {}, .ragged = false, .type = kByte, .row_shape = {}};
  RecordBuilder builder("memory", {fixed});
  expect_error(ExitCode::internal, {}, [&] { builder.end_record(); });
}

TEST(Records, AWrongSumNamesItsDatasetAndStartsHaveOneToo) {
  const Scratch scratch;
  const std::string whole = bytes_of_file(pair_store(scratch, "a.h5"));
  const std::string target("\4\0\6\0\7\0", 6);
  const uint64_t starts[] = {0, 3, 4, 6};
  const std::string_view bounds(reinterpret_cast<const char*>(starts), sizeof starts);
  const auto expect_damage = [&](size_t at, char byte, const std::string& name) {
    ASSERT_NE(at, std::string::npos);
    std::string damaged = whole;
    damaged[at] = byte;
    write_file(scratch.file("b.h5"), damaged);
    const auto records = std::make_shared<Records>(scratch.file("b.h5"));
    for (const auto& verify : std::vector<std::function<void()>>{
             [&] { records->verify_sum(); }, [&] { Records(scratch.file("b.h5"), true); },
             [&] { StoreCheck({records}).finish(); }})
      expect_error(ExitCode::failure, {"b.h5", "/" + name, "XXH3", "skein-data pairs"}, verify);
  };
  expect_damage(whole.find(target), 5, "target/values");
  expect_damage(whole.find(bounds) + 8, 2, "source/starts");
}

TEST(Records, AreRefusedWhereTheyAreCutOrNoRecords) {
  const Scratch scratch;
  const std::string whole = bytes_of_file(pair_store(scratch, "a.h5"));
  const auto refused = [&](const std::string& bytes, std::initializer_list<std::string> words) {
    write_file(scratch.file("b.h5"), bytes);
    EXPECT_FALSE(is_record_store(scratch.file("b.h5")));
    expect_error(ExitCode::usage, words, [&] { Records(scratch.file("b.h5")); });
  };
  refused("", {"b.h5", "empty", "skein-data pairs"});
  refused("one\ttwo\n", {"b.h5", "not an HDF5 file", "text"});
  for (size_t bytes = 1; bytes < whole.size(); bytes += 97) {
    write_file(scratch.file("b.h5"), whole.substr(0, bytes));
    expect_error(ExitCode::usage, {"b.h5"}, [&] { Records(scratch.file("b.h5")); });
  }
  write_store(scratch.file("tokens.h5"), 300, -1, {{1, 2}});
  expect_error(ExitCode::usage, {"tokens.h5", "not a record store", "skein-tokens"},
               [&] { Records(scratch.file("tokens.h5")); });
  expect_error(ExitCode::usage, {"a.h5", "not a token store", "skein-records"},
               [&] { TokenStore(scratch.file("a.h5")); });
  EXPECT_TRUE(is_record_store(scratch.file("a.h5")));
  EXPECT_FALSE(is_record_store(scratch.file("tokens.h5")));
  EXPECT_FALSE(is_record_store(scratch.file("absent.h5")));
  expect_error(ExitCode::usage, {"absent.h5", "No such file", "skein-data pairs"},
               [&] { Records(scratch.file("absent.h5")); });
}

// A store of two records with one column x, made by hand.
struct ByHand {
  std::string meaning = "numbers";
  int64_t version = 1, count = 2;
  std::vector<uint64_t> rows{2}, starts{};
  Hdf5Type type = kByte;

  std::string write(const Scratch& scratch) const {
    const std::string path = scratch.file("hand.h5");
    write_file(path, "");
    uint64_t at = 0;
    {
      Hdf5Writer file(path);
      file.put_text("", "format", "skein-records");
      file.put_integer("", "version", version);
      file.put_integer("", "count", count);
      file.add_group("x");
      file.put_text("x", "meaning", meaning);
      file.put_sum("x", "xxh3", 0);
      file.put_sum("x", "starts_xxh3", 0);
      file.put_integer("x", "vocab_size", 300);
      file.put_integer("x", "text_bytes", 1);
      file.put_text("x", "prefix", "");
      file.put_text("x", "tokenizer", "{}");
      file.add_dataset("x/values", type, rows);
      if (!starts.empty())
        at = file.add_dataset("x/starts", {Hdf5Type::Kind::integer, 8, false}, {starts.size()});
      file.close();
    }
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    if (!starts.empty())
      file.write(reinterpret_cast<const char*>(starts.data()),
                 static_cast<std::streamsize>(starts.size() * 8));
    file.close();
    std::filesystem::resize_file(path, std::max<uintmax_t>(4096, std::filesystem::file_size(path)));
    return path;
  }
};

TEST(Records, WhatContradictsItselfIsRefused) {
  const Scratch scratch;
  const auto refused = [&](const ByHand& store, std::initializer_list<std::string> words) {
    const std::string path = store.write(scratch);
    expect_error(ExitCode::usage, words, [&] { Records records(path); });
    expect_error(ExitCode::usage, {path}, [&] { Records records(path); });
  };
  EXPECT_EQ(Records(ByHand().write(scratch)).count(), 2);
  EXPECT_EQ(Records(ByHand{.starts = {0, 0, 2}}.write(scratch)).rows(0, 1), 2);
  refused({.version = 2}, {"version 2", "reads version 1"});
  refused({.count = 3}, {"/x/values has 2 rows", "3 records"});
  refused({.count = 0}, {"count is 0"});
  refused({.starts = {0, 2}}, {"/x/starts has 2 entries", "2 records need 3"});
  refused({.starts = {1, 1, 2}}, {"/x/starts begins with 1"});
  refused({.starts = {0, 2, 1}}, {"/x/starts falls at entry 1", "2 is followed by 1"});
  refused({.starts = {0, 1, 3}}, {"/x/starts ends with 3", "holds 2 rows"});
  refused({.meaning = "smells"}, {"x/meaning is \"smells\"", "newer"});
  refused({.meaning = "tokens", .type = kReal}, {"/x/values does not hold tokens"});
  refused({.meaning = "tokens", .rows = {2, 2}}, {"/x/values does not hold tokens"});
  refused({.rows = {2, 0}}, {"rows of /x/values are empty"});
}

TEST(Records, CategoriesAreOneARecordOrAnyNumber) {
  const Scratch scratch;
  const std::string path = scratch.file("a.h5");
  RecordWriter writer(
      path, {category_column("each", {"x", "y"}), category_column("many", {"a", "b", "c"}, true)});
  for (const Ids& ids : {Ids{2, 0, 2}, Ids{}}) {
    writer.add_category(0, 1);
    for (const int32_t id : ids) writer.add_category(1, id);
    writer.end_record();
  }
  writer.finish();
  const Records records(path, true);
  EXPECT_EQ(records.category(0, 1), 1);
  EXPECT_EQ(records.categories(1, 0), (Ids{2, 0, 2}));
  EXPECT_EQ(records.categories(1, 1), Ids{});
  std::string bytes = bytes_of_file(path);
  const size_t at = bytes.find(std::string("\2\0\2", 3));
  ASSERT_NE(at, std::string::npos);
  bytes[at + 1] = 3;
  write_file(path, bytes);
  expect_error(ExitCode::usage, {"record 0 has the number 3", "\"many\"", "3 names"},
               [&] { Records(path).categories(1, 0); });
}

TEST(Records, ATokenOutsideOfTheVocabularyIsDamage) {
  const Scratch scratch;
  std::string bytes = bytes_of_file(pair_store(scratch, "a.h5"));
  const size_t at = bytes.find(std::string("\4\0\6\0\7\0", 6));
  ASSERT_NE(at, std::string::npos);
  bytes[at + 5] = 9;
  write_file(scratch.file("b.h5"), bytes);
  const Records records(scratch.file("b.h5"));
  EXPECT_EQ(records.tokens(1, 0), (Ids{4}));
  expect_error(ExitCode::usage, {"b.h5", "record 1", "2311", "\"target\"", "300 ids"},
               [&] { records.tokens(1, 1); });
}

}  // namespace
}  // namespace skein::data
