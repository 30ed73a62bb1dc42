#include "skein/data/samples/windows.h"

#include <gtest/gtest.h>

#include "skein/core/error.h"

#include "data/data_fixtures.h"

namespace skein::data {
namespace {

// 0, 1, 2, ... as tokens, in documents of `document` tokens.
TokenStore counting_store(const std::string& path, int64_t tokens, int64_t document) {
  TokenStoreWriter writer(path, 1000, -1, R"({"type":"bytes","version":1})");
  for (int64_t first = 0; first < tokens; first += document) {
    std::vector<int32_t> ids;
    for (int64_t i = first; i < std::min(tokens, first + document); ++i)
      ids.push_back(static_cast<int32_t>(i));
    writer.add_document(ids, static_cast<int64_t>(ids.size()));
  }
  writer.finish();
  return TokenStore(path);
}

TEST(EvalWindows, ScoreEveryTokenButTheFirstOnce) {
  const test::Scratch folder;
  for (int64_t tokens : {2, 7, 8, 9, 17, 33})
    for (int64_t stride : {1, 3, 8}) {
      const TokenStore store = counting_store(folder.file("t.h5"), tokens, 5);
      const EvalWindows windows(store, 8, stride, {});
      std::vector<int> scored(static_cast<size_t>(tokens), 0);
      for (int64_t w = 0; w < windows.count(); ++w) {
        const Batch batch = windows.batch(w, 1, 1);
        for (int64_t t = 0; t < 8; ++t) {
          if (batch.weights.data<float>()[t] == 0) continue;
          const int32_t target = batch.targets.data<int32_t>()[t];
          EXPECT_EQ(batch.tokens.data<int32_t>()[t] + 1, target);
          ++scored[static_cast<size_t>(target)];
          EXPECT_GE(t + 1, std::min<int64_t>(target, 8 - stride + 1)) << "too little context";
        }
      }
      EXPECT_EQ(scored[0], 0);
      for (size_t i = 1; i < scored.size(); ++i)
        EXPECT_EQ(scored[i], 1) << tokens << " " << stride << " " << i;
    }
}

TEST(EvalWindows, MarkDocumentsAlsoPastTheEnd) {
  const test::Scratch folder;
  const TokenStore store = counting_store(folder.file("t.h5"), 12, 5);
  DataConfig config;
  config.cross_document_attention = false;
  const Batch batch = EvalWindows(store, 8, 8, config).batch(1, 1, 1);
  const std::vector<int32_t> positions{0, 1, 0, 1};
  for (size_t t = 0; t < 4; ++t) EXPECT_EQ(batch.positions.span<int32_t>()[t], positions[t]) << t;
  EXPECT_EQ(batch.weights.span<float>()[3], 0.0f);
}

TEST(EvalWindows, RefuseStridesOutsideTheContext) {
  const test::Scratch folder;
  const TokenStore store = counting_store(folder.file("t.h5"), 12, 5);
  EXPECT_THROW(EvalWindows(store, 8, 9, {}), Error);
  EXPECT_THROW(EvalWindows(store, 8, 0, {}), Error);
}

TEST(BatchRows, AreViews) {
  const Batch batch = empty_batch(4, 3, {});
  const Batch rows = batch_rows(batch, 1, 3);
  EXPECT_EQ(rows.size(), 2);
  EXPECT_EQ(rows.tokens.data<int32_t>(), batch.tokens.data<int32_t>() + 3);
  EXPECT_FALSE(rows.segments.defined());
}

}  // namespace
}  // namespace skein::data
