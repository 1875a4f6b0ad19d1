"""How an input is spoilt: bytes, text, and the data of TOML and JSON files; all of it follows from a generator.

A case is a dict of file names and their bytes. `mutated` changes one file of it, by one to four mutations.
"""

import gzip
import io
import json
import math
import re
import tomllib
import warnings
import zipfile

import numpy as np

NUMBERS = (
    "0", "-0.0", "-1", "1", "2", "0.5", "1e-12", "1e-320", "1e12", "1e308", "1e400", "-1e400", "inf", "-inf", "nan",
    "2147483648", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1" * 400, "1" * 5000,
    "0x7fffffff", "1_0", "0,5", "1.5", "true", "null", "1e-9", "0.999999999", "1000000000", "3.0", "+4", "1e", "--1",
)  # fmt: skip
ODDITIES = (
    "\u0000", "\ufeff", "\u202e", "\u2028", "\u0085", "\u00b2", "\u0663", "\u200d", "e\u0301", "\U0001f600",
    "\u00df", "\u0130", "\r", "\n", "\t", "\x1b[31m", "\x7f", '"', "'", '"""', "\\", "=", "#", "%", "[", "]", "{", "}",
    ",", ";", "=cmd|' /C calc'!A0", "a" * 300, " ", "\u00a0", "..", "-", "--", "NaN", "NA", "<b>",
)  # fmt: skip
VALUES = (
    None, True, False, 0, 1, -1, 3, 0.5, -0.0, 1e308, 1e-320, math.inf, -math.inf, math.nan, 2**31, 2**63, 2**64,
    10**400, "", "a", "0", "all",
    "reachable", "\u0663", "\ud800", "x" * 300, [], {}, [[]], [1, "a"], [1.0, [2.0]], {"a": 1},
    {"": {}}, ["a", "a"], [0, 0], [-1], [1e308, 1e308], [math.nan], "2024-01-01",
)  # fmt: skip
DEPTHS = (5, 100, 3000, 20_000)
MAX_BYTES = 100_000  # of a mutated file


def pick(rng, items):
    """Return one of the items."""
    return items[int(rng.integers(len(items)))]


def place(rng, size):
    """Return a place in something of this size, ends included."""
    return int(rng.integers(size + 1))


def flip_bits(rng, data, _):
    spoilt = bytearray(data)
    for _ in range(int(rng.integers(1, 6))):
        if spoilt:
            spoilt[int(rng.integers(len(spoilt)))] ^= 1 << int(rng.integers(8))
    return bytes(spoilt)


def truncate(rng, data, _):
    return data[: place(rng, len(data))]


def remove(rng, data, _):
    start = place(rng, len(data))
    return data[:start] + data[start + int(rng.integers(1, 40)) :]


def duplicate(rng, data, _):
    start, end = sorted((place(rng, len(data)), place(rng, len(data))))
    return data[:end] + data[start:end] * pick(rng, (1, 2, 50)) + data[end:]


def splice(rng, data, others):
    other = pick(rng, others)
    start, end = sorted((place(rng, len(other)), place(rng, len(other))))
    at = place(rng, len(data))
    return data[:at] + other[start:end] + data[at:]


def swap_lines(rng, data, _):
    lines = data.split(b"\n")
    one, other = int(rng.integers(len(lines))), int(rng.integers(len(lines)))
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def drop_line(rng, data, _):
    lines = data.split(b"\n")
    del lines[int(rng.integers(len(lines)))]
    return b"\n".join(lines)


def replace_number(rng, data, _):
    """Put an extreme in the place of a number."""
    runs = [found.span() for found in re.finditer(rb"[0-9.]+", data)]
    if not runs:
        return data
    start, end = pick(rng, runs)
    return data[:start] + pick(rng, NUMBERS).encode() + data[end:]


def insert_oddity(rng, data, _):
    at = place(rng, len(data))
    return data[:at] + pick(rng, ODDITIES).encode("utf-8", "surrogatepass") + data[at:]


def replace_word(rng, data, others):
    """Put a word of another input, or an oddity, in the place of a word."""
    words, theirs = data.split(b" "), pick(rng, others).split()
    given = pick(rng, theirs) if theirs and rng.random() < 0.6 else pick(rng, ODDITIES).encode()
    words[int(rng.integers(len(words)))] = given
    return b" ".join(words)


def nest(rng, data, _):
    opening, closing = pick(rng, (("[", "]"), ("{", "}"), ('{"a":', "}"), ("(", ")"), ("a.", "")))
    depth, at = pick(rng, DEPTHS), place(rng, len(data))
    middle = data[at : at + 3] if rng.random() < 0.5 else b""
    return data[:at] + opening.encode() * depth + middle + closing.encode() * depth + data[at:]


BINARY = (flip_bits, truncate, remove, duplicate, splice)
TEXT = (*BINARY, swap_lines, drop_line, replace_number, replace_number, insert_oddity, replace_word, nest)


def replaced(rng, data):
    """Return a value of another type, or another value of the same type, in the place of one."""
    if rng.random() < 0.5:
        return pick(rng, VALUES)
    if isinstance(data, bool):
        return not data
    if isinstance(data, int | float):
        return pick(rng, (-data, data + 1, data * 1e300, data / 3, str(data), [data], 0, -1))
    if isinstance(data, str):
        return pick(rng, (data.upper(), data + data, data[:-1], [data], {data: data}, data + pick(rng, ODDITIES)))
    if isinstance(data, list):
        return pick(rng, (data * 2, data[:-1], data[::-1], [data], {str(i): x for i, x in enumerate(data)}, data * 300))
    if isinstance(data, dict):
        return pick(rng, ([data], list(data.values()), dict(list(data.items())[::-1]), VALUES))
    return pick(rng, VALUES)


def nested(depth):
    """Return lists in lists, so deep."""
    found = []
    for _ in range(depth):
        found = [found]
    return found


def mutated_data(rng, data):
    """Return data with one change somewhere inside: another value, type or key, one more or one less."""
    is_here = not isinstance(data, dict | list) or not data or rng.random() < 0.1
    if is_here:
        return replaced(rng, data)
    if isinstance(data, list):
        at, action = int(rng.integers(len(data))), rng.random()
        if action < 0.1:
            return data[:at] + data[at + 1 :]
        if action < 0.2:
            return [*data[:at], data[at], *data[at:]]
        return [*data[:at], mutated_data(rng, data[at]), *data[at + 1 :]]
    key, action = pick(rng, list(data)), rng.random()
    if action < 0.08:
        return {name: value for name, value in data.items() if name != key}
    if action < 0.16:
        return {(pick(rng, ODDITIES) if name == key else name): value for name, value in data.items()}
    if action < 0.22:
        return {**data, key: data[pick(rng, list(data))]}
    return {**data, key: mutated_data(rng, data[key])}


def toml_value(value):
    """Return a value as TOML; what TOML lacks becomes text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, int):
        return str(value) if abs(value) < 10**4000 else "1" * 5000
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml_text(key)} = {toml_value(part)}" for key, part in value.items()) + "}"
    return toml_text(value)


def toml_text(value):
    """Return text as a quoted string of TOML, which has no lone surrogates."""
    return json.dumps(str(value).encode("utf-8", "replace").decode()).replace("\x7f", "\\u007f")


def to_toml(data):
    """Return a dict as TOML, with headers for the tables at its top."""
    lines = [f"{toml_text(key)} = {toml_value(value)}" for key, value in data.items() if not isinstance(value, dict)]
    for name, table in data.items():
        if isinstance(table, dict):
            lines.append(f"[{toml_text(name)}]" if not name.isidentifier() else f"[{name}]")
            lines += [f"{toml_text(key)} = {toml_value(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


def mutate_structure(rng, name, data):
    """Return a TOML, JSON or JSON Lines file with its data changed, or None if it holds none."""
    try:
        text = data.decode()
        if name.endswith(".toml"):
            changed = mutated_data(rng, tomllib.loads(text))
            return to_toml(changed if isinstance(changed, dict) else {"a": changed}).encode()
        if name.endswith(".json"):
            return json.dumps(mutated_data(rng, json.loads(text)), ensure_ascii=False).encode("utf-8", "surrogatepass")
        if name.endswith((".jsonl", ".ndjson")):
            lines = [line for line in text.split("\n") if line]
            at = int(rng.integers(len(lines)))
            lines[at] = json.dumps(mutated_data(rng, json.loads(lines[at])))
            return ("\n".join(lines) + "\n").encode()
    except (ValueError, RecursionError, OverflowError):
        return None
    return None


def mutate_arrays(rng, data, others):
    """Return an .npz file of which an array was spoilt, then packed so that its checksum fits."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        members = {name: file.read(name) for name in file.namelist()}
    name, action = pick(rng, list(members)), rng.random()
    if action < 0.1:
        del members[name]
    elif action < 0.2:
        members[pick(rng, list(members))] = members[name]
    elif action < 0.5:
        members[name] = spoilt_array(rng, members[name])
    elif action < 0.75:
        members[name] = replace_number(rng, members[name][:128], []) + members[name][128:]
    else:
        members[name] = pick(rng, BINARY)(rng, members[name], list(members.values()))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return packed.getvalue()


def spoilt_array(rng, data):
    """Return an array of another type, shape or with other values, as bytes of .npy."""
    array = np.load(io.BytesIO(data), allow_pickle=False)
    action = int(rng.integers(6))
    if action == 0:
        array = array.reshape(-1)
    elif action == 1:
        array = array[None]
    elif action == 2 and array.size:
        array = array.reshape(-1)[: place(rng, array.size)]
    elif action == 3:
        array = array.astype(pick(rng, ("f4", "i1", "u8", "U3", "?", "c16", "S5", "m8[s]")), casting="unsafe")
    elif array.size and array.dtype.kind in "fiu":
        array = array.copy()
        with np.errstate(all="ignore"):
            value = np.asarray(pick(rng, (np.nan, np.inf, -1, 1e308, 2**31, 0, -(2**40), 5, 1e-320)))
            array.reshape(-1)[int(rng.integers(array.size))] = value.astype(array.dtype)
    else:
        array = np.full(array.shape, pick(rng, ("", "a", "\ud7ff", "1e999")))
    written = io.BytesIO()
    np.save(written, array)
    return written.getvalue()


def mutate_frame(rng, data):
    """Return a Parquet table with a change in its data."""
    import pandas

    columns = pandas.read_parquet(io.BytesIO(data)).to_dict("list")
    changed, written = mutated_data(rng, columns), io.BytesIO()
    pandas.DataFrame(changed).to_parquet(written, index=False)
    return written.getvalue()


def mutate_packed(rng, name, data, others):
    """Return a file whose content is packed, spoilt inside; or None where that cannot be."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if name.endswith(".npz"):
                return mutate_arrays(rng, data, others)
            if name.endswith(".parquet"):
                return mutate_frame(rng, data)
            return gzip.compress(pick(rng, TEXT)(rng, gzip.decompress(data), [b"a,b"])[:MAX_BYTES], mtime=0)
    except Exception:  # what was made cannot be packed
        return None


TEXT_ENDINGS = (".toml", ".csv", ".tsv", ".json", ".jsonl", ".txt")
STRUCTURED = (".toml", ".json", ".jsonl")
PACKED = (".npz", ".parquet", ".gz")


def mutate_file(rng, name, data, others, *, is_valid=True):
    """Return the bytes of a file after one mutation that fits its kind; `others` are bytes to take parts from.

    is_valid: whether the data are as the corpus has them, so that they can be parsed here.
    """
    if is_valid and name.endswith(STRUCTURED) and rng.random() < 0.6:
        changed = mutate_structure(rng, name, data)
        if changed is not None:
            return changed
    if is_valid and name.endswith(PACKED) and rng.random() < 0.7:
        changed = mutate_packed(rng, name, data, others)
        if changed is not None:
            return changed
    kinds = TEXT if name.endswith(TEXT_ENDINGS) else BINARY
    return pick(rng, kinds)(rng, data, others)[:MAX_BYTES]


def mutated(rng, case, cases, names=None):
    """Return a case with one of its files spoilt (one of `names`, if given), by one to four mutations."""
    name = pick(rng, [name for name in case if names is None or name in names])
    data = case[name]
    others = [other[key] for other in cases for key in other if key.rpartition(".")[2] == name.rpartition(".")[2]]
    for number in range(pick(rng, (1, 1, 1, 2, 4))):
        data = mutate_file(rng, name, data, others, is_valid=number == 0)
    return {**case, name: data}
