#!/usr/bin/env bash
# Stores of graphs: what makes them, what is in them, and what is refused.
source "$(dirname "$0")/expect.sh"
data="$bin/skein-data"
graphs=("$data" graphs)

cat >nodes.jsonl <<'JSON'
{"id":"a","y":2,"split":"train","x":[3,4]}
{"id":"b","y":0,"split":"test","x":[4]}
{"id":"c","y":0,"split":null,"x":[]}
JSON
printf 'a\tb\nb\ta\nb\tc\n' >links.tsv
expect 0 "cora.h5: 1 graphs, 3 nodes, 4 links" "${graphs[@]}" --graphs.edges=links.tsv --graphs.laplacian=2 --graphs.walks=4 \
  --graphs.colours=2 --graphs.distances --output.path=cora.h5 nodes.jsonl
expect 0 "records       1" "$data" inspect --store.verify cora.h5
for line in "nodes         3, 3 to 3, mean 3.00" "links         4, 4 to 4" "a node has    1 to 2 links, mean 1.33; 0 have none" \
  "self-loops    0" "column        node_bag: categories, u8" "column        node_label: categories, u8" "           2  0" \
  "           1  train" "column        node_walk: numbers, f32 [4]" "column        pair_distance: numbers, u8" "checksums     hold"; do
  grep -qF -- "$line" output || { cat output >&2; die "inspect does not say: $line"; }
done

# The same graph, whatever the order of its links and the threads.
printf 'b\tc\na\tb\n' | gzip >other.tsv.gz
"${graphs[@]}" --graphs.edges=other.tsv.gz --graphs.laplacian=2 --graphs.walks=4 --graphs.colours=2 --graphs.distances --run.threads=3 \
  --run.quiet --output.path=other.h5 nodes.jsonl
cmp cora.h5 other.h5 || die "the order of links makes another store"

# Made ones.
expect 0 "skips.h5: 30 graphs, 1230 nodes, 4920 links" "${graphs[@]}" --graphs.make=skip-links --graphs.count=3 --graphs.folds=3 --output.path=skips.h5
expect 0 "          10  fold 3" "$data" inspect skips.h5
expect 0 "grid.h5: 1 graphs, 12 nodes, 34 links" "${graphs[@]}" --graphs.make=grid --graphs.height=3 --graphs.width=4 \
  --graphs.fractions=0.5,0.25,0.25 --output.path=grid.h5
expect 0 "blocks.h5: 2 graphs, 120 nodes" "${graphs[@]}" --graphs.make=blocks --graphs.count=2 --graphs.communities=3 --graphs.outside=0.05 --output.path=blocks.h5
grep -qE "belief propagation at the true probabilities finds the community of (9[0-9]|100)\.[0-9]{2}%" output || { cat output >&2; die "no word of what can be found"; }

# What is refused.
expect 2 "no graphs were given" "${graphs[@]}" --output.path=c.h5
expect 2 "output.path" "${graphs[@]}" nodes.jsonl
expect 2 "give --output.replace" "${graphs[@]}" --graphs.edges=links.tsv --output.path=cora.h5 nodes.jsonl
expect 2 "nodes.jsonl:1: no key \"nodes\"" "${graphs[@]}" --output.path=c.h5 nodes.jsonl
expect 2 "graphs.make = 'circles'" "${graphs[@]}" --graphs.make=circles --output.path=c.h5
printf 'a\tz\n' >bad.tsv
expect 2 "bad.tsv:1: nodes.jsonl has no node \"z\"" "${graphs[@]}" --graphs.edges=bad.tsv --output.path=c.h5 nodes.jsonl
expect 2 "the data say a split already" "${graphs[@]}" --graphs.edges=links.tsv --graphs.folds=2 --output.path=c.h5 nodes.jsonl
[ ! -e c.h5 ] || die "a refused store was written"
