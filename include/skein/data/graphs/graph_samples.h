// Graphs of stores as batches of nodes and links.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "skein/data/graphs/graph_form.h"
#include "skein/data/graphs/graph_store.h"
#include "skein/data/graphs/link_pairs.h"
#include "skein/data/samples/order.h"
#include "skein/data/samples/source.h"

namespace skein::data {

struct GraphInMemory;
struct SeenNodes;

// Stores that are blended by weight, as SampleOrder has it.
struct GraphBlend {
  std::vector<GraphRecords> parts;
  std::vector<double> weights;
};

// The columns that a model with those uses reads.
std::vector<std::string> input_columns(const GraphRecords& store, const GraphUses& uses);
// What a store has of `wanted`, in the order of their columns' names; where that is nothing of
// nodes, one category stands for all. wanted: names of columns, or "one", that category; empty: all
// that the model has a use for; a model that uses distances gets them, wanted or not. Usage errors
// for columns that are not there or of no use to it.
// Sizes are those that all parts have, colours those that occur.
GraphForm graph_form(const GraphBlend& blend, const std::vector<std::string>& wanted,
                     const GraphUses& uses);
// A usage error where a store has not what the form reads, or has other names for its categories.
// origin: what reads it.
void check_form(const GraphRecords& store, const GraphForm& form, const std::string& origin);
// How much of all there is; nodes: of the largest graph of the blend.
GraphSizes sizes_of(const GraphForm& form, const GraphBlend& blend);

// Of a split's parts.
enum class GraphUse { training, validation, test, all };

// A graph, or of one the nodes whose labels are meant, or the pairs that are linked.
struct GraphUnit {
  int part = 0;  // of the blend
  int64_t record = 0;
  std::vector<int32_t> nodes{};       // rising
  std::vector<NodePair> pairs{};      // of that use
  std::vector<NodePair> all_pairs{};  // of the graph, where some are asked for
  GraphUse use = GraphUse::all;
};

// Without a fold the parts of a split are train, validation, test and none; with it they are
// "fold 1", "fold 2" and so on, of which `fold` is the test, the one after it (the first after the
// last) the validation, and the rest is trained on.
struct GraphChoice {
  GraphUse use = GraphUse::all;
  int64_t fold = 0;         // 0: the split has none
  bool unlabelled = false;  // graphs and nodes without a label too
};
// Those of the stores' splits, of graphs and of nodes; a store without one is meant whole. Graphs
// of which nothing is meant are none. A usage error for a split in folds where no fold is given, or
// one that it has not, and the other way round.
std::vector<GraphUnit> chosen_units(const GraphBlend& blend, const GraphForm& form,
                                    const GraphChoice& choice);
// Whether any of the stores has a part for that use.
bool has_part(const GraphBlend& blend, const GraphForm& form, const GraphChoice& choice);
// How many folds the stores are split in, of graphs, or of nodes where there are none of graphs. A
// usage error for a store without folds, or with other folds than the first one.
int64_t fold_count(const GraphBlend& blend);

// The names of the classes of a store's labels; empty where they are numbers. A usage error where
// it has none.
std::vector<std::string> classes_of(const GraphRecords& store, bool of_nodes);

// Numbers are learnt as (number - mean) / deviation.
struct LabelUnits {
  double mean = 0, deviation = 1;
};

struct GraphSampling {
  LabelUnits units{};
  uint64_t seed = 0;
  OrderKind order = OrderKind::once;
  bool labelled = true;      // else nothing is asked of labels, and none counts
  bool hides_links = false;  // those of validation and test are left out of the graphs
  // Not empty: a sample is a node of a unit, with so many of its neighbours, so many of the
  // neighbours of each of these, and so on, hop by hop. Labels are those of nodes then.
  std::vector<int64_t> neighbours{};
};

// A sample is a graph. Its places are the unit's nodes, or of a graph's label its first. Where it
// is trained on, Laplacian vectors have signs of their own in each epoch, which are a function of
// the seed, the epoch and the graph, and so are random numbers; judged are the signs of the store,
// and always the same random numbers.
// Of units with pairs a sample asks which of batch.source.links [B,2 pairs,2] are linked, the class
// 1: the unit's pairs are, and as many that pairs_apart draws behind them are not. These are drawn
// anew in each epoch where it is trained on, by the seed, the epoch and the graph; judged are
// always the same ones, and others in validation than in a test. The batch has a place then, the
// first node, of which all those are targets. Where neighbours are drawn, each node is a sample,
// the first of its row, and its only place. They are drawn anew in each epoch where it is trained
// on, and are a function of the seed, the epoch, the graph, that node and the one whose neighbours
// they are; judged are always the same ones. batch.types [B,T] is then how many links the whole
// graph has at each node. Links that a node has with itself are always kept.
class GraphSamples : public RowSource {
 public:
  GraphSamples(GraphBlend blend, std::vector<GraphUnit> units, const GraphForm& form,
               const GraphSampling& sampling);

  int64_t samples_per_epoch() const override { return order_.samples_per_epoch(); }
  const GraphBlend& blend() const { return blend_; }
  const GraphForm& form() const { return form_; }
  const GraphSampling& sampling() const { return sampling_; }
  const std::vector<GraphUnit>& units() const { return units_; }
  int64_t nodes() const { return most_nodes_; }    // of the largest sample
  int64_t links() const { return most_links_; }    // of that which has most
  int64_t places() const { return most_places_; }  // or pairs, of the unit with the most
  // Of the places of unit `number`: classes, or numbers as the store has them.
  std::vector<int32_t> classes(int64_t number) const;
  std::vector<double> numbers(int64_t number) const;
  // Whether units have pairs; then classes() are of pairs(), those that are linked first.
  bool of_pairs() const { return of_pairs_; }
  std::vector<NodePair> pairs(int64_t number, int64_t epoch = 0) const;

 private:
  struct Key {
    uint64_t seed;
    int64_t epoch, record;
  };

  Batch empty_batch(int64_t count) const override;
  void fill(const Batch& batch, int64_t row, int64_t index) const override;
  std::shared_ptr<const GraphInMemory> graph_of(const GraphUnit& unit) const;
  uint64_t key_of_neighbours(const GraphUnit& unit, int64_t epoch) const;
  void fill_graph(const Batch& batch, int64_t row, const GraphUnit& unit,
                  const GraphInMemory& graph, const SeenNodes& seen, const Key& key) const;
  void fill_links(const Batch& batch, int64_t row, const GraphInMemory& graph,
                  const SeenNodes& seen) const;
  void fill_link_counts(const Batch& batch, int64_t row, const GraphInMemory& graph,
                        const SeenNodes& seen) const;
  void fill_ids(const Batch& batch, int64_t row, const GraphInMemory& graph,
                const SeenNodes& seen) const;
  void fill_numbers(const Batch& batch, int64_t row, const GraphUnit& unit,
                    const GraphInMemory& graph, const SeenNodes& seen, const Key& key) const;
  std::vector<float> signs_of(const Key& key, uint64_t stream) const;
  void fill_labels(const Batch& batch, int64_t row, int64_t number) const;
  void fill_pairs(const Batch& batch, int64_t row, int64_t number, int64_t epoch) const;
  void keep_graphs();
  void take_size(const GraphUnit& unit);
  void measure();

  GraphBlend blend_;
  std::vector<GraphUnit> units_;
  std::vector<std::vector<int64_t>> of_part_;  // numbers of units, by part
  GraphForm form_;
  GraphSizes sizes_;
  GraphSampling sampling_;
  bool of_pairs_ = false, has_classes_ = true;
  int64_t most_nodes_ = 1, most_links_ = 1, most_bag_ = 0, most_places_ = 1;
  SampleOrder order_;
  std::map<std::pair<int, int64_t>, std::shared_ptr<const GraphInMemory>> kept_;  // part, record
};

}  // namespace skein::data
