// Graphs from every layout that they come in, and what is refused of each.
#include "skein/data/graphs/graph_files.h"

#include <filesystem>

#include "graph_fixtures.h"

namespace skein::data {
namespace {

using namespace test;
using NodeRows = std::vector<std::vector<uint32_t>>;
using Ids = std::vector<int32_t>;
using Floats = std::vector<float>;
using Words = std::vector<std::string>;

void expect_lines_refused(const std::string& lines, std::initializer_list<std::string> words,
                          const GraphFilesConfig& config = {}) {
  expect_error(ExitCode::usage, words, [&] { graphs_of_lines(lines, config); });
}

TEST(GraphFiles, AGraphALine) {
  const GraphSet set =
      graphs_of_lines(R"({"nodes":["b","a","b"],"edges":[[0,1,7],[2,1,5]],"y":0.5,"split":"train"})"
                      "\n\n"
                      R"({"nodes":["a"],"edges":[],"y":1,"split":"val"})");
  ASSERT_EQ(set.graphs.size(), 2u);
  EXPECT_EQ(neighbours_of(set.graphs[0]), (NodeRows{{1}, {0, 2}, {1}}));
  EXPECT_EQ(neighbours_of(set.graphs[1]), (NodeRows{{}}));
  EXPECT_EQ(set.of(GraphPart::node_category).names, (Words{"a", "b"}));
  EXPECT_EQ(set.graphs[0].of(GraphPart::node_category).ids, (Ids{1, 0, 1}));
  EXPECT_EQ(set.of(GraphPart::link_category).names, (Words{"5", "7"}));
  EXPECT_EQ(set.graphs[0].of(GraphPart::link_category).ids, (Ids{1, 1, 0, 0}));
  EXPECT_EQ(set.of(GraphPart::label).width, 1);
  EXPECT_EQ(set.graphs[0].of(GraphPart::label).numbers, (Floats{0.5}));
  EXPECT_EQ(set.graphs[1].of(GraphPart::label).numbers, (Floats{1}));
  EXPECT_EQ(set.graphs[0].of(GraphPart::split).ids, (Ids{0}));
  EXPECT_EQ(set.graphs[1].of(GraphPart::split).ids, (Ids{1}));
}

TEST(GraphFiles, NamesKeys) {
  GraphFilesConfig config;
  config.nodes_key = "atoms";
  config.links_key = "bonds";
  config.label_key = "kind";
  const GraphSet set = graphs_of_lines(R"({"atoms":2,"bonds":[[1,0]],"kind":"ring"})", config);
  EXPECT_EQ(set.of(GraphPart::label).names, (Words{"ring"}));
  expect_lines_refused(R"({"atoms":2,"bonds":[[1,0]],"kinds":"ring"})",
                       {"graphs.jsonl:1", "no key \"kind\"", "did you mean \"kinds\""}, config);
  expect_lines_refused(R"({"node":2,"edges":[]})", {"graphs.jsonl:1", "no key \"nodes\""});
}

TEST(GraphFiles, ListsAreNumbersBagsOrPlaces) {
  const std::string even = R"({"nodes":[[6,0],[7,1]],"edges":[]})";
  const GraphSet numbers = graphs_of_lines(even);
  EXPECT_EQ(numbers.of(GraphPart::node_number).width, 2);
  EXPECT_EQ(numbers.graphs[0].of(GraphPart::node_number).numbers, (Floats{6, 0, 7, 1}));
  GraphFilesConfig config;
  config.features = FeatureKind::categories;
  const GraphSet places = graphs_of_lines(even, config);
  EXPECT_EQ(places.of(GraphPart::node_bag).names, (Words{"0=6", "0=7", "1=0", "1=1"}));
  EXPECT_EQ(places.graphs[0].of(GraphPart::node_bag).ids, (Ids{0, 2, 1, 3}));
  const GraphSet bags = graphs_of_lines(R"({"nodes":[[10],[],[9,10]],"edges":[]})");
  EXPECT_EQ(bags.of(GraphPart::node_bag).names, (Words{"9", "10"}));
  EXPECT_EQ(bags.graphs[0].of(GraphPart::node_bag).ids, (Ids{1, 0, 1}));
  EXPECT_EQ(bags.graphs[0].of(GraphPart::node_bag).starts, (std::vector<uint32_t>{0, 1, 1, 3}));
  config.features = FeatureKind::numbers;
  expect_lines_refused(R"({"nodes":[[1],[2,3]],"edges":[]})",
                       {"graphs.jsonl:1", "node_number 1 has 2 numbers", "first has 1"}, config);
  expect_lines_refused(R"({"nodes":[[1.5],[2,3]],"edges":[]})", {"1.5 among its categories"});
  expect_lines_refused(R"({"nodes":[[1],2],"edges":[]})", {"1 of 2 rows of node_category"});
  expect_lines_refused(R"({"nodes":[["a"]],"edges":[]})", {"\"a\" stands in a list of numbers"});
  expect_lines_refused(R"({"nodes":[[1e300]],"edges":[]})", {"finite number that f32 holds"});
}

TEST(GraphFiles, WhatOnlySomeHaveIsACategoryOrRefused) {
  const GraphSet set = graphs_of_lines(R"({"nodes":["a",null],"edges":[]})");
  EXPECT_EQ(set.of(GraphPart::node_category).names, (Words{"a", "(none)"}));
  EXPECT_EQ(set.graphs[0].of(GraphPart::node_category).ids, (Ids{0, 1}));
  const std::string labelled = R"({"nodes":1,"edges":[],"y":1})",
                    bare = R"({"nodes":1,"edges":[]})";
  const GraphSet some = graphs_of_lines(labelled + "\n" + bare);
  EXPECT_EQ(some.of(GraphPart::label).names, (Words{"1", "(none)"}));
  EXPECT_EQ(some.graphs[1].of(GraphPart::label).ids, (Ids{1}));
  expect_lines_refused(R"({"nodes":1,"edges":[],"y":[1]})"
                       "\n" +
                           bare,
                       {"graphs.jsonl:2", "0 of 1 label rows"});
  expect_lines_refused(R"({"nodes":["a"],"edges":[]})"
                       "\n" +
                           bare,
                       {"graphs.jsonl:2", "0 of 1 node_category rows"});
  expect_lines_refused(R"~({"nodes":["(none)"],"edges":[]})~",
                       {"(none) is the name of what has no"});
  expect_lines_refused(R"({"nodes":[1.5,null],"edges":[]})", {"a row of node_category has no"});
}

// The line of docs/graphs.md, and a graph that says less.
TEST(GraphFiles, LinksAndSplitsThatOnlySomeHave) {
  const GraphSet set = graphs_of_lines(
      R"({"nodes":["C","C","O"],"edges":[[0,1],[1,2,"double"]],"y":-0.3,"split":"train"})"
      "\n"
      R"({"nodes":["C","C"],"edges":[[0,1]],"y":1})");
  EXPECT_EQ(set.of(GraphPart::link_category).names, (Words{"double", "(none)"}));
  EXPECT_EQ(set.graphs[0].of(GraphPart::link_category).ids, (Ids{1, 1, 0, 0}));
  EXPECT_EQ(set.graphs[1].of(GraphPart::link_category).ids, (Ids{1, 1}));
  EXPECT_EQ(set.graphs[1].of(GraphPart::split).ids, (Ids{3}));
  EXPECT_FALSE(graphs_of_lines(R"({"nodes":2,"edges":[[0,1]]})").of(GraphPart::split).used());
}

TEST(GraphFiles, LinksGoBothWaysUnlessDirected) {
  const std::string line = R"({"nodes":3,"edges":[[0,1],[1,0],[2,1],[2,2]]})";
  EXPECT_EQ(neighbours_of(graphs_of_lines(line).graphs[0]), (NodeRows{{1}, {0, 2}, {1, 2}}));
  GraphFilesConfig config;
  config.self_loops = SelfLoops::drop;
  EXPECT_EQ(neighbours_of(graphs_of_lines(line, config).graphs[0]), (NodeRows{{1}, {0, 2}, {1}}));
  config.self_loops = SelfLoops::add;
  EXPECT_EQ(neighbours_of(graphs_of_lines(line, config).graphs[0]),
            (NodeRows{{0, 1}, {0, 1, 2}, {1, 2}}));
  config.directed = true;
  config.self_loops = SelfLoops::keep;
  EXPECT_EQ(neighbours_of(graphs_of_lines(line, config).graphs[0]), (NodeRows{{1}, {0, 2}, {2}}));
}

TEST(GraphFiles, LinksThatAreListedTwice) {
  const std::string twice = R"({"nodes":2,"edges":[[0,1],[0,1]]})";
  expect_lines_refused(twice, {"graphs.jsonl:1", "nodes 0 and 1 was there already"});
  GraphFilesConfig config;
  config.duplicates = Duplicates::keep;
  EXPECT_EQ(neighbours_of(graphs_of_lines(twice, config).graphs[0]), (NodeRows{{1, 1}, {0, 0}}));
  config.duplicates = Duplicates::drop;
  EXPECT_EQ(neighbours_of(graphs_of_lines(twice, config).graphs[0]), (NodeRows{{1}, {0}}));
  const std::string differ = R"({"nodes":2,"edges":[[0,1,3],[1,0,4]]})";
  expect_lines_refused(differ, {"has another value than the way back", "graphs.directed"});
  config.directed = true;
  const GraphSet set = graphs_of_lines(differ, config);
  EXPECT_EQ(set.graphs[0].of(GraphPart::link_category).ids, (Ids{1, 0}));
  config = {};
  config.self_loops = SelfLoops::add;
  expect_lines_refused(R"({"nodes":2,"edges":[[0,1,3]]})",
                       {"graphs.self_loops=add", "link_category"}, config);
}

TEST(GraphFiles, BadLines) {
  expect_lines_refused(R"({"nodes":2,"edges":[[0,2]]})", {"graphs.jsonl:1", "0 and 2", "2 nodes"});
  expect_lines_refused(R"({"nodes":2,"edges":[[0,-1]]})", {"graphs.jsonl:1", "0 and -1"});
  expect_lines_refused(R"({"nodes":-2,"edges":[]})", {"says -2 nodes"});
  expect_lines_refused(R"({"nodes":1000000000,"edges":[]})", {"says 1000000000 nodes", "1048576"});
  expect_lines_refused(R"({"nodes":2,"edges":[[0]]})", {"[0] stands among the links"});
  expect_lines_refused(R"({"nodes":2,"edges":[[0,1.5]]})", {"1.5"});
  expect_lines_refused(R"({"nodes":2,"edges":7})", {"not a list of links"});
  expect_lines_refused(R"({"nodes":2,"edges":[],"split":"last"})", {"the split \"last\""});
  expect_lines_refused(R"({"nodes":[{}],"edges":[]})", {"a JSON object stands where"});
  expect_lines_refused("", {"hold no graph"});
  expect_error(ExitCode::usage, {"no graphs were given"}, [] { read_graphs({}); });
  expect_error(ExitCode::usage, {"cannot read none.jsonl"},
               [] { read_graphs({.inputs = {"none.jsonl"}}); });
}

TEST(GraphFiles, EmptyGraphs) {
  const GraphSet set = graphs_of_lines(R"({"nodes":0,"edges":[]})");
  EXPECT_EQ(set.graphs[0].nodes, 0);
  EXPECT_EQ(set.graphs[0].link_starts, (std::vector<uint32_t>{0}));
  const GraphSet bags = graphs_of_lines(R"({"nodes":[[1,2],[]],"edges":[]})"
                                        "\n"
                                        R"({"nodes":[],"edges":[]})");
  EXPECT_EQ(bags.graphs[1].of(GraphPart::node_bag).starts, (std::vector<uint32_t>{0}));
}

TEST(GraphFiles, SingleNumbersAreWhatIsSaid) {
  const std::string line = R"({"nodes":[1,2],"edges":[[0,1,3]]})";
  GraphFilesConfig config;
  config.features = FeatureKind::numbers;
  config.links = LabelKind::numbers;
  const GraphSet numbers = graphs_of_lines(line, config);
  EXPECT_EQ(numbers.graphs[0].of(GraphPart::node_number).numbers, (Floats{1, 2}));
  EXPECT_EQ(numbers.graphs[0].of(GraphPart::link_number).numbers, (Floats{3, 3}));
  config.features = FeatureKind::categories;
  config.links = LabelKind::classes;
  const GraphSet categories = graphs_of_lines(R"({"nodes":[1.5,2],"edges":[[0,1,0.5]]})", config);
  EXPECT_EQ(categories.of(GraphPart::node_category).names, (Words{"1.5", "2"}));
  EXPECT_EQ(categories.of(GraphPart::link_category).names, (Words{"0.5"}));
  config.features = FeatureKind::numbers;
  expect_lines_refused(R"({"nodes":["C"],"edges":[]})",
                       {"node_category are to be numbers", "graphs.feature_kind", "C"}, config);
}

// A node a line, with a table of links.
GraphFilesConfig nodes_and_links(const Scratch& scratch, const std::string& nodes,
                                 const std::string& links) {
  write_file(scratch.file("nodes.jsonl"), nodes);
  write_file(scratch.file("links.tsv"), links);
  return {.inputs = {scratch.file("nodes.jsonl")}, .edges = {scratch.file("links.tsv")}};
}

TEST(GraphFiles, ANodeALine) {
  const Scratch scratch;
  const std::string nodes = R"({"id":5,"y":2,"split":"train","x":[3,4]})"
                            "\n"
                            R"({"id":"b","y":0,"split":"test","x":[4]})"
                            "\n"
                            R"({"id":7})";
  const GraphFilesConfig plain = nodes_and_links(scratch, nodes, "5\tb\nb\t7\n");
  expect_error(ExitCode::usage, {"nodes.jsonl", "2 of 3 rows of node_category"},
               [&] { read_graphs(plain); });
  const std::string some = "{\"id\":1,\"x\":\"C\"}\n{\"id\":2}\n{\"id\":3,\"x\":null}\n";
  EXPECT_EQ(read_graphs(nodes_and_links(scratch, some, "1\t2\n"))
                .graphs[0]
                .of(GraphPart::node_category)
                .ids,
            (Ids{0, 1, 1}));
  const GraphSet set = read_graphs(
      nodes_and_links(scratch, nodes.substr(0, nodes.rfind("}")) + R"(,"x":[]})", "5\tb\nb\t7\n"));
  const Graph& graph = set.graphs.at(0);
  EXPECT_EQ(neighbours_of(graph), (NodeRows{{1}, {0, 2}, {1}}));
  EXPECT_EQ(set.of(GraphPart::node_label).names, (Words{"0", "2", "(none)"}));
  EXPECT_EQ(graph.of(GraphPart::node_label).ids, (Ids{1, 0, 2}));
  EXPECT_EQ(graph.of(GraphPart::node_split).ids, (Ids{0, 2, 3}));
  EXPECT_EQ(graph.of(GraphPart::node_bag).ids, (Ids{0, 1, 1}));
  EXPECT_EQ(graph.of(GraphPart::node_bag).starts, (std::vector<uint32_t>{0, 2, 3, 3}));
}

TEST(GraphFiles, BadNodesAndTables) {
  const Scratch scratch;
  const std::string two = "{\"id\":0}\n{\"id\":1}\n";
  const auto refused = [&](const std::string& nodes, const std::string& links,
                           std::initializer_list<std::string> words) {
    const GraphFilesConfig config = nodes_and_links(scratch, nodes, links);
    expect_error(ExitCode::usage, words, [&] { read_graphs(config); });
  };
  refused(two, "0\t1\n1\t2\n", {"links.tsv:2", "no node \"2\""});
  refused(two, "0\t1\t3\n1\t0\n", {"links.tsv:2", "2 columns", "first row (3)"});
  refused(two, "0\n", {"links.tsv:1", "1 columns"});
  refused(two, "0\t1\tnan\n", {"links.tsv:1", "not a finite number"});
  refused(two, "0\t1\n0\t1\n", {"links.tsv:2", "was there already, at", "links.tsv:1"});
  refused(two + two, "", {"nodes.jsonl:3", "the node \"0\" was there already"});
  refused("{\"id\":[1]}", "", {"nodes.jsonl:1", "the id of a node is [1]"});
  refused("{\"x\":1}", "", {"nodes.jsonl:1", "no key \"id\""});
  GraphFilesConfig config = nodes_and_links(scratch, two, "0\t1\n");
  config.edges.push_back("more.tsv");
  expect_error(ExitCode::usage, {"1 files of nodes and 2 of links"}, [&] { read_graphs(config); });
  config.layout = GraphLayout::jsonl;
  expect_error(ExitCode::usage, {"are for graphs.format=nodes"}, [&] { read_graphs(config); });
}

TEST(GraphFiles, TablesOfLinks) {
  const Scratch scratch;
  write_file(scratch.file("a.csv"), "from,to,weight\n10,9,0.5\n9,11,2\n");
  GraphFilesConfig config{.inputs = {scratch.file("a.csv")}};
  config.header = true;
  const GraphSet set = read_graphs(config);
  EXPECT_EQ(neighbours_of(set.graphs[0]), (NodeRows{{1, 2}, {0}, {0}}));
  EXPECT_EQ(set.graphs[0].of(GraphPart::link_number).numbers, (Floats{0.5, 2, 0.5, 2}));
  config.links = LabelKind::classes;
  EXPECT_EQ(read_graphs(config).of(GraphPart::link_category).names, (Words{"0.5", "2"}));
  write_file(scratch.file("a.csv"), "from,to\n,9\n");
  expect_error(ExitCode::usage, {"a.csv:2", "name of a node is empty"},
               [&] { read_graphs(config); });
}

TEST(GraphFiles, TablesWithBlanksAndNamesOfColumns) {
  const Scratch scratch;
  write_file(scratch.file("a.csv"), "1, 2\n 2,3 \n");
  GraphFilesConfig config{.inputs = {scratch.file("a.csv")}};
  EXPECT_EQ(neighbours_of(read_graphs(config).graphs[0]), (NodeRows{{1}, {0, 2}, {1}}));
  write_file(scratch.file("a.csv"), "from,to\n1,2\n2,3\n");
  expect_error(ExitCode::usage, {"a.csv: the first row has the nodes from, to", "graphs.header"},
               [&] { read_graphs(config); });
  config.header = true;
  EXPECT_EQ(read_graphs(config).graphs[0].nodes, 3);
  config.header = false;
  for (const char* const good : {"a,b\n1,2\na,1\n", "a,1\n1,2\n", "a,b\n"}) {
    write_file(scratch.file("a.csv"), good);
    EXPECT_GE(read_graphs(config).graphs[0].nodes, 2);
  }
}

TEST(GraphFiles, TheOrderOfLinksIsNothing) {
  const std::string one = R"({"nodes":4,"edges":[[0,1,1],[2,3,2],[1,3,3],[0,2,4]]})";
  const std::string other = R"({"nodes":4,"edges":[[0,2,4],[3,1,3],[0,1,1],[3,2,2]]})";
  const GraphSet a = graphs_of_lines(one), b = graphs_of_lines(other);
  EXPECT_EQ(a.graphs[0].link_to, b.graphs[0].link_to);
  EXPECT_EQ(a.graphs[0].of(GraphPart::link_category).ids,
            b.graphs[0].of(GraphPart::link_category).ids);
}

// Two graphs, of three and of one node; labels with a gap.
void write_tu(const Scratch& scratch) {
  std::filesystem::create_directories(scratch.file("DS"));
  write_file(scratch.file("DS/DS_A.txt"), "1, 2\n2, 1\n2, 3\n3, 2\n");
  write_file(scratch.file("DS/DS_graph_indicator.txt"), "1\n1\n1\n2\n");
  write_file(scratch.file("DS/DS_graph_labels.txt"), "-1\n3\n");
  write_file(scratch.file("DS/DS_node_labels.txt"), "4\n0\n4\n0\n");
  write_file(scratch.file("DS/DS_node_attributes.txt"), "0.5, 1\n2, 3\n4, 5\n6, 7\n");
  write_file(scratch.file("DS/DS_edge_labels.txt"), "1\n1\n0\n0\n");
}

TEST(GraphFiles, FoldersOfTu) {
  const Scratch scratch;
  write_tu(scratch);
  const GraphSet set = read_graphs({.inputs = {scratch.file("DS")}});
  ASSERT_EQ(set.graphs.size(), 2u);
  EXPECT_EQ(neighbours_of(set.graphs[0]), (NodeRows{{1}, {0, 2}, {1}}));
  EXPECT_EQ(set.graphs[1].nodes, 1);
  EXPECT_EQ(set.of(GraphPart::label).names, (Words{"-1", "3"}));
  EXPECT_EQ(set.graphs[1].of(GraphPart::label).ids, (Ids{1}));
  EXPECT_EQ(set.graphs[0].of(GraphPart::node_category).ids, (Ids{1, 0, 1}));
  EXPECT_EQ(set.graphs[1].of(GraphPart::node_number).numbers, (Floats{6, 7}));
  EXPECT_EQ(set.graphs[0].of(GraphPart::link_category).ids, (Ids{1, 1, 0, 0}));
}

TEST(GraphFiles, BadFoldersOfTu) {
  const Scratch scratch;
  const auto refused = [&](const std::string& file, const std::string& text,
                           std::initializer_list<std::string> words) {
    write_tu(scratch);
    write_file(scratch.file("DS/DS_" + file), text);
    expect_error(ExitCode::usage, words, [&] { read_graphs({.inputs = {scratch.file("DS")}}); });
  };
  refused("A.txt", "1, 5\n", {"DS_A.txt:1", "\"5\"", "from 1 to 4"});
  refused("A.txt", "1, 4\n", {"DS_A.txt:1", "graphs 1 and 2"});
  refused("A.txt", "1\n", {"DS_A.txt:1", "1 fields"});
  refused("A.txt", "1, 2\n1, 2\n", {"DS_edge_labels.txt has 4 lines, but there are 2 links"});
  refused("graph_indicator.txt", "1\n1\n1\n3\n", {"graph 2 has no nodes"});
  refused("graph_indicator.txt", "1\n1\n1\n1000000000\n", {"names a graph 1000000000", "4 nodes"});
  refused("graph_indicator.txt", "1\n1\n1\n-2\n", {"DS_graph_indicator.txt:4", "\"-2\""});
  refused("graph_labels.txt", "1\n", {"DS_graph_labels.txt has 1 lines", "2 graphs"});
  refused("node_labels.txt", "1\n", {"DS_node_labels.txt has 1 lines", "4 nodes"});
  refused("node_attributes.txt", "1\n2\nnan\n4\n", {"DS_node_attributes.txt:3", "\"nan\""});
  refused("edge_labels.txt", "1\n2\n0\n0\n", {"another value than the way back"});
  std::filesystem::remove(scratch.file("DS/DS_A.txt"));
  expect_error(ExitCode::usage, {"has 0 files that end in _A.txt"},
               [&] { read_graphs({.inputs = {scratch.file("DS")}}); });
}

GraphSet lists_of(const std::string& text) {
  const Scratch scratch;
  write_file(scratch.file("set.txt"), text);
  return read_graphs({.inputs = {scratch.file("set.txt")}});
}

TEST(GraphFiles, ListsOfNeighbours) {
  const GraphSet set = lists_of("2\n3 0\n5 1 1 0.5\n5 2 0 2 1\n6 1 1 2\n1 2\n5 0 0\n");
  EXPECT_EQ(neighbours_of(set.graphs.at(0)), (NodeRows{{1}, {0, 2}, {1}}));
  EXPECT_EQ(set.of(GraphPart::label).names, (Words{"0", "2"}));
  EXPECT_EQ(set.graphs[1].of(GraphPart::label).ids, (Ids{1}));
  EXPECT_EQ(set.graphs[0].of(GraphPart::node_number).numbers, (Floats{0.5, 1, 2}));
  const auto refused = [](const std::string& text, std::initializer_list<std::string> words) {
    expect_error(ExitCode::usage, words, [&] { lists_of(text); });
  };
  refused("", {"is empty"});
  refused("2\n1 0\n5 0\n", {"ends after 1 of 2 graphs"});
  refused("1\n1000000000 0\n5 0\n", {"ends after 1 of the 1000000000 nodes"});
  refused("1\n1 0\n5 0\n5 0\n", {"set.txt:4", "goes on after its 1 graphs"});
  refused("1\n1 0\n5 -1\n", {"set.txt:3", "\"-1\""});
  refused("1\n1 0\n5 2 0\n", {"set.txt:3", "2 neighbours are promised, 1 are there"});
  refused("1\n1 0\n5 1 1\n", {"set.txt:3", "\"1\"", "from 0 to 0"});
  refused("1\n2 0\n5 0 1\n5 0\n", {"node_number 1 has 0 numbers"});
  refused("x\n", {"set.txt:1", "\"x\""});
}

}  // namespace
}  // namespace skein::data
