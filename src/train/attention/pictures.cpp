#include "skein/train/attention/pictures.h"

#include <cmath>

#include "skein/core/error.h"
#include "skein/core/files/result_file.h"
#include "skein/core/json.h"
#include "skein/formats/svg_cells.h"

namespace skein::train {
namespace {

using Json = nlohmann::ordered_json;

const char* keys_of(bool memory) { return memory ? "source" : "self"; }

Json weights_json(const Tensor& weights, int64_t head) {
  const int64_t queries = weights.dim(1), keys = weights.dim(2);
  Json rows = Json::array();
  const double* at = weights.data<double>() + head * queries * keys;
  for (int64_t query = 0; query < queries; ++query) {
    Json row = Json::array();
    for (int64_t key = 0; key < keys; ++key) row.push_back(std::round(*at++ * 1e6) / 1e6);
    rows.push_back(std::move(row));
  }
  return rows;
}

Json layer_json(const AttentionMap& map) {
  Json heads = Json::array();
  for (int64_t head = 0; head < map.weights.dim(0); ++head)
    heads.push_back(weights_json(map.weights, head));
  return {{"block", map.block}, {"keys", keys_of(map.memory)}, {"weights", std::move(heads)}};
}

Json recording_json(const AttentionRecording& recording) {
  Json made{{"tokens", recording.text.tokens}};
  if (!recording.text.source.empty()) made["source"] = recording.text.source;
  made["layers"] = Json::array();
  for (const AttentionMap& map : recording.maps) made["layers"].push_back(layer_json(map));
  return made;
}

Json habit_json(const AttentionHabits::Habit& one) {
  return {{"block", one.block},       {"keys", keys_of(one.memory)}, {"head", one.head},
          {"distance", one.distance}, {"share", one.share},          {"entropy", one.entropy},
          {"queries", one.queries}};
}

}  // namespace

std::string attention_json(const TrainedModel& model,
                           const std::vector<AttentionHabits::Habit>& habits,
                           const std::vector<AttentionRecording>& recordings) {
  Json heads = Json::array(), texts = Json::array();
  for (const auto& one : habits) heads.push_back(habit_json(one));
  for (const auto& one : recordings) texts.push_back(recording_json(one));
  return Json{{"checkpoint", model.info.path},
              {"step", model.info.step},
              {"heads", std::move(heads)},
              {"texts", std::move(texts)}}
             .dump() +
         "\n";
}

std::string attention_svg(const AttendedText& text, const AttentionMap& map) {
  const int64_t heads = map.weights.dim(0), queries = map.weights.dim(1), keys = map.weights.dim(2);
  formats::CellPicture picture{.title = map.name(),
                               .row_labels = text.tokens,
                               .column_labels = map.memory ? text.source : text.tokens,
                               .grids = {}};
  // What a decoder looks at in the source is for the token that it says next.
  if (map.memory) picture.row_labels = text.next;
  for (int64_t head = 0; head < heads; ++head) {
    const double* first = map.weights.data<double>() + head * queries * keys;
    picture.grids.push_back(
        {fmt::format("head {}", head), queries, keys, {first, first + queries * keys}});
  }
  return cells_svg(picture);
}

std::string habit_text(const AttentionHabits::Habit& one) {
  return fmt::format(
      "block {}, {}, head {}: of {} tokens {:.1f}% look most at the key {:+} places from their "
      "own; "
      "entropy {:.2f} nats",
      one.block, keys_of(one.memory), one.head, one.queries, 100 * one.share, one.distance,
      one.entropy);
}

std::vector<std::string> write_attention(const std::string& option, const std::string& folder,
                                         const TrainedModel& model,
                                         const std::vector<AttentionHabits::Habit>& habits,
                                         const std::vector<AttentionRecording>& recordings) {
  ResultFolder made(option, folder);
  made.write("attention.json", attention_json(model, habits, recordings));
  for (size_t i = 0; i < recordings.size(); ++i)
    for (const AttentionMap& map : recordings[i].maps)
      made.write(fmt::format("text-{}-block-{}-{}.svg", i + 1, map.block, keys_of(map.memory)),
                 attention_svg(recordings[i].text, map));
  return made.files();
}

}  // namespace skein::train
