#include "skein/formats/chrome_trace.h"

#include <fmt/ranges.h>

#include "skein/core/json.h"

namespace skein::formats {

std::string chrome_trace_events(const std::vector<ProfileEvent>& events, int rank, int64_t origin) {
  using Json = nlohmann::ordered_json;
  std::string all = Json{{"name", "process_name"},
                         {"ph", "M"},
                         {"pid", rank},
                         {"tid", 0},
                         {"args", {{"name", "rank " + std::to_string(rank)}}}}
                        .dump();
  for (const ProfileEvent& event : events) {
    Json made{{"name", event.name},
              {"ph", "X"},
              {"pid", rank},
              {"tid", event.thread},
              {"ts", (event.begin - origin) * 1e-3},
              {"dur", (event.end - event.begin) * 1e-3}};
    if (event.flops > 0) made["args"]["flops"] = event.flops;
    if (event.bytes > 0) made["args"]["bytes"] = event.bytes;
    all += ",\n" + made.dump();
  }
  return all;
}

std::string chrome_trace(const std::vector<std::string>& parts) {
  return fmt::format("{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{}\n]}}\n",
                     fmt::join(parts, ",\n"));
}

}  // namespace skein::formats
