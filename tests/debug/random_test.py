#!/usr/bin/env python3
"""Random kernels whose variables are known at every line: random_test.py LODE [FIRST_SEED COUNT]

A log point on each line prints all variables of one thread. Python runs the same statements and
knows what they should be.
"""
import os
import random
import sys
import tempfile

from dap import Client

LODE = sys.argv[1]
FIRST, COUNT = (int(word) for word in (sys.argv[2:] or ("1", "6")))
WORD = 0xFFFFFFFF
NAMES = ["a", "b", "c", "d"]


class Program:
    """Statements in C++, and the lines that they execute with the values before each."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.source = []
        self.tree = self.block(0)

    def expression(self):
        pick = self.random
        left, right = pick.choice(NAMES), pick.choice(NAMES)
        number = pick.randrange(1, 1000)
        return pick.choice([f"{left} + {right}", f"{left} * {number}", f"{left} ^ {right}",
                            f"{left} - {number}", f"{left} >> {number % 31 + 1}",
                            f"table[{left} % 4] + {right}", f"pair.first * {left}",
                            f"mix({left}, {right})"])

    def line(self, text):
        self.source.append(text)
        return len(self.source)

    def block(self, depth):
        made = []
        for _ in range(self.random.randrange(2, 5) if depth else 12):
            kind = self.random.randrange(6) if depth < 2 else 0
            if kind == 4:
                condition = f"{self.random.choice(NAMES)} % {self.random.randrange(2, 5)} == 0"
                at = self.line(f"if ({condition}) {{")
                inner = self.block(depth + 1)
                self.line("}")
                made.append(("if", at, condition, inner))
            elif kind == 5:
                count = self.random.randrange(1, 4)
                at = self.line(f"for (unsigned k{depth} = 0; k{depth} < {count}; ++k{depth}) {{")
                inner = self.block(depth + 1)
                self.line("}")
                made.append(("for", at, count, inner))
            else:
                target = self.random.choice(
                    NAMES[:2 if depth else 4] + ["table[a % 4]", "pair.first", "pair.second"])
                value = self.expression()
                made.append(("set", self.line(f"{target} = {value}; KEEP"), target, value))
        return made

    def run(self, thread):
        """[(line, values before it)] of assignments."""
        state = {"a": thread * 7 + 1, "b": thread + 100, "c": 3, "d": thread ^ 0x55555555,
                 "table": [thread, 1, 2, 3], "pair": [5, 6]}
        trace = []
        self.walk(self.tree, state, trace)
        return trace

    @staticmethod
    def evaluate(text, state):
        class Pair:
            first, second = state["pair"]
        names = {name: state[name] for name in NAMES}
        names.update(table=state["table"], pair=Pair, mix=lambda x, y: (x * 31 + y) & WORD)
        return eval(text, {}, names) & WORD

    def walk(self, block, state, trace):
        for kind, line, first, second in block:
            if kind == "if":
                # The operands are non-negative: Python's % is C++'s.
                if self.evaluate(first, state) & 1:
                    self.walk(second, state, trace)
            elif kind == "for":
                for _ in range(first):
                    self.walk(second, state, trace)
            else:
                trace.append((line, shown(state)))
                value = self.evaluate(second, state)
                if first in NAMES:
                    state[first] = value
                elif first.startswith("table"):
                    state["table"][state["a"] % 4] = value
                else:
                    state["pair"][first == "pair.second"] = value

    def assignments(self, block=None):
        for kind, line, _, inner in block or self.tree:
            if kind == "set":
                yield line
            else:
                yield from self.assignments(inner)


def shown(state):
    numbers = [state[name] for name in NAMES] + state["table"] + state["pair"]
    return " ".join(str(number) for number in numbers)


# The compiler describes a register's variable only where its value is used: KEEP uses all. After a
# branch it describes the register of the path that comes last in the PTX, whichever was taken: c and
# d, which are in registers, change on no branch.
HEAD = """struct Pair { unsigned first, second; };
#define KEEP keep(&a, &b, c, d);
__device__ unsigned kept;
__device__ __noinline__ void keep(unsigned* a, unsigned* b, unsigned c, unsigned d) {
    kept = *a ^ *b ^ c ^ d;
}
__device__ __noinline__ unsigned mix(unsigned x, unsigned y) { return x * 31 + y; }
extern "C" __global__ void k(unsigned* out) {
    unsigned a = threadIdx.x * 7 + 1, b = threadIdx.x + 100, c = 3, d = threadIdx.x ^ 0x55555555;
    unsigned table[4] = {threadIdx.x, 1, 2, 3};
    Pair pair = {5, 6};
    KEEP
"""
TAIL = """    out[threadIdx.x] = a + b + c + d + table[0] + table[1] + table[2] + table[3] + pair.first +
        pair.second;
}
"""
MESSAGE = " ".join("{%s}" % name for name in NAMES + [f"table[{k}]" for k in range(4)] +
                   ["pair.first", "pair.second"])


def check_way_back(client, thread):
    """The values on each line forwards are those on the way back."""
    def place():
        frame = client.frames(thread)[0]
        variables = client.variables(frame["id"], "Locals")
        return frame["line"], [variables[name]["value"] for name in ("a", "b", "table", "pair")]
    seen = []
    for _ in range(12):
        seen.append(place())
        client.resume("next", thread)
    for wanted in reversed(seen):
        client.resume("stepBack", thread)
        got = place()
        if got != wanted:
            sys.exit(f"going back gave {got} instead of {wanted}")


def check(seed, folder):
    program = Program(seed)
    path = os.path.join(folder, f"random{seed}.cu")
    with open(path, "w") as file:
        file.write(HEAD + "\n".join(program.source) + "\n" + TAIL)
    above = HEAD.count("\n")
    thread = seed % 64
    lines = [{"line": above + line, "condition": f"threadIdx.x == {thread}",
              "logMessage": f"at {line}: {MESSAGE}"} for line in program.assignments()]
    command = [LODE, "run", path, "k", "--debug", "--grid", "1", "--block", "64", "--", "u32[64]"]
    if seed % 2 == 0:
        client = Client(LODE)
        client.launch(*command, lines=(path, {"line": above + 1,
                                              "condition": f"threadIdx.x == {thread}"}))
        check_way_back(client, client.wait("stopped")["threadId"])
        client.process.kill()
    client = Client(LODE)
    client.launch(*command, lines=(path, *lines))
    code = client.wait("exited")["exitCode"]
    client.process.kill()
    got = [line for line in client.output.splitlines() if line.startswith("at ")]
    wanted = [f"at {line}: {values}" for line, values in program.run(thread)]
    if code != 0 or got != wanted:
        at = next((k for k, pair in enumerate(zip(got, wanted)) if pair[0] != pair[1]),
                  min(len(got), len(wanted)))
        with open(path) as file:
            print(file.read())
        sys.exit(f"seed {seed}: exit code {code}, step {at} of {len(wanted)}:\n"
                 f"  {got[at:at + 1]}\n  instead of\n  {wanted[at:at + 1]}")
    return len(wanted)


with tempfile.TemporaryDirectory() as work:
    total = sum(check(seed, work) for seed in range(FIRST, FIRST + COUNT))
print(f"{COUNT} kernels: {total} lines with 10 values each are right")
