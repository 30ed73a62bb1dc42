#include "skein/formats/tensorboard.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <iterator>
#include <limits>
#include <map>
#include <stdexcept>
#include <stdlib.h>
#include <vector>

#include "skein/core/error.h"

namespace skein::formats {
namespace {

class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "skein-events-XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::runtime_error("no temporary directory");
    path_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class T>
T number_at(const std::string& bytes, size_t at) {
  T value;
  if (at + sizeof(T) > bytes.size()) throw std::runtime_error("ends inside a number");
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// Bit by bit, from the definition.
uint32_t masked_sum(const std::string& bytes) {
  uint32_t state = 0xFFFFFFFFu;
  for (const char byte : bytes) {
    state ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) state = state & 1 ? state >> 1 ^ 0x82F63B78u : state >> 1;
  }
  state = ~state;
  return ((state >> 15) | (state << 17)) + 0xA282EAD8u;
}

// The payloads of a file of records, sums checked.
std::vector<std::string> payloads_of(const std::string& file) {
  std::vector<std::string> payloads;
  for (size_t at = 0; at < file.size();) {
    const auto length = number_at<uint64_t>(file, at);
    EXPECT_EQ(number_at<uint32_t>(file, at + 8), masked_sum(file.substr(at, 8)));
    payloads.push_back(file.substr(at + 12, length));
    EXPECT_EQ(payloads.back().size(), length);
    EXPECT_EQ(number_at<uint32_t>(file, at + 12 + length), masked_sum(payloads.back()));
    at += 16 + length;
  }
  return payloads;
}

uint64_t varint_at(const std::string& bytes, size_t& at) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.at(at++));
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
}

// Fields of a protobuf message by number, each as its raw bytes (varints as 8 bytes).
std::map<uint64_t, std::string> fields_of(const std::string& message) {
  std::map<uint64_t, std::string> fields;
  for (size_t at = 0; at < message.size();) {
    const uint64_t key = varint_at(message, at);
    size_t length = key % 8 == 1 ? 8 : 4;
    if (key % 8 == 0) {
      const uint64_t value = varint_at(message, at);
      fields[key / 8] = std::string(reinterpret_cast<const char*>(&value), 8);
      continue;
    }
    if (key % 8 == 2)
      length = varint_at(message, at);
    else if (key % 8 != 1 && key % 8 != 5)
      throw std::runtime_error("unknown wire type");
    if (at + length > message.size()) throw std::runtime_error("field ends outside its message");
    fields[key / 8] = message.substr(at, length);
    at += length;
  }
  return fields;
}

struct Scalar {
  std::string tag;
  int64_t step;
  float value;
};

Scalar scalar_of(const std::string& payload) {
  auto event = fields_of(payload);
  auto value = fields_of(fields_of(event.at(5)).at(1));
  return {value.at(1), number_at<int64_t>(event.at(2), 0), number_at<float>(value.at(2), 0)};
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

TEST(EventWriter, BeginsWithTheVersionOfTheFormat) {
  const Scratch scratch;
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
  const Scratch scratch;
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
  const Scratch scratch;
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
  const Scratch scratch;
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
  const Scratch scratch;
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

}  // namespace
}  // namespace skein::formats
