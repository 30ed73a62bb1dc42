// Graphs in JSONL and tables: a graph a line, a node a line, a link a row.
#include "skein/core/error.h"
#include "skein/core/strict_json.h"
#include "skein/core/strings.h"
#include "skein/data/files/suffix.h"
#include "skein/data/records/table.h"

#include "data/files/json_line.h"
#include "graph_builder.h"

namespace skein::data {
namespace {

using Json = nlohmann::json;

// Nodes of which nothing is known, in a file: a short one must not make many.
constexpr int64_t kMostBareNodes = int64_t{1} << 20;

// What a key of the user's names; null where it is a usual key that is not there.
class Keys {
 public:
  explicit Keys(const GraphFilesConfig& config) : config_(config) {}

  const Json& at(const Json& object, std::string GraphFilesConfig::*key,
                 const std::string& where) const {
    static const Json kNothing;
    static const GraphFilesConfig kUsual;
    const std::string& name = config_.*key;
    const auto found = object.find(name);
    if (found != object.end()) return *found;
    if (name.empty() || name == kUsual.*key) return kNothing;
    return value_at(object, name, where);
  }

 private:
  const GraphFilesConfig& config_;
};

// What is known of a link: the last of [from, to, ...]. Several numbers are a list.
void add_link_value(const Json& link, const std::string& where, GraphBuilder& into,
                    ReadGraph& read) {
  Json value;  // null: nothing is known
  if (link.size() == 3) value = link[2];
  if (link.size() > 3) value = Json::array_t(link.begin() + 2, link.end());
  into.add_value(read, GraphPart::link_category, read.link_lists, value, where);
}

void add_links(const Json& links, const GraphFilesConfig& config, const std::string& where,
               GraphBuilder& into, ReadGraph& read) {
  require(links.is_array(), "{}: \"{}\" is a JSON {}, not a list of links", where, config.links_key,
          links.type_name());
  for (const Json& link : links) {
    require(link.is_array() && link.size() >= 2,
            "{}: {} stands among the links; [from, to] or [from, to, what is known] belongs there",
            where, excerpt(link.dump()));
    read.edges.push_back({whole<int64_t>(link[0], config.links_key, where),
                          whole<int64_t>(link[1], config.links_key, where), 0});
    add_link_value(link, where, into, read);
  }
}

// left: how many more may be said by their number alone.
void add_nodes(const Json& nodes, const GraphFilesConfig& config, const std::string& where,
               int64_t& left, GraphBuilder& into, ReadGraph& read) {
  if (nodes.is_array()) {
    read.graph.nodes = std::ssize(nodes);
    for (const Json& node : nodes)
      into.add_value(read, GraphPart::node_category, read.node_lists, node, where);
    return;
  }
  read.graph.nodes = whole<int64_t>(nodes, config.nodes_key, where);
  require(read.graph.nodes >= 0 && read.graph.nodes <= left,
          "{}: \"{}\" says {} nodes; 0 to {} more can be said by their number alone in this file",
          where, config.nodes_key, read.graph.nodes, left);
  left -= read.graph.nodes;
}

// Of the nodes of a graph by what files call them.
using NodeIds = std::unordered_map<std::string, int64_t, TextHash, std::equal_to<>>;

std::string id_of(const Json& value, const std::string& where) {
  if (value.is_string()) return skein::trimmed(value.get_ref<const std::string&>());
  require(is_whole<int64_t>(value),
          "{}: the id of a node is {}; a text or a whole number belongs "
          "there",
          where, excerpt(value.dump()));
  return fmt::to_string(value.get<int64_t>());
}

struct NodeFile {
  ReadGraph read;
  NodeIds ids;
};

NodeFile read_node_lines(const std::string& path, const GraphFilesConfig& config,
                         GraphBuilder& into) {
  NodeFile made;
  const Keys keys(config);
  ReadGraph& read = made.read;
  bool split = false, label = false;
  for (JsonLines lines(path, kMostLineBytes); lines.next(); ++read.graph.nodes) {
    const Json object = lines.object();
    const std::string where = lines.where();
    const std::string id = id_of(value_at(object, config.id_key, where), where);
    require(made.ids.emplace(id, read.graph.nodes).second, "{}: the node \"{}\" was there already",
            where, excerpt(id));
    into.add_value(read, GraphPart::node_category, read.node_lists,
                   keys.at(object, &GraphFilesConfig::features_key, where), where);
    const Json& given = keys.at(object, &GraphFilesConfig::label_key, where);
    read.graph.of(GraphPart::node_label)
        .ids.push_back(into.json_id(GraphPart::node_label, given, where));
    label = label || !given.is_null();
    const Json& said = keys.at(object, &GraphFilesConfig::split_key, where);
    read.graph.of(GraphPart::node_split).ids.push_back(GraphBuilder::split_id(said, where));
    split = split || !said.is_null();
  }
  if (!label) read.graph.of(GraphPart::node_label).ids.clear();
  if (!split) read.graph.of(GraphPart::node_split).ids.clear();
  return made;
}

TableKind kind_of(const std::string& path) {
  const NamedFormat format = format_in_name(path);
  require(format == NamedFormat::csv || format == NamedFormat::tsv,
          "{} is no table of links: its name ends in neither .csv nor .tsv", path);
  return format == NamedFormat::csv ? TableKind::csv : TableKind::tsv;
}

// Reads rows of links between nodes that node(name, where) numbers.
template <class Node>
void read_link_rows(const std::string& path, const GraphFilesConfig& config, GraphBuilder& into,
                    ReadGraph& read, const Node& node) {
  TableReader table(path, kind_of(path), kMostLineBytes);
  read.edge_file = path;
  TableRow row;
  size_t width = 0;
  if (config.header) table.next_names(row);
  while (table.next(row)) {
    const std::string where = fmt::format("{}:{}", path, row.line);
    for (std::string& field : row.fields) field = skein::trimmed(field);
    if (width == 0) width = row.fields.size();
    require(row.fields.size() == width && width >= 2,
            "{}: the row has {} columns; two nodes and what is known of their link belong there, "
            "as many as in the first row ({})",
            where, row.fields.size(), width);
    read.edges.push_back({node(row.fields[0], where), node(row.fields[1], where), row.line});
    Json link = Json::array({0, 0});
    for (size_t i = 2; i < width; ++i)
      link.push_back(width == 3 && !parsed_number<double>(row.fields[i])
                         ? Json(row.fields[i])
                         : Json(finite_number(row.fields[i], where, "a link's value")));
    add_link_value(link, where, into, read);
  }
}

}  // namespace

void read_jsonl(const std::string& path, const GraphFilesConfig& config, GraphBuilder& into) {
  const Keys keys(config);
  int64_t left = kMostBareNodes;
  for (JsonLines lines(path, kMostLineBytes); lines.next();) {
    const Json object = lines.object();
    const std::string where = lines.where();
    ReadGraph read{.graph = {.name = where}, .edge_file = lines.name()};
    add_nodes(value_at(object, config.nodes_key, where), config, where, left, into, read);
    add_links(value_at(object, config.links_key, where), config, where, into, read);
    into.add_value(read, GraphPart::label, read.label_lists,
                   keys.at(object, &GraphFilesConfig::label_key, where), where);
    const Json& split = keys.at(object, &GraphFilesConfig::split_key, where);
    if (!split.is_null())
      read.graph.of(GraphPart::split).ids = {GraphBuilder::split_id(split, where)};
    into.add(std::move(read));
  }
}

void read_nodes(const std::string& path, const std::string& edges, const GraphFilesConfig& config,
                GraphBuilder& into) {
  NodeFile file = read_node_lines(path, config, into);
  file.read.graph.name = path;
  read_link_rows(
      edges, config, into, file.read, [&](const std::string& name, const std::string& where) {
        const auto found = file.ids.find(name);
        require(found != file.ids.end(), "{}: {} has no node \"{}\"", where, path, excerpt(name));
        return found->second;
      });
  into.add(std::move(file.read));
}

void read_links(const std::string& path, const GraphFilesConfig& config, GraphBuilder& into) {
  ReadGraph read{.graph = {.name = path}};
  NameTable nodes;
  std::vector<std::string> head;  // the texts of the first row
  bool texts = false;             // whether later rows have some
  read_link_rows(path, config, into, read, [&](const std::string& name, const std::string& where) {
    require(!name.empty(), "{}: the name of a node is empty", where);
    const bool text = !parsed_number<int64_t>(name);
    if (text && read.edges.empty()) head.push_back(name);
    texts = texts || (text && !read.edges.empty());
    return int64_t{nodes.add(name)};
  });
  if (head.size() == 2 && !texts && read.edges.size() > 1)
    fail_usage(
        "{}: the first row has the nodes {}, all others numbers; give graphs.header=true if it has "
        "the names of columns, or graphs.format=nodes, where nodes have any ids",
        path, listed(head));
  read.graph.nodes = std::ssize(nodes.names());
  const std::vector<int32_t> moved = nodes.settle();
  for (Edge& edge : read.edges) edge = {moved[edge.from], moved[edge.to], edge.line};
  into.add(std::move(read));
}

}  // namespace skein::data
