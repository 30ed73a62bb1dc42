#!/usr/bin/env python3
"""Times training steps of a graph attention network by torch_geometric, full batch: GATConv with 8 heads of 8, ELU, then one head for each class.

The peer of configs/gat_cora.ini. The same recipe: Adam, for Cora also dropout of inputs and of links. Prints the seconds of a step in five rounds (of 20 steps for Cora), their median, that of the seconds of the process in them, and the most
memory of the process.

usage: torch_graphs.py cora CORA.nodes.jsonl CORA.edges.tsv      (needs `pip install torch torch_geometric`)
       torch_graphs.py drawn NODES LINKS CLASSES     nodes with one of 64 categories each and drawn links
"""

import json
import os
import resource
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch_geometric.nn import GATConv


class Gat(torch.nn.Module):
    def __init__(self, inputs, classes, dropout, heads=8, width=8):
        super().__init__()
        self.dropout = dropout
        self.first = GATConv(inputs, width, heads=heads, dropout=dropout)
        self.last = GATConv(heads * width, classes, heads=1, concat=False, dropout=dropout)

    def forward(self, x, links):
        x = F.dropout(x, self.dropout, self.training)
        x = F.elu(self.first(x, links))
        x = F.dropout(x, self.dropout, self.training)
        return self.last(x, links)


def cora(nodes_path, edges_path):
    nodes = [json.loads(line) for line in open(nodes_path)]
    places = {node["id"]: i for i, node in enumerate(nodes)}
    x = torch.zeros(len(nodes), 1 + max(word for node in nodes for word in node["x"]))
    for i, node in enumerate(nodes):
        x[i, node["x"]] = 1 / len(node["x"])
    names = sorted({node["y"] for node in nodes})
    y = torch.tensor([names.index(node["y"]) for node in nodes])
    known = torch.tensor([node.get("split") == "train" for node in nodes])
    pairs = set()
    for line in open(edges_path):
        one, other = (places[type(nodes[0]["id"])(name)] for name in line.split())
        pairs |= {(one, other), (other, one)}
    return x, torch.tensor(sorted(pairs)).T.contiguous(), y, known, len(names), 0.6


def drawn(nodes, links, classes):
    torch.manual_seed(1)
    x = F.one_hot(torch.arange(nodes) % 64, 64).float()
    edges = torch.randint(nodes, (2, links))
    y = torch.randint(classes, (nodes,))
    return (
        x,
        edges[:, edges[1].argsort(stable=True)],
        y,
        torch.ones(nodes, dtype=torch.bool),
        classes,
        0.0,
    )


def main(kind, *args):
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    x, links, y, known, classes, dropout = (
        cora(*args) if kind == "cora" else drawn(*(int(arg) for arg in args))
    )
    model = Gat(x.shape[1], classes, dropout)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=5e-4)
    steps, seconds, busy = 20 if kind == "cora" else 1, [], []
    for _ in range(6):
        begin, before = time.perf_counter(), time.process_time()
        for _ in range(steps):
            optimizer.zero_grad()
            F.cross_entropy(model(x, links)[known], y[known]).backward()
            optimizer.step()
        seconds.append((time.perf_counter() - begin) / steps)
        busy.append((time.process_time() - before) / steps)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    times = " ".join(f"{one:.4f}" for one in seconds[1:])
    print(
        f"{times} median {statistics.median(seconds[1:]):.4f} s a step, "
        f"{statistics.median(busy[1:]):.4f} s of all threads, {most} MiB"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
