#include "skein/formats/chrome_trace.h"

#include <gtest/gtest.h>

#include "skein/core/json.h"

namespace skein::formats {
namespace {

TEST(ChromeTrace, HoldsEachEventInMicroseconds) {
  const std::vector<ProfileEvent> events{{"matmul", 5000, 9000, 100, 0, 0, 0},
                                         {"norm", 9500, 9600, 0, 8, 0, 1}};
  const auto json = nlohmann::json::parse(
      chrome_trace({chrome_trace_events(events, 3, 1000), chrome_trace_events({}, 4, 0)}));
  const auto& all = json["traceEvents"];
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[3]["pid"], 4);
  EXPECT_EQ(all[0]["args"]["name"], "rank 3");
  EXPECT_EQ(all[1]["name"], "matmul");
  EXPECT_EQ(all[1]["ph"], "X");
  EXPECT_EQ(all[1]["pid"], 3);
  EXPECT_DOUBLE_EQ(all[1]["ts"], 4.0);
  EXPECT_DOUBLE_EQ(all[1]["dur"], 4.0);
  EXPECT_EQ(all[1]["args"]["flops"], 100.0);
  EXPECT_EQ(all[2]["tid"], 1);
  EXPECT_FALSE(all[2]["args"].contains("flops"));
}

}  // namespace
}  // namespace skein::formats
