"""Checksums of checkpoints and of HDF5's metadata."""

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
