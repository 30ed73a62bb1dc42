#!/usr/bin/env python3
"""Checks the floors and their rooms: includes point down, siblings are blind to each other, no circle between files,
foreign libraries stay indoors, namespaces follow folders, no two headers define one type, no folder has too many sources.
tools/bench, whose programs run other people's libraries, is no floor.

usage: check_floors.py REPOSITORY"""
import re
import sys
from pathlib import Path

FLOORS = {
    "core": 1, "tensor": 2,
    "kernels": 3, "comm": 3, "data": 3, "text": 3, "formats": 3,
    "ops": 4, "plot": 4, "nn": 5, "models": 6,
    "parallel": 7, "checkpoint": 7,
    "generate": 8, "train": 9, "bench": 10, "convert": 10, "rlhf": 10, "scaling": 10, "runs": 10,
    "cli": 11,
}
TOOLS = 12
# Floors that have rooms: which others each room may use. "" is what lies in the floor's own folder.
# A file that is listed is a room of its own. "*": any room that is not listed, such as a new architecture's.
ROOMS = {
    "core": {"": set(), "files": {""}, "options": {""}, "process": {"", "files"}},
    "text": {
        "split": set(), "scores": {"split"}, "models": {"split"},
        "sentencepiece": {"split", "models"},
        "": {"split", "models", "sentencepiece"}, "learn": {"", "split", "models"},
    },
    "comm": {"": set(), "tcp": {""}, "cuda": {""}, "world.cpp": {"", "tcp"}, "roll_call.cpp": {"", "tcp"}},
    "data": {
        "files": set(), "stores": {"files"}, "columns": {"files", "stores"},
        "samples": {"files", "stores", "columns"}, "records": {"files", "samples"},
        "corpus": {"files", "stores", "columns", "records"}, "scores": {"files", "records"},
        "noise": {"stores", "samples"},
        "images": {"files", "stores", "columns", "samples", "records", "corpus"},
        "graphs": {"files", "stores", "columns", "samples", "records", "corpus"},
        "stories": {"files", "stores", "columns", "samples", "corpus"},
    },
    "models": {"": set(), "*": {""}, "registry.cpp": {"", "*"}},
    "train": {
        "watch": set(), "optim": {"watch"}, "": {"watch", "optim"}, "tasks": {"", "watch", "optim"},
        "chats": {"", "watch", "optim", "tasks"},
        "attention": {""}, "preflight": {"", "optim"}, "evaluations": {"", "tasks", "attention"},
        "graphs": {"", "watch", "optim", "tasks"},
        "pretraining": {"", "watch", "optim", "tasks", "graphs"},
    },
    "convert": {"": set(), "families": {""}, "families.cpp": {"", "families"}},
    "rlhf": {
        "rewards": set(), "policy": {"rewards"}, "dpo": {"policy", "rewards"}, "oracle": {"policy"},
    },
    "scaling": {
        "laws": set(), "fit": {"laws"}, "sweep": {"laws"}, "study": {"laws", "fit", "sweep"},
        "plan": {"laws", "fit", "study"}, "report": {"fit", "study"},
    },
}
# Folders that add no name to the namespace: those whose words every floor above uses, and rooms that share their floor's.
SILENT = {
    "core", "core/*", "tensor", "comm", "comm/cuda", "nn", "models", "models/*", "parallel",
    "kernels/*", "text/*", "data/*", "train/*", "convert/*", "scaling/laws",
}
SPOKEN = {"ops/var"}  # files that add no name, of a folder that does: the tape is everywhere
MOST_SOURCES = 25  # of a folder
SIBLINGS_SEEN = {"data": {"text", "formats"}}
INDOORS = [
    (re.compile(r"^mpi\.h$"), {"comm"}),
    (re.compile(r"^nettle/"), {"comm"}),
    (re.compile(r"^hdf5"), {"data", "checkpoint"}),
    (re.compile(r"^(archive(_entry)?|zlib|png|jpeglib)\.h$"), {"data"}),
    (re.compile(r"^(oniguruma|pcre2)\.h$"), {"text"}),
    (re.compile(r"^boost/program_options"), {"core"}),
    (re.compile(r"^httplib\.h$"), {"runs"}),
    (re.compile(r"^cuda"), {"tensor", "kernels"}),
    (re.compile(r"^cublas"), {"kernels"}),
    (re.compile(r"^nccl"), {"comm"}),
]
GENERATED = {"skein/core/version.h"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def sources(root):
    for top in ("include/skein", "src", "tools"):
        yield from sorted(p for p in (root / top).rglob("*")
                          if p.suffix in (".h", ".cpp", ".cu", ".cuh") and root / "tools" / "bench" not in p.parents)


def floor_of(path, root):
    parts = path.relative_to(root).parts
    if parts[0] == "tools":
        return "tools"
    return parts[2] if parts[0] == "include" else parts[1]


def room_of(path, root):
    """The room of its floor; None where the floor has none."""
    rooms = ROOMS.get(floor_of(path, root))
    if rooms is None:
        return None
    if path.name in rooms:
        return path.name
    parts = path.relative_to(root).parts
    inside = parts[3:] if parts[0] == "include" else parts[2:]
    return inside[0] if len(inside) > 1 else ""


def room_fault(path, target, root):
    """Why a file may not include another of its floor; None when it may."""
    if floor_of(path, root) != floor_of(target, root):
        return None
    room, other = room_of(path, root), room_of(target, root)
    if room == other:
        return None
    rooms = ROOMS[floor_of(path, root)]
    seen = rooms.get(room, rooms.get("*", set()))
    if other in seen or (other not in rooms and "*" in seen):
        return None
    return f"looks from room {room or 'the floor itself'} at {other or 'the floor itself'}"


def resolve(quote, name, path, root):
    """The file of this repository that is meant; None for a foreign one."""
    beside = [path.parent / name] if quote == '"' else []
    found = (c for c in (*beside, root / "include" / name, root / "src" / name) if c.is_file())
    return next((c.resolve() for c in found), None)


def arrow_fault(floor, target_floor):
    """Why a file of `floor` may not include one of `target_floor`; None when it may."""
    if floor == target_floor:
        return None
    level, target = FLOORS.get(floor, TOOLS), FLOORS.get(target_floor, TOOLS)
    if target > level:
        return f"points up from {floor} ({level}) to {target_floor} ({target})"
    if target == level and target_floor not in SIBLINGS_SEEN.get(floor, set()):
        return f"looks from {floor} at its sibling {target_floor}"
    return None


def include_fault(floor, quote, name, target, root):
    if target is not None:
        return arrow_fault(floor, floor_of(target, root))
    if name in GENERATED:
        return None
    if quote == '"':
        return "names no file of this repository"
    for pattern, allowed in INDOORS:
        if pattern.match(name) and floor not in allowed:
            return f"belongs in {', '.join(sorted(allowed))} only"
    return None


def read_graph(root):
    graph, faults = {}, []
    for path in (p.resolve() for p in sources(root)):
        floor = floor_of(path, root)
        if floor not in FLOORS and floor != "tools":
            faults.append(f"{path.relative_to(root)}: {floor} is no known floor")
            continue
        text = path.read_text()
        graph[path] = []
        for match in INCLUDE.finditer(text):
            quote, name = match.groups()
            target = resolve(quote, name, path, root)
            if target is not None:
                graph[path].append(target)
            fault = include_fault(floor, quote, name, target, root)
            if target is not None and fault is None:
                fault = room_fault(path, target, root)
            if fault:
                line = text.count("\n", 0, match.start()) + 1
                faults.append(f"{path.relative_to(root)}:{line}: include of {name} {fault}")
    return graph, faults


def room_faults(graph, root):
    """Rooms that are not known, and folders with too many sources."""
    sources_in, faults = {}, []
    for path in graph:
        room = room_of(path, root)
        if room is not None and not {room, "*"} & ROOMS[floor_of(path, root)].keys():
            faults.append(f"{path.relative_to(root)}: {room or 'the floor itself'} is no known room")
    for path in (*graph, *sorted((root / "tests").rglob("*.cpp"))):
        if path.suffix in (".cpp", ".cu"):
            sources_in.setdefault(path.parent, []).append(path)
    for folder, found in sources_in.items():
        if len(found) > MOST_SOURCES:
            faults.append(f"{folder.relative_to(root)}: {len(found)} sources, above {MOST_SOURCES}: give it rooms")
    return faults


def twice_defined(graph, root):
    """Types that two headers define in one namespace: to the linker they are one, whatever the compiler sees."""
    first, faults = {}, []
    for path in (p for p in graph if p.suffix in (".h", ".cuh")):
        space = ""
        for number, line in enumerate(path.read_text().splitlines(), 1):
            opened = re.match(r"namespace ([\w:]*) ?\{", line)
            space = opened.group(1) if opened else space
            name = re.match(r"(?:struct|class|enum class) (\w+)\b(?!::)[^;]*\{", line)
            if name is None:
                continue
            other = first.setdefault((space, name.group(1)), path)
            if other != path:
                faults.append(f"{path.relative_to(root)}:{number}: {name.group(1)} is another type in {other.relative_to(root)}")
    return faults


def namespace_of(folders, stem):
    """The namespace of a file: its folder's path, less the folders that add no name."""
    names = ["skein"]
    if "/".join((*folders, stem)) in SPOKEN:
        return "skein"
    for depth in range(1, min(len(folders), 2) + 1):
        whole = "/".join(folders[:depth])
        if whole not in SILENT and not (depth == 2 and folders[0] + "/*" in SILENT):
            names.append(folders[depth - 1])
    return "::".join(names)


def namespace_faults(graph, root):
    """Files that open another namespace than their folder's, other than to declare a type ahead."""
    faults = []
    for path in graph:
        parts = path.relative_to(root).parts
        if parts[0] == "tools":
            continue
        space = namespace_of(parts[2:-1] if parts[0] == "include" else parts[1:-1], path.stem)
        blocks = re.findall(r"^namespace (skein[\w:]*) \{\n(.*?)^\}", path.read_text(), re.MULTILINE | re.DOTALL)
        for opened, body in blocks:
            ahead = re.fullmatch(r"(?:(?:class|struct|enum class) \w+;\n)+", body)
            if not ahead and opened != space and not opened.startswith(space + "::"):
                faults.append(f"{path.relative_to(root)}: opens {opened}, and its folder is {space}")
    return faults


def find_circle(graph):
    """One circle as a list of files, or None."""
    done, trail = set(), []

    def visit(path):
        if path in trail:
            return trail[trail.index(path):] + [path]
        if path in done:
            return None
        trail.append(path)
        for target in graph.get(path, []):
            circle = visit(target)
            if circle:
                return circle
        trail.pop()
        done.add(path)
        return None

    return next((circle for circle in map(visit, list(graph)) if circle), None)


def main(argv):
    root = Path(argv[1]).resolve()
    graph, faults = read_graph(root)
    if not graph:
        faults.append(f"no source found below {root}")
    faults += room_faults(graph, root) + twice_defined(graph, root) + namespace_faults(graph, root)
    circle = find_circle(graph)
    if circle:
        faults.append("circle: " + " -> ".join(str(p.relative_to(root)) for p in circle))
    for fault in faults:
        print(fault)
    print(f"{len(graph)} files, {sum(map(len, graph.values()))} includes between them, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
