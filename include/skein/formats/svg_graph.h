// Graphs as nodes and the links between them, such as who looks at whom: one picture in SVG.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace skein::formats {

struct GraphLink {
  int64_t from = 0, to = 0;
  double weight = 0;  // 0 (not drawn) to 1 (widest)
};

struct GraphPanel {
  std::string title;
  std::vector<GraphLink> links;
};

struct GraphPicture {
  std::string title;
  std::vector<std::string> nodes;  // their labels
  // By what nodes are placed: linked ones stand near each other. The same in all panels.
  std::vector<std::pair<int64_t, int64_t>> near;
  std::vector<GraphPanel> panels;
  int64_t across = 4;  // panels side by side
};

// The same picture gives the same bytes. Nodes are placed by springs (Fruchterman and Reingold,
// "Graph drawing by force-directed placement", 1991), which takes nodes x nodes steps. A link is as
// wide as its weight says, in steps of 1/64, and keeps to the right on its way, so that the two
// ways between nodes lie apart; one from a node to itself is a ring above it.
std::string graph_svg(const GraphPicture& picture);

}  // namespace skein::formats
