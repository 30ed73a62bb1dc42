#!/usr/bin/env python3
"""Writes tests/data/golden/graphs: small graphs, and where numpy and networkx put their nodes.

usage: make_graph_golden.py FOLDER"""

import json
import sys
from pathlib import Path

import networkx
import numpy


def relabelled(graph):
    return networkx.convert_node_labels_to_integers(graph, ordering="sorted")


def graphs():
    path = networkx.path_graph(7)
    apart = networkx.disjoint_union(networkx.star_graph(4), networkx.path_graph(5))
    apart.add_node(len(apart))
    looped = networkx.cycle_graph(5)
    looped.add_edge(0, 0)
    looped.add_edge(1, 3)
    return {
        "path": path,
        "circle": networkx.circulant_graph(41, [1, 6]),
        "apart": apart,
        "looped": looped,
        "one": networkx.empty_graph(1),
        "caveman": relabelled(networkx.connected_caveman_graph(40, 9)),
        "random": networkx.gnm_random_graph(500, 900, seed=3),
    }


def laplacian(adjacency, count):
    """The smallest eigenvalues after those that are 0, one a component."""
    degree = adjacency.sum(1)
    scale = numpy.where(degree > 0, 1 / numpy.sqrt(numpy.maximum(degree, 1)), 0)
    matrix = numpy.diag((degree > 0).astype(float)) - scale[:, None] * adjacency * scale[None, :]
    values, _ = numpy.linalg.eigh(matrix)
    components = int(networkx.number_connected_components(networkx.from_numpy_array(adjacency)))
    return values[components : components + count]


def returns(adjacency, steps):
    degree = adjacency.sum(1)
    walk = adjacency / numpy.maximum(degree, 1)[:, None]
    power, made = numpy.eye(len(walk)), []
    for _ in range(steps):
        power = power @ walk
        made.append(numpy.diag(power))
    return numpy.stack(made, 1)


def distances(graph):
    found = dict(networkx.all_pairs_shortest_path_length(graph))
    return [[found[a].get(b, 255) for b in graph] for a in graph]


def record(name, graph):
    adjacency = networkx.to_numpy_array(graph, nodelist=sorted(graph))
    nodes = numpy.arange(0, len(graph), max(1, len(graph) // 20))
    return {
        "name": name,
        "nodes": len(graph),
        "edges": sorted([min(a, b), max(a, b)] for a, b in graph.edges),
        "eigenvalues": laplacian(adjacency, 8).round(12).tolist(),
        "sampled": nodes.tolist(),
        "returns": returns(adjacency, 6)[nodes].round(12).tolist(),
        "distances": distances(graph) if len(graph) <= 50 else [],
    }


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "positions.jsonl", "w") as out:
        for name, graph in graphs().items():
            out.write(json.dumps(record(name, graph), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
