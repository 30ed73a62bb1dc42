"""A disk that loses power: from the recorded changes of a folder, what may be there afterwards.

The record is written by faulty_files.c. The disk is as strict as POSIX allows it to be: a file
has the bytes of its last fsync, a name is there once its folder has been synced. Two kinds of
loss:

  lost   nothing but that survives
  torn   beyond that the journal of names survives up to some moment, and each write that was not
         synced survives whole, in part (in units of 512 bytes), as zeros, or not at all, whatever
         came before or after it
"""

import os
import random

SECTOR = 512


def changes_in(record):
    """(kind, inode, offset, bytes, path, other path) of every change; a folder's inode is 0."""
    with open(record, "rb") as file:
        while head := file.readline():
            names, other = head[:-1].decode().split("\t")
            kind, inode, offset, length, path = names.split(" ", 4)
            yield kind, int(inode), int(offset), file.read(int(length)), path, other


def count_changes(record):
    return sum(1 for _ in changes_in(record))


class File:
    def __init__(self, content=b""):
        self.synced = content
        self.pending = []  # (kind, offset, bytes), not yet synced

    def sync(self):
        self.synced, self.pending = self.content(self.pending), []

    def content(self, changes):
        data = bytearray(self.synced)
        for kind, offset, more in changes:
            if kind == "truncate":
                del data[offset:]
            if kind != "write":
                data.extend(bytes(max(0, offset - len(data))))
                continue
            data.extend(bytes(max(0, offset + len(more) - len(data))))
            data[offset : offset + len(more)] = more
        return bytes(data)

    def torn(self, draw):
        survived = []
        for kind, offset, more in self.pending:
            fate = draw.choice(["whole", "part", "zeros", "lost"])
            if kind != "write" or fate == "whole":
                survived += [(kind, offset, more)] if fate in ("whole", "part") else []
            elif fate == "part":
                survived.append(
                    (kind, offset, more[: draw.randrange(0, len(more) // SECTOR + 1) * SECTOR])
                )
            elif fate == "zeros":
                survived.append((kind, offset, bytes(len(more))))
        return self.content(survived)


class Disk:
    """Folders and files by path; what stands in `folder` now is synced."""

    def __init__(self, folder):
        self.folder = str(folder)
        self.base = {}  # path -> File, or None for a folder, synced
        self.journal = []  # [operation, path, other path or File, synced]
        self.inodes = {}
        for root, folders, files in os.walk(self.folder):
            self.base[root] = None
            for name in files:
                path = os.path.join(root, name)
                with open(path, "rb") as file:
                    self.base[path] = File(file.read())
                self.inodes[os.stat(path).st_ino] = self.base[path]

    def replay(self, record):
        for change in changes_in(record):
            self.change(*change)

    def change(self, kind, inode, offset, data, path, other):
        if kind == "create":
            self.inodes[inode] = File()
            self.journal.append([kind, path, self.inodes[inode], False])
        elif kind in ("mkdir", "remove", "rename", "link"):
            self.journal.append([kind, path, other, False])
        elif kind == "sync" and inode == 0:
            self.sync_folder(path)
        elif kind == "sync":
            self.inodes[inode].sync()
        else:
            self.inodes[inode].pending.append((kind, offset, data))

    def sync_folder(self, path):
        for entry in self.journal:
            name = entry[2] if entry[0] in ("rename", "link") else entry[1]
            entry[3] = entry[3] or os.path.dirname(name) == path

    def names(self, draw, torn):
        """What stands under which path after the loss."""
        names, survives = dict(self.base), 0
        if torn:
            survives = draw.randrange(0, len(self.journal) + 1)
        for number, (kind, path, other, synced) in enumerate(self.journal):
            if synced or number < survives:
                apply(names, kind, path, other)
        return {path: file for path, file in names.items() if self.reachable(names, path)}

    def reachable(self, names, path):
        """Whether all the folders that the path is in are there, and are folders."""
        if path == self.folder:
            return True
        parent = os.path.dirname(path)
        return parent in names and names[parent] is None and self.reachable(names, parent)

    def lose_power(self, target, seed, torn):
        """Writes what is left to the new folder `target`."""
        draw = random.Random(seed)
        os.makedirs(target)
        for path, file in sorted(self.names(draw, torn).items()):
            place = str(target) + path[len(self.folder) :]
            if file is None:
                os.makedirs(place, exist_ok=True)
                continue
            with open(place, "wb") as out:
                out.write(file.torn(draw) if torn else file.synced)


def apply(names, kind, path, other):
    if kind == "create":
        names[path] = other
    elif kind == "mkdir":
        names.setdefault(path, None)
    elif kind == "remove":
        move(names, path, None)
    elif kind == "link" and path in names:
        names[other] = names[path]
    elif kind == "rename" and path in names:
        move(names, other, None)
        move(names, path, other)


def move(names, path, target):
    """The path and all that is below it, to the target or away."""
    for name in [name for name in names if name == path or name.startswith(path + "/")]:
        file = names.pop(name)
        if target is not None:
            names[target + name[len(path) :]] = file
