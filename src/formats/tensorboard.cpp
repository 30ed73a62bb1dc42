#include "skein/formats/tensorboard.h"

#include <bit>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string_view>
#include <system_error>

#include "skein/core/clock.h"
#include "skein/core/error.h"
#include "skein/core/host.h"
#include "skein/core/log.h"
#include "skein/formats/crc32c.h"

namespace skein::formats {
namespace {

enum class Wire : uint64_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

// Field numbers of event.proto, summary.proto and tensor.proto, and values of their enums.
constexpr uint64_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
constexpr uint64_t kSessionStatus = 1, kSessionStarts = 1;
constexpr uint64_t kSummaryValue = 1;
constexpr uint64_t kTag = 1, kSimpleValue = 2, kTensor = 8, kMetadata = 9;
constexpr uint64_t kPluginData = 1, kPluginName = 1, kDataClass = 4, kOfTensors = 2;
constexpr uint64_t kDataType = 1, kStringType = 7, kShape = 2, kStrings = 8;

template <class T>
void put_little_endian(std::string& out, T value) {
  static_assert(std::endian::native == std::endian::little);
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(value | 0x80);
  out.push_back(value);
}

void put_key(std::string& out, uint64_t field, Wire wire) {
  put_varint(out, field << 3 | static_cast<uint64_t>(wire));
}

void put_bytes(std::string& out, uint64_t field, std::string_view bytes) {
  put_key(out, field, Wire::bytes);
  put_varint(out, bytes.size());
  out.append(bytes);
}

void put_number(std::string& out, uint64_t field, uint64_t value) {
  put_key(out, field, Wire::varint);
  put_varint(out, value);
}

std::string summary_of(const std::string& entry) {
  std::string summary;
  put_bytes(summary, kSummaryValue, entry);
  return summary;
}

std::string event_now() {
  std::string event;
  put_key(event, kWallTime, Wire::fixed64);
  put_little_endian(event, system_seconds());
  return event;
}

uint32_t masked_sum(std::string_view bytes) {
  return std::rotr(crc32c(std::as_bytes(std::span(bytes))), 15) + 0xA282EAD8u;
}

std::string free_path(const std::string& directory) {
  const auto seconds = static_cast<int64_t>(system_seconds());
  const std::string base =
      fmt::format("{}/events.out.tfevents.{}.{}", directory, seconds, host_name());
  std::string path = base;
  std::error_code ignored;
  for (int n = 1; std::filesystem::exists(path, ignored); ++n) path = fmt::format("{}.{}", base, n);
  return path;
}

}  // namespace

EventWriter::EventWriter(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) fail("cannot make the TensorBoard directory {}: {}", directory, error.message());
  path_ = free_path(directory);
  errno = 0;
  file_.open(path_, std::ios::binary);
  std::string event = event_now();
  put_bytes(event, kFileVersion, "brain.Event:2");
  record(event);
  if (!file_) fail("cannot write {}: {}", path_, std::generic_category().message(errno));
}

void EventWriter::scalar(const std::string& tag, int64_t step, double value) {
  const bool fits = std::abs(value) <= std::numeric_limits<float>::max();  // false for NaN too
  if (!fits) return;
  std::string entry;
  put_bytes(entry, kTag, tag);
  put_key(entry, kSimpleValue, Wire::fixed32);
  put_little_endian(entry, static_cast<float>(value));
  write_event(step, kSummary, summary_of(entry));
}

void EventWriter::session_start(int64_t step) {
  std::string session;
  put_number(session, kSessionStatus, kSessionStarts);
  write_event(step, kSessionLog, session);
}

void EventWriter::text(const std::string& tag, int64_t step, const std::string& text) {
  std::string tensor, plugin, metadata, entry;
  put_number(tensor, kDataType, kStringType);
  put_bytes(tensor, kShape, "");
  put_bytes(tensor, kStrings, text);
  put_bytes(plugin, kPluginName, "text");
  put_bytes(metadata, kPluginData, plugin);
  put_number(metadata, kDataClass, kOfTensors);
  put_bytes(entry, kTag, tag);
  put_bytes(entry, kTensor, tensor);
  put_bytes(entry, kMetadata, metadata);
  write_event(step, kSummary, summary_of(entry));
}

void EventWriter::write_event(int64_t step, uint64_t field, const std::string& message) {
  if (!file_) return;
  std::string event = event_now();
  put_number(event, kStep, step);
  put_bytes(event, field, message);
  record(event);
  if (!file_)
    log::warn("cannot write {}: {}; no more TensorBoard events are written", path_,
              std::generic_category().message(errno));
}

void EventWriter::record(const std::string& payload) {
  std::string framed;
  put_little_endian(framed, payload.size());
  put_little_endian(framed, masked_sum(framed));
  framed += payload;
  put_little_endian(framed, masked_sum(payload));
  file_.write(framed.data(), framed.size());
  file_.flush();
}

}  // namespace skein::formats
