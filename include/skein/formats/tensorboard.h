// TensorBoard event files: scalars, texts and starts of sessions. Records as TensorFlow's
// record_writer lays them out, each holding an Event of TensorFlow's event.proto, encoded by hand.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace skein::formats {

class EventWriter {
 public:
  // Makes `directory`, if need be, and events.out.tfevents.SECONDS.HOST in it (".1" and so on are
  // added when that exists: a file once begun is never appended to). Error(failure) naming the path
  // when it cannot.
  explicit EventWriter(const std::string& directory);
  // One scalar under `tag` at `step`. Values that are not finite as a float are skipped. Flushed at
  // once. When a write fails it warns once and writes no more: a view of the metrics must not end a
  // run.
  void scalar(const std::string& tag, int64_t step, double value);

  // What earlier files of the folder, and this one, say of `step` and of those after it counts no
  // more: a session begins with it. So a curve never runs backwards where steps are made again.
  void session_start(int64_t step);
  // A text under `tag`, which TensorBoard reads as Markdown.
  void text(const std::string& tag, int64_t step, const std::string& text);

  const std::string& path() const { return path_; }

 private:
  void write_event(int64_t step, uint64_t field, const std::string& message);
  void record(const std::string& payload);
  std::string path_;
  std::ofstream file_;
};

}  // namespace skein::formats
