#!/usr/bin/env python3
"""Writes mixed.safetensors, a file as other programs write them: every floating-point dtype, a step count, metadata,
names out of order and a header padded so that no tensor is aligned. Needs only Python itself."""
import json
import pathlib
import struct

tensors = [  # name, dtype, shape, struct format, values
    ("conv.weight", "F32", [2, 1, 1, 3], "f", [0.0, 0.5, -1.25, 3.0e38, 1.0e-45, -0.0]),
    ("bn.num_batches_tracked", "I64", [], "q", [1234]),
    ("bn.weight", "F16", [4], "e", [1.0, -2.5, 65504.0, 6.0e-8]),
    ("bn.bias", "BF16", [3], "H", [0x3F80, 0xC020, 0x7F80]),
    ("été/重み", "F64", [1, 2], "d", [0.1, -1.0e300 * 1.0e-290]),
    ("scalar", "F32", [], "f", [7.0]),
    ("empty", "F32", [0, 5], "f", []),
]

header, data = {"__metadata__": {"format": "pt", "note": "tiny \"test\" file"}}, b""
for name, dtype, shape, code, values in tensors:
    packed = struct.pack(f"<{len(values)}{code}", *values)
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(packed)]}
    data += packed
text = json.dumps(header).encode()
text += b" " * ((3 - len(text)) % 4)
path = pathlib.Path(__file__).with_name("mixed.safetensors")
path.write_bytes(struct.pack("<Q", len(text)) + text + data)
