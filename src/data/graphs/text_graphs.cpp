// Graphs as columns of numbers in texts: TU's folders, and lists of neighbours.
#include <algorithm>
#include <filesystem>
#include <numeric>

#include "skein/core/error.h"
#include "skein/core/strings.h"
#include "skein/data/files/byte_source.h"
#include "skein/data/files/line_reader.h"

#include "graph_builder.h"

namespace skein::data {
namespace {

namespace fs = std::filesystem;

// Lines of fields between commas and blanks; blank lines are passed over.
class FieldLines {
 public:
  explicit FieldLines(const std::string& path)
      : name_(input_name(path)), lines_(open_source(path), kMostLineBytes) {}

  bool next() {
    std::string_view line;
    do {
      if (!lines_.next(line)) return false;
      require(lines_.ends_line(), "{}: the line is longer than {} bytes", where(), kMostLineBytes);
    } while (blank(line));
    fields_.clear();
    constexpr std::string_view kBetween = ", \t\r\n";
    for (size_t at = line.find_first_not_of(kBetween); at != line.npos;) {
      const size_t end = std::min(line.find_first_of(kBetween, at), line.size());
      fields_.emplace_back(line.substr(at, end - at));
      at = line.find_first_not_of(kBetween, end);
    }
    return true;
  }
  const std::vector<std::string>& fields() const { return fields_; }
  const std::string& field(size_t number, const char* what) const {
    require(number < fields_.size(), "{}: {} is missing: the line has {} fields", where(), what,
            fields_.size());
    return fields_[number];
  }
  int64_t whole(size_t number, const char* what, int64_t low, int64_t high) const {
    return whole_number(field(number, what), where(), what, low, high);
  }
  void wants(size_t count) const {
    require(fields_.size() == count, "{}: the line has {} fields; {} belong there", where(),
            fields_.size(), count);
  }
  std::string where() const { return fmt::format("{}:{}", name_, lines_.number()); }
  int64_t number() const { return lines_.number(); }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  LineReader lines_;
  std::vector<std::string> fields_;
};

void add_list(NumberLists& lists, const std::vector<std::string>& fields, size_t from,
              const std::string& where) {
  for (size_t i = from; i < fields.size(); ++i)
    lists.values.push_back(finite_number(fields[i], where, "a number"));
  lists.end_list();
}

class TuFolder {
 public:
  TuFolder(const std::string& folder, GraphBuilder& into) : into_(into), stem_(stem_in(folder)) {}

  void read() {
    read_indicator();
    read_edges();
    read_node_values();
    read_edge_values();
    read_graph_values();
    for (ReadGraph& read : graphs_) into_.add(std::move(read));
  }

 private:
  static std::string stem_in(const std::string& folder) {
    constexpr std::string_view kEnd = "_A.txt";
    std::vector<std::string> found;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
      if (at->path().native().ends_with(kEnd)) found.push_back(at->path().native());
    if (error) fail("cannot read the folder {}: {}", folder, error.message());
    require(found.size() == 1,
            "{} has {} files that end in _A.txt; a folder of graphs has one, of their links",
            folder, found.size());
    return found.front().substr(0, found.front().size() - kEnd.size());
  }

  std::string file(const char* end) const { return stem_ + end; }
  bool has(const char* end) const { return fs::exists(file(end)); }

  void read_indicator() {
    FieldLines lines(file("_graph_indicator.txt"));
    int64_t most = 0;
    while (lines.next()) {
      lines.wants(1);
      const int64_t graph = lines.whole(0, "the graph of a node", 1, kMostNodes);
      graph_of_.push_back(graph - 1);
      most = std::max(most, graph);
    }
    require(most <= std::ssize(graph_of_), "{} names a graph {}, but has {} nodes", lines.name(),
            most, graph_of_.size());
    graphs_.resize(most);
    for (int64_t i = 0; i < most; ++i) {
      graphs_[i].graph.name = fmt::format("{}, graph {}", stem_, i + 1);
      graphs_[i].edge_file = file("_A.txt");
    }
    for (const int64_t graph : graph_of_) place_of_.push_back(graphs_[graph].graph.nodes++);
    for (const ReadGraph& read : graphs_)
      require(read.graph.nodes > 0, "{}: {} has no nodes", lines.name(), read.graph.name);
  }

  void read_edges() {
    FieldLines lines(file("_A.txt"));
    while (lines.next()) {
      lines.wants(2);
      const int64_t nodes = std::ssize(graph_of_);
      require(nodes > 0, "{}: a link, but {} names no nodes", lines.where(),
              file("_graph_indicator.txt"));
      const int64_t from = lines.whole(0, "a node", 1, nodes) - 1;
      const int64_t to = lines.whole(1, "a node", 1, nodes) - 1;
      require(graph_of_[from] == graph_of_[to],
              "{}: a link of the nodes {} and {}, which are of the graphs {} and {}", lines.where(),
              from + 1, to + 1, graph_of_[from] + 1, graph_of_[to] + 1);
      graphs_[graph_of_[from]].edges.push_back({place_of_[from], place_of_[to], lines.number()});
      edge_graph_.push_back(graph_of_[from]);
    }
  }

  // Calls use(lines, graph) for each line, which must be as many as `graphs` tells graphs.
  template <class Use>
  void each(const char* end, const std::vector<int64_t>& graphs, const char* things,
            const Use& use) {
    FieldLines lines(file(end));
    size_t count = 0;
    for (; lines.next(); ++count)
      if (count < graphs.size()) use(lines, graphs_[graphs[count]]);
    require(count == graphs.size(), "{} has {} lines, but there are {} {}", lines.name(), count,
            graphs.size(), things);
  }

  // One category a line.
  void read_categories(const char* end, const std::vector<int64_t>& graphs, const char* things,
                       GraphPart part) {
    each(end, graphs, things, [&](const FieldLines& lines, ReadGraph& read) {
      lines.wants(1);
      read.graph.of(part).ids.push_back(into_.id(part, lines.fields()[0], lines.where()));
    });
  }

  void read_node_values() {
    if (has("_node_labels.txt"))
      read_categories("_node_labels.txt", graph_of_, "nodes", GraphPart::node_category);
    if (has("_node_attributes.txt"))
      each("_node_attributes.txt", graph_of_, "nodes",
           [](const FieldLines& lines, ReadGraph& read) {
             add_list(read.node_lists, lines.fields(), 0, lines.where());
           });
  }

  void read_edge_values() {
    if (has("_edge_labels.txt"))
      read_categories("_edge_labels.txt", edge_graph_, "links", GraphPart::link_category);
    if (has("_edge_attributes.txt"))
      each("_edge_attributes.txt", edge_graph_, "links",
           [](const FieldLines& lines, ReadGraph& read) {
             add_list(read.link_lists, lines.fields(), 0, lines.where());
           });
  }

  void read_graph_values() {
    std::vector<int64_t> all(graphs_.size());
    std::iota(all.begin(), all.end(), 0);
    if (has("_graph_labels.txt"))
      read_categories("_graph_labels.txt", all, "graphs", GraphPart::label);
    else if (has("_graph_attributes.txt"))
      each("_graph_attributes.txt", all, "graphs", [](const FieldLines& lines, ReadGraph& read) {
        add_list(read.label_lists, lines.fields(), 0, lines.where());
      });
  }

  GraphBuilder& into_;
  std::string stem_;
  std::vector<int64_t> graph_of_, place_of_;  // of each node
  std::vector<int64_t> edge_graph_;           // of each link
  std::vector<ReadGraph> graphs_;
};

void read_neighbours(FieldLines& lines, int64_t node, GraphBuilder& into, ReadGraph& read) {
  GraphValues& categories = read.graph.of(GraphPart::node_category);
  categories.ids.push_back(
      into.id(GraphPart::node_category, lines.field(0, "the category"), lines.where()));
  const int64_t count = lines.whole(1, "the number of neighbours", 0, kMostNodes);
  require(count <= std::ssize(lines.fields()) - 2, "{}: {} neighbours are promised, {} are there",
          lines.where(), count, lines.fields().size() - 2);
  for (int64_t i = 0; i < count; ++i)
    read.edges.push_back(
        {lines.whole(2 + i, "a neighbour", 0, read.graph.nodes - 1), node, lines.number()});
  add_list(read.node_lists, lines.fields(), 2 + count, lines.where());
}

}  // namespace

void read_tu(const std::string& folder, GraphBuilder& into) { TuFolder(folder, into).read(); }

void read_lists(const std::string& path, GraphBuilder& into) {
  FieldLines lines(path);
  require(lines.next(), "{} is empty; it begins with the number of graphs", lines.name());
  lines.wants(1);
  const int64_t count = lines.whole(0, "the number of graphs", 0, kMostNodes);
  for (int64_t i = 0; i < count; ++i) {
    require(lines.next(), "{} ends after {} of {} graphs", lines.name(), i, count);
    lines.wants(2);
    ReadGraph read{.graph = {.name = lines.where()}, .edge_file = lines.name()};
    read.graph.nodes = lines.whole(0, "the number of nodes", 0, kMostNodes);
    read.graph.of(GraphPart::label).ids = {
        into.id(GraphPart::label, lines.fields()[1], lines.where())};
    for (int64_t node = 0; node < read.graph.nodes; ++node) {
      require(lines.next(), "{} ends after {} of the {} nodes of the graph at {}", lines.name(),
              node, read.graph.nodes, read.graph.name);
      read_neighbours(lines, node, into, read);
    }
    into.add(std::move(read));
  }
  if (lines.next()) fail_usage("{}: the file goes on after its {} graphs", lines.where(), count);
}

}  // namespace skein::data
