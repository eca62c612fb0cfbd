"""A program of the list: a kernel file and its header, which README.md describes."""

import math
import re
import struct
from dataclasses import dataclass, field
from pathlib import Path

CLASSES = ["bounds", "alignment", "race", "init", "sync", "streams", "leak", "hang"]
FORMATS = {"f32": "f", "f64": "d", "i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i",
           "u32": "I", "i64": "q", "u64": "Q"}
# What the expressions of a header may use besides its buffers.
FUNCTIONS = {name: getattr(math, name) for name in
             ("sqrt", "exp", "sin", "cos", "inf", "floor", "ceil", "gcd", "isclose")}
FUNCTIONS.update(abs=abs, all=all, any=any, float=float, int=int, len=len, list=list, max=max,
                 min=min, range=range, reversed=reversed, round=round, set=set, sorted=sorted,
                 sum=sum, zip=zip)
LAUNCH = re.compile(r"(cooperative\s+)?(\w+)<<<(.*)>>>\((.*)\)$")
BUFFER = re.compile(r"(pinned\s+)?(\w+) (\w+)\[(\d+)\]\s*=\s*(.*)$")
NUMBER = re.compile(r"(?:(\w+):)?(-?[\w.+-]+?)(f?)$")


class HeaderError(Exception):
    """A header that isn't as README.md says."""


def evaluate(expression, names):
    # One dictionary: names of a comprehension's inner scope are looked up in the globals.
    return eval(expression, {"__builtins__": {}, **FUNCTIONS, **names})  # noqa: S307


@dataclass
class Buffer:
    name: str
    type: str
    count: int
    content: str  # a Python expression of i, or "none"
    pinned: bool

    @property
    def size(self):
        return self.count * struct.calcsize(FORMATS[self.type])

    def initial(self):
        """The elements before the first launch; None if nothing is written."""
        if self.content == "none":
            return None
        values = [evaluate(self.content, {"i": i}) for i in range(self.count)]
        if self.type[0] == "f":
            return values
        bits = 8 * struct.calcsize(FORMATS[self.type])
        wrapped = [value % (1 << bits) for value in values]
        if self.type[0] == "i":
            wrapped = [value - (1 << bits) if value >> (bits - 1) else value for value in wrapped]
        return wrapped

    def pack(self, values):
        return struct.pack(f"<{self.count}{FORMATS[self.type]}", *values)

    def unpack(self, data):
        return list(struct.unpack(f"<{self.count}{FORMATS[self.type]}", data))


@dataclass
class Program:
    path: Path
    name: str = ""
    right: bool = False
    sentence: str = ""
    cls: str = ""
    buffers: dict = field(default_factory=dict)
    allocated: dict = field(default_factory=dict)  # By streams.
    steps: list = field(default_factory=list)  # ("launch", …), ("free", name), ("leak", name)
    expected: list = field(default_factory=list)  # (buffer, expression)
    holds: list = field(default_factory=list)
    heap: int = 0
    target: str = "sm_90"  # The architecture that the code is for.
    lines: list = field(default_factory=list)  # of the bug

    @property
    def verb(self):
        """How the host compiles it."""
        return "specific" if self.target.endswith("a") else "source"

    @property
    def has_streams(self):
        return any(step.startswith("stream") for step in self.steps)

    @property
    def key(self):
        return f"{self.path.parent.name}/{self.name}"


def extents(text):
    value = evaluate(text, {})
    values = tuple(value) if isinstance(value, tuple) else (value,)
    return values + (1,) * (3 - len(values))


def argument(text, buffers):
    """An argument as the host's plan has it."""
    name, _, offset = text.partition("+")
    if name.strip() in buffers:
        return f"@{name.strip()}+{int(offset or 0)}"
    matched = NUMBER.fullmatch(text)
    if not matched:
        raise HeaderError(f"{text} is neither a buffer nor a number")
    kind, digits, single = matched.groups()
    if kind is None:
        kind = "f32" if single and not digits.startswith("0x") else \
            "f64" if "." in digits or "e" in digits and "x" not in digits else "i32"
    value = float(digits) if kind[0] == "f" else int(digits, 0)
    return struct.pack("<" + FORMATS[kind], value)[::-1].hex()


def launch(text, buffers):
    matched = LAUNCH.fullmatch(text)
    if not matched:
        raise HeaderError(f"'{text}' isn't a launch")
    cooperative, kernel, shape, arguments = matched.groups()
    shape = evaluate(f"({shape},)", {})
    grid, block = extents(str(shape[0])), extents(str(shape[1]))
    shared = shape[2] if len(shape) > 2 else 0
    values = [argument(word.strip(), buffers) for word in arguments.split(",") if word.strip()]
    return "launch " + " ".join(map(str, [kernel, *grid, *block, shared, int(bool(cooperative)),
                                          *values]))


def place(text, buffers):
    """A buffer with an offset in bytes."""
    name, _, offset = text.strip().partition("+")
    if name not in buffers:
        raise HeaderError(f"{name} isn't a buffer")
    return f"@{name}+{int(offset or 0)}"


def transfer(key, value, buffers):
    """A copy `TO = FROM, BYTES` or a fill `TO = BYTE, BYTES`."""
    to, _, what = value.partition("=")
    what, _, size = what.partition(",")
    source = place(what, buffers) if key == "copy" else str(int(what, 0))
    return f"{key} {place(to, buffers)} {source} {int(size)}"


def allocation(program, value):
    """Memory of the current stream: `NAME TYPE[COUNT]`."""
    matched = re.fullmatch(r"(\w+) (\w+)\[(\d+)\]", value)
    if not matched or matched.group(2) not in FORMATS:
        raise HeaderError(f"'{value}' isn't an allocation")
    name, kind, count = matched.groups()
    buffer = Buffer(name, kind, int(count), "none", False)
    program.allocated[name] = buffer
    return f"allocate {name} {buffer.size}"


def read_header(program, text):
    for line in text.splitlines():
        matched = re.match(r"//@ (\w+): (.*)$", line)
        if not matched:
            if line.startswith("//@"):
                raise HeaderError(f"'{line}' has no key")
            continue
        key, value = matched.group(1), matched.group(2).strip()
        if key in ("bug", "right"):
            program.right, program.sentence = key == "right", value
        elif key == "class":
            program.cls = value
        elif key == "target":
            program.target = value
        elif key == "heap":
            program.heap = int(value)
        elif key == "buffer":
            parsed = BUFFER.fullmatch(value)
            if not parsed or parsed.group(3) not in FORMATS:
                raise HeaderError(f"'{value}' isn't a buffer")
            pinned, name, kind, count, content = parsed.groups()
            program.buffers[name] = Buffer(name, kind, int(count), content, bool(pinned))
        elif key == "launch":
            program.steps.append(launch(value, program.buffers | program.allocated))
        elif key in ("copy", "fill"):
            program.steps.append(transfer(key, value, program.buffers | program.allocated))
        elif key == "allocate":
            program.steps.append(allocation(program, value))
        elif key in ("free", "leak", "stream", "on", "record", "await", "sync", "capture",
                     "replay"):
            program.steps.append(f"{key} {value}")
        elif key == "expect":
            name, _, expression = value.partition("=")
            program.expected.append((name.strip(), expression.strip()))
        elif key == "holds":
            program.holds.append(value)
        else:
            raise HeaderError(f"unknown key '{key}'")


def read_program(path):
    program = Program(path, path.stem)
    text = path.read_text()
    read_header(program, text)
    program.lines = [number for number, line in enumerate(text.splitlines(), 1)
                     if re.search(r"// BUG\b", line)]
    if program.cls not in CLASSES:
        raise HeaderError(f"the class '{program.cls}' isn't one of {', '.join(CLASSES)}")
    if not program.sentence or not program.steps:
        raise HeaderError("no sentence or no step")
    if path.parent.name != ("right" if program.right else program.cls):
        raise HeaderError("the file is in another class's folder")
    if program.right and (program.lines or not (program.expected or program.holds)):
        raise HeaderError("a right program has no BUG line, and says what it computes")
    if not program.right and not program.lines and program.cls not in ("leak", "streams"):
        raise HeaderError("no line is marked with // BUG")
    return program


def close(value, wanted):
    if isinstance(wanted, float):
        return math.isclose(value, wanted, rel_tol=1e-5, abs_tol=1e-6)
    return value == wanted


def wrong_result(program, contents):
    """The first wrong value of a right program in a sentence; None if all are right."""
    initial = {name: buffer.initial() for name, buffer in program.buffers.items()}
    final = {name: program.buffers[name].unpack(data) for name, data in contents.items()}
    for name, expression in program.expected:
        for i, value in enumerate(final[name]):
            wanted = evaluate(expression, {**initial, "i": i})
            if not close(value, wanted):
                return f"{name}[{i}] is {value} instead of {wanted}"
    for expression in program.holds:
        if not evaluate(expression, final):
            return f"not true: {expression}"
    return None
