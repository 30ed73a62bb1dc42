#include "skein/core/strict_json.h"

#include <set>

namespace skein {
namespace {

using Json = nlohmann::json;

// Sees what a text holds one after the other, before any of it is kept. A callback of Json::parse
// would not do: with one, the end of each object is looked up among all its neighbours.
class Watcher : public nlohmann::detail::json_sax_acceptor<Json> {
 public:
  Watcher(const std::string& origin, int most_depth) : origin_(origin), most_depth_(most_depth) {}

  bool start_object(size_t) { return open(); }
  bool start_array(size_t) { return open(); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(string_t& name) {
    require(names_.back().insert(name).second, "{} names {} twice", origin_, excerpt(name));
    return true;
  }

 private:
  bool open() {
    require(names_.size() <= most_depth_,
            "{} is nested deeper than the {} levels that such a file has", origin_, most_depth_);
    names_.emplace_back();
    return true;
  }
  bool close() {
    names_.pop_back();
    return true;
  }

  const std::string& origin_;
  size_t most_depth_;
  std::vector<std::set<std::string>> names_;  // of each open object; a list has none
};

}  // namespace

void check_json(const std::string& text, const std::string& origin, int most_depth) {
  Watcher watcher(origin, most_depth);
  Json::sax_parse(text, &watcher);
}

}  // namespace skein
