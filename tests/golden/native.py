# SPDX-License-Identifier: Apache-2.0
"""native.py: trace files as another process would have written them (src/capture/FORMAT.md)."""
HEAD = 64  # bytes of a chunk before its records


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def seal(chunk):
    """Its checksum over what it holds now."""
    chunk[12:16] = bytes(4)
    chunk[12:16] = crc32c(chunk).to_bytes(4, 'little')
    return chunk


def chunks(data):
    """Copies of a file's chunks, in their order."""
    at = 0
    while at < len(data):
        size = HEAD + int.from_bytes(data[at + 8:at + 12], 'little')
        yield bytearray(data[at:at + size])
        at += size
