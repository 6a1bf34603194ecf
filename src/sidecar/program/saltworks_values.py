"""Turns Python's values into those of the wire, and back: sets become lists, and what has no counterpart becomes its text."""

import datetime

try:
    import msgpack
except ImportError:
    import salt.utils.msgpack as msgpack

DEPTH_MAX = 90
INTEGERS = (-(2**63), 2**64 - 1)


class TooDeep(Exception):
    """Values nested deeper than any reader takes."""


def plain(value, depth=0):
    if value is None or isinstance(value, (bool, float, bytes)):
        return value
    if isinstance(value, int):
        return int(value) if INTEGERS[0] <= value <= INTEGERS[1] else str(value)
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if depth >= DEPTH_MAX:
        raise TooDeep(f"values nested deeper than {DEPTH_MAX}")
    if hasattr(value, "items") and hasattr(value, "keys"):
        return {key_of(key): plain(member, depth + 1) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(member, depth + 1) for member in value]
    if isinstance(value, (set, frozenset)):
        return sorted((plain(member, depth + 1) for member in value), key=repr)
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, (datetime.datetime, datetime.date)):
        return value.isoformat()
    if hasattr(value, "__iter__"):
        return [plain(member, depth + 1) for member in value]
    return str(value)


def key_of(key):
    return plain(key) if key is None or isinstance(key, (bool, int, float, str, bytes)) else str(key)


def packed(value):
    return msgpack.packb(plain(value), use_bin_type=True)


def unpacked(body):
    return msgpack.unpackb(body, raw=False, strict_map_key=False, unicode_errors="surrogateescape")
