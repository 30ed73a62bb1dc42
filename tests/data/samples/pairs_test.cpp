#include "skein/data/samples/pairs.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

#include "data/data_fixtures.h"

namespace skein::data {
namespace {

using test::expect_error;
using test::Scratch;

constexpr int32_t kEndOfText = 9999;

// Sentence s of document d holds tokens 1000 d + 10 s, + 1, ...: 3 to 6 of them.
int32_t first_token(int64_t document, int64_t sentence) {
  return static_cast<int32_t>(1000 * document + 10 * sentence);
}
int64_t sentence_length(int64_t document, int64_t sentence) {
  return 3 + (document + sentence) % 4;
}

TokenStore write_sentences(const std::string& path, const std::vector<int64_t>& sentences,
                           int64_t long_one = 0) {
  TokenStoreWriter writer(path, 10000, kEndOfText, "{}", true);
  for (size_t d = 0; d < sentences.size(); ++d) {
    for (int64_t s = 0; s < sentences[d]; ++s) {
      const int64_t length =
          long_one > 0 && d == 0 && s == 1 ? long_one : sentence_length(static_cast<int64_t>(d), s);
      std::vector<int32_t> ids;
      for (int64_t i = 0; i < length; ++i)
        ids.push_back(first_token(static_cast<int64_t>(d), s) + static_cast<int32_t>(i % 10));
      writer.append(ids, length);
      writer.end_sentence();
    }
    writer.add_document({}, 0);
  }
  writer.finish();
  return TokenStore(path);
}

TEST(SentenceRuns, CoverDocumentsInOrderWithTwoSentencesEach) {
  const Scratch scratch;
  const TokenStore store = write_sentences(scratch.file("a.h5"), {40, 1, 7, 25});
  const auto runs = sentence_runs(store, 29, 0, 1);
  int64_t next = 0;
  for (const SentenceRun& run : runs) {
    EXPECT_GE(run.first, next);
    EXPECT_GE(run.end - run.first, 2);
    EXPECT_EQ(run.most, 29);
    next = run.end;
  }
  EXPECT_EQ(runs.front().first, 0);
  EXPECT_EQ(runs.back().end, 73);
  for (const SentenceRun& run :
       runs)  // none crosses an end, or touches the document of one sentence
    for (const auto& [first, end] : {std::pair{0, 40}, {40, 41}, {41, 48}, {48, 73}})
      EXPECT_TRUE(run.end <= first || run.first >= end ||
                  (run.first >= first && run.end <= end && end - first > 1));
}

TEST(SentenceRuns, SomeAreShortAndLongSentencesLeaveTheirDocumentOut) {
  const Scratch scratch;
  const TokenStore store = write_sentences(scratch.file("a.h5"), {40, 60, 60, 60, 60}, 513);
  const auto all = sentence_runs(store, 29, 0.5, 1);
  EXPECT_GE(all.front().first, 40);
  const auto cut =
      std::count_if(all.begin(), all.end(), [](const SentenceRun& run) { return run.most < 29; });
  EXPECT_GT(cut, static_cast<int64_t>(all.size()) / 4);
  EXPECT_LT(cut, static_cast<int64_t>(all.size()) * 3 / 4 + 1);
  for (const SentenceRun& run : all) EXPECT_GE(run.most, 2);
}

int64_t document_of(int32_t token) { return token / 1000; }

TEST(PairSamples, HalfOfTheSecondPartsComeFromElsewhere) {
  const Scratch scratch;
  const TokenStore store = write_sentences(scratch.file("a.h5"), {40, 30, 20, 25});
  const auto runs = sentence_runs(store, 29, 0, 1);
  int64_t apart = 0;
  std::set<int64_t> documents;
  for (uint64_t stream = 0; stream < 400; ++stream) {
    const PairSample made =
        make_pair_sample(store, runs[stream % runs.size()], PairTask::next, Draws(4, stream));
    ASSERT_FALSE(made.first.empty());
    ASSERT_FALSE(made.second.empty());
    EXPECT_LE(made.first.size() + made.second.size(), 29u);
    for (const auto& part : {made.first, made.second}) {
      EXPECT_EQ(std::count(part.begin(), part.end(), kEndOfText), 0);
      for (int32_t token : part) EXPECT_EQ(document_of(token), document_of(part.front()));
    }
    EXPECT_EQ(made.apart, document_of(made.first.front()) != document_of(made.second.front()));
    if (made.apart) {
      documents.insert(document_of(made.second.front()));
    } else {
      EXPECT_GT(made.second.front(), made.first.back());
    }
    apart += made.apart;
  }
  EXPECT_NEAR(static_cast<double>(apart), 200, 40);
  EXPECT_EQ(documents.size(), 4u);
}

// Of nothing but the token that ends a document, as stores of before may hold many.
TEST(PairSamples, EmptyDocumentsGiveNoSecondPart) {
  const Scratch scratch;
  const TokenStore store = write_sentences(scratch.file("a.h5"), {20, 0, 0, 25, 0, 0});
  EXPECT_EQ(store.info().documents, 6);
  EXPECT_NO_THROW(check_pairs(store, PairTask::next));
  const auto runs = sentence_runs(store, 29, 0, 1);
  int64_t apart = 0;
  for (uint64_t stream = 0; stream < 200; ++stream) {
    const PairSample made =
        make_pair_sample(store, runs[stream % runs.size()], PairTask::next, Draws(4, stream));
    ASSERT_FALSE(made.second.empty());
    EXPECT_EQ(made.apart, document_of(made.first.front()) != document_of(made.second.front()));
    apart += made.apart;
  }
  EXPECT_GT(apart, 50);
  const TokenStore one = write_sentences(scratch.file("one.h5"), {40, 0, 0});
  expect_error(ExitCode::usage, {"one.h5 holds one document", "mlm.pairs=order"},
               [&] { check_pairs(one, PairTask::next); });
}

TEST(PairSamples, OrderChangesThePartsHalfOfTheTime) {
  const Scratch scratch;
  const TokenStore store = write_sentences(scratch.file("a.h5"), {40});
  const auto runs = sentence_runs(store, 29, 0, 1);
  int64_t changed = 0;
  for (uint64_t stream = 0; stream < 400; ++stream) {
    const PairSample made =
        make_pair_sample(store, runs[stream % runs.size()], PairTask::order, Draws(4, stream));
    EXPECT_EQ(made.apart, made.second.front() < made.first.front());
    changed += made.apart;
  }
  EXPECT_NEAR(static_cast<double>(changed), 200, 40);
}

TEST(PairSamples, WhatCannotBeIsSaid) {
  const Scratch scratch;
  const TokenStore one = write_sentences(scratch.file("one.h5"), {40}),
                   single = write_sentences(scratch.file("single.h5"), {1, 1});
  expect_error(ExitCode::usage, {"single.h5", "two or more sentences"},
               [&] { sentence_runs(single, 29, 0, 1); });
  expect_error(ExitCode::usage, {"one.h5 holds one document", "mlm.pairs=order"},
               [&] { check_pairs(one, PairTask::next); });
  EXPECT_NO_THROW(check_pairs(one, PairTask::order));
  test::write_store(scratch.file("plain.h5"), 10000, kEndOfText, {{1, 2, 3}});
  expect_error(ExitCode::usage, {"plain.h5", "--data.sentences=auto", "mlm.pairs=none"},
               [&] { sentence_runs(TokenStore(scratch.file("plain.h5")), 29, 0, 1); });
}

}  // namespace
}  // namespace skein::data
