"""Checksums of checkpoints and of HDF5's metadata, and where these lie."""

import struct

CRC_TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    CRC_TABLE.append(byte)


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ CRC_TABLE[(value ^ byte) & 255]
    return value ^ 0xFFFFFFFF


def rotated(x, by):
    return (x << by | x >> (32 - by)) & 0xFFFFFFFF


def lookup3(data):
    """The checksum of HDF5's metadata."""
    mask = 0xFFFFFFFF
    a = b = c = (0xDEADBEEF + len(data)) & mask
    if not data:
        return c
    at = 0
    while True:
        words = struct.unpack("<3I", data[at : at + 12].ljust(12, b"\0"))
        a, b, c = (a + words[0]) & mask, (b + words[1]) & mask, (c + words[2]) & mask
        at += 12
        if at >= len(data):
            break
        for by in (4, 6, 8, 16, 19, 4):
            a = (a - c & mask) ^ rotated(c, by)
            c = c + b & mask
            a, b, c = b, c, a
    for by in (14, 11, 25, 16, 4, 14, 24):
        c = (c ^ b) - rotated(b, by) & mask
        a, b, c = b, c, a
    # Seven steps end on the word that was mixed last.
    return b


def number(data, at, size):
    return int.from_bytes(data[at : at + size], "little")


class Structure:
    """Where the metadata of an HDF5 file lies: blocks [begin, end) with their checksum's place."""

    def __init__(self, data):
        self.data = data
        self.blocks = [(0, 44, 44)]
        self.links = []
        for sign, look in ((b"OHDR", self.header), (b"BTHD", self.tree), (b"FRHP", self.heap)):
            at = data.find(sign)
            while at >= 0:
                look(at)
                at = data.find(sign, at + 1)
        self.blocks = [
            block for block in self.blocks if block[1] + 4 <= len(data) and self.holds(block)
        ]

    def holds(self, block):
        return number(self.data, block[2], 4) == self.sum_of(self.data, block)

    @staticmethod
    def sum_of(data, block):
        begin, end, place = block
        if place >= end:
            return lookup3(bytes(data[begin:end]))
        return lookup3(bytes(data[begin:place]) + bytes(4) + bytes(data[place + 4 : end]))

    def header(self, at):
        flags = self.data[at + 5]
        begin = at + 6 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)
        width = 1 << (flags & 3)
        size = number(self.data, begin, width)
        begin += width
        self.blocks.append((at, begin + size, begin + size))
        self.messages(begin, begin + size, 6 if flags & 4 else 4)

    def messages(self, at, end, head):
        while at + head <= end:
            kind, size = self.data[at], number(self.data, at + 1, 2)
            body = at + head
            if kind == 0x10:
                more, length = number(self.data, body, 8), number(self.data, body + 8, 8)
                self.blocks.append((more, more + length - 4, more + length - 4))
                self.messages(more + 4, more + length - 4, head)
            if kind == 0x06:
                self.link(body)
            at = body + size

    def link(self, at):
        """A hard link: [1, 0, length, name, address], or [1, 0x10, 1, length, name, address] where
        the encoding of its name stands there."""
        for head in (b"\x01\x10\x01", b"\x01\x00"):
            if self.data[at : at + len(head)] == head:
                self.links.append((at, head, self.data[at + len(head)]))
                return

    def tree(self, at):
        self.blocks.append((at, at + 34, at + 34))
        if number(self.data, at + 12, 2) == 0:
            root, count = number(self.data, at + 16, 8), number(self.data, at + 24, 2)
            end = root + 6 + count * number(self.data, at + 10, 2)
            self.blocks.append((root, end, end))

    def heap(self, at):
        self.blocks.append((at, at + 142, at + 142))
        width, start = number(self.data, at + 110, 2), number(self.data, at + 112, 8)
        offset = (number(self.data, at + 128, 2) + 7) // 8
        root, rows = number(self.data, at + 132, 8), number(self.data, at + 140, 2)
        if rows == 0:
            return self.heap_block(root, start, offset)
        end = root + 13 + offset + 8 * width * rows
        self.blocks.append((root, end, end))
        for i in range(width * rows):
            child = number(self.data, root + 13 + offset + 8 * i, 8)
            self.heap_block(child, start << max(0, i // width - 1), offset)

    def heap_block(self, at, size, offset):
        if at + size > len(self.data):
            return
        self.blocks.append((at, at + size, at + 13 + offset))
        found = self.data.find(b"\x01\x10\x01", at, at + size)
        while found >= 0:
            self.link(found)
            found = self.data.find(b"\x01\x10\x01", found + 1, at + size)

    def repair(self, data):
        for block in self.blocks:
            struct.pack_into("<I", data, block[2], self.sum_of(data, block))
