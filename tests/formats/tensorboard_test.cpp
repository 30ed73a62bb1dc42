#include "skein/formats/tensorboard.h"

#include <chrono>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "skein/core/error.h"

#include "support/event_files.h"
#include "support/scratch.h"

namespace skein::formats {
namespace {

using test::bytes_of_file;
using test::fields_of;
using test::number_at;
using test::payloads_of;
using test::Scalar;
using test::scalar_of;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

TEST(EventWriter, BeginsWithTheVersionOfTheFormat) {
  const test::Scratch scratch;
  const double before = seconds_now();
  const EventWriter writer(scratch.path());
  const auto payloads = payloads_of(bytes_of_file(writer.path()));
  ASSERT_EQ(payloads.size(), 1u);
  auto event = fields_of(payloads[0]);
  EXPECT_EQ(event.at(3), "brain.Event:2");
  EXPECT_GE(number_at<double>(event.at(1), 0), before);
  EXPECT_LE(number_at<double>(event.at(1), 0), seconds_now());
  EXPECT_EQ(event.size(), 2u);
}

TEST(EventWriter, WritesScalarsThatDecodeToWhatWasGiven) {
  const test::Scratch scratch;
  EventWriter writer(scratch.path());
  const std::vector<Scalar> given{{"loss", 0, 10.5f},
                                  {"learning_rate", 127, 3e-4f},
                                  {"loss", 128, -0.0f},
                                  {std::string(300, 't'), int64_t{1} << 40, 1e30f}};
  for (const Scalar& scalar : given) writer.scalar(scalar.tag, scalar.step, scalar.value);
  const auto payloads = payloads_of(bytes_of_file(writer.path()));
  ASSERT_EQ(payloads.size(), given.size() + 1);
  for (size_t i = 0; i < given.size(); ++i) {
    const Scalar read = scalar_of(payloads[i + 1]);
    EXPECT_EQ(read.tag, given[i].tag);
    EXPECT_EQ(read.step, given[i].step);
    EXPECT_EQ(read.value, given[i].value);
    EXPECT_NEAR(number_at<double>(fields_of(payloads[i + 1]).at(1), 0), seconds_now(), 3600);
  }
}

TEST(EventWriter, SkipsWhatIsNotFinite) {
  const test::Scratch scratch;
  EventWriter writer(scratch.path());
  for (const double value : {std::nan(""), std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity(), 1e300})
    writer.scalar("loss", 1, value);
  writer.scalar("loss", 2, 1.0);
  const auto payloads = payloads_of(bytes_of_file(writer.path()));
  ASSERT_EQ(payloads.size(), 2u);
  EXPECT_EQ(scalar_of(payloads[1]).step, 2);
}

TEST(EventWriter, NamesItsFileAsTensorBoardWantsAndNeverReusesOne) {
  const test::Scratch scratch;
  const std::string directory = scratch.path() + "/runs/first";
  EventWriter first(directory);
  first.scalar("loss", 1, 1.0);
  const std::string kept = bytes_of_file(first.path());
  const EventWriter second(directory);
  EXPECT_EQ(first.path().rfind(directory + "/events.out.tfevents.", 0), 0u) << first.path();
  EXPECT_NE(first.path(), second.path());
  EXPECT_EQ(bytes_of_file(first.path()), kept);
}

TEST(EventWriter, NamesThePathThatCannotBeMade) {
  const test::Scratch scratch;
  const std::string file = scratch.path() + "/file";
  std::ofstream(file) << "x";
  try {
    EventWriter writer(file + "/events");
    ADD_FAILURE() << "no Error was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(ExitCode::failure));
    EXPECT_NE(std::string(error.what()).find(file), std::string::npos) << error.what();
  }
}

TEST(EventWriter, TellsOfASessionThatStarts) {
  const test::Scratch scratch;
  EventWriter first(scratch.path());
  for (int step = 1; step <= 5; ++step) first.scalar("loss", step, step);
  EventWriter second(scratch.path());
  second.session_start(4);
  second.scalar("loss", 4, 40);
  const auto payloads = payloads_of(bytes_of_file(second.path()));
  ASSERT_EQ(payloads.size(), 3u);
  auto event = fields_of(payloads[1]);
  EXPECT_EQ(number_at<int64_t>(event.at(2), 0), 4);
  EXPECT_EQ(number_at<int64_t>(fields_of(event.at(7)).at(1), 0), 1);  // SessionLog.START
  const auto curves = test::event_curves(scratch.path());
  const std::vector<std::pair<int64_t, float>> expected{{1, 1}, {2, 2}, {3, 3}, {4, 40}};
  EXPECT_EQ(curves.at("loss"), expected);
}

TEST(EventWriter, WritesTextsForThePluginOfTexts) {
  const test::Scratch scratch;
  EventWriter writer(scratch.path());
  writer.text("options", 7, "    lr = 1\n");
  const auto payloads = payloads_of(bytes_of_file(writer.path()));
  ASSERT_EQ(payloads.size(), 2u);
  auto value = fields_of(fields_of(fields_of(payloads[1]).at(5)).at(1));
  EXPECT_EQ(value.at(1), "options");
  EXPECT_EQ(fields_of(fields_of(value.at(9)).at(1)).at(1), "text");
  auto tensor = fields_of(value.at(8));
  EXPECT_EQ(number_at<int64_t>(tensor.at(1), 0), 7);  // DT_STRING
  EXPECT_EQ(tensor.at(2), "");                        // no dims
  EXPECT_EQ(tensor.at(8), "    lr = 1\n");
}

}  // namespace
}  // namespace skein::formats
