"""Helpers of the findings: a build folder, a scratch folder, and the command run in it."""

import contextlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
GIB = 1 << 30


class Red(Exception):
    """The finding is reproduced; the text says what was seen."""


def require(holds, seen):
    """Raises Red with `seen` unless `holds`."""
    if not holds:
        raise Red(seen)


class Tree:
    """A build folder with the command and the software device, and its source folder."""

    def __init__(self, build):
        self.build = pathlib.Path(build).resolve()
        self.command = self.build / "tools/lode/lode"
        self.emulator = self.build / "emulator/liblode_emulator.so"
        for file in (self.command, self.emulator):
            if not file.exists():
                raise SystemExit(f"{file} isn't built: build lode_command and lode_emulator.")
        cache = dict(re.findall(r"^(\w+):\w+=(.*)$", (self.build / "CMakeCache.txt").read_text(),
                                re.MULTILINE))
        self.source = pathlib.Path(cache["CMAKE_HOME_DIRECTORY"])
        self.compiler = cache["CMAKE_CXX_COMPILER"]
        self.cuda = cache["LODE_CUDA_INCLUDE_DIR"]


class Outcome:
    """A finished process. `code` is negative after a signal, and None after a timeout."""

    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    def json(self):
        return json.loads(self.out)

    def how(self):
        if self.code is None:
            return f"it doesn't end within {self.seconds:.0f} s"
        if self.code < 0:
            return f"ended by {signal.Signals(-self.code).name}"
        said = self.err.strip().splitlines()
        return f"exit {self.code}" + (f", '{said[0]}'" if said else "")


class Bench:
    """A scratch folder for one finding. The command runs in it and keeps its cache there."""

    def __init__(self, tree, folder):
        self.tree, self.folder = tree, pathlib.Path(folder)
        (self.folder / "tmp").mkdir()

    def __truediv__(self, name):
        return self.folder / name

    def write(self, name, text):
        """Writes without a stat before: Linux gives finer times to a file whose times were read."""
        path = self / name
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o644)
        os.write(file, text.encode())
        os.close(file)
        return path

    def environment(self, more):
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("LODE_", "NVRTC_")) or name == "LODE_NVRTC"}
        own = {"LODE_CACHE_DIR": self / "cache", "TMPDIR": self / "tmp", "HOME": self.folder,
               "LODE_DRIVER": "emulator", "LODE_EMULATOR": self.tree.emulator,
               "LODE_EMULATOR_DEVICES": "sm_90", "LODE_EMULATOR_WORKERS": "2"}
        return {name: str(value) for name, value in {**kept, **own, **more}.items()}

    def start(self, arguments, env=None, memory=None, out=subprocess.PIPE, err=subprocess.PIPE,
              before=None):
        """Starts the command; `memory` limits its address space, in bytes."""
        def prepare():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if memory:
                resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
            if before:
                before()
        return subprocess.Popen([str(self.tree.command), *map(str, arguments)], cwd=self.folder,
                                env=self.environment(env or {}), stdin=subprocess.DEVNULL,
                                stdout=out, stderr=err, text=True, preexec_fn=prepare)

    def lode(self, *arguments, seconds=30, **how):
        begin = time.monotonic()
        process = self.start(arguments, **how)
        try:
            out, err = process.communicate(timeout=seconds)
            code = process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            code = None
        return Outcome(code, out or "", err or "", time.monotonic() - begin)

    # -- compilations ------------------------------------------------------------------------

    def compile(self, source, *options, **how):
        """Runs `lode compile` for sm_90; the PTX goes to out/."""
        return self.lode("compile", source, "--arch", "sm_90", "--ptx", "--json", "-o", "out",
                         *options, **how)

    def code(self, source, *options, **how):
        """Returns the PTX of a compilation that must succeed, and where the code came from."""
        outcome = self.compile(source, *options, **how)
        if outcome.code != 0:
            raise Red(f"{source} doesn't compile: {outcome.how()}")
        ptx = (self / "out" / (pathlib.Path(source).stem + ".sm_90.ptx")).read_text()
        return ptx, outcome.json()["images"][0]["code"]

    def value(self, source, *options, **how):
        """Returns the number that define() put into the code, or None."""
        found = re.search(r", 70(\d\d\d);", self.code(source, *options, **how)[0])
        return int(found.group(1)) if found else None

    # -- kernels in PTX ----------------------------------------------------------------------

    def run_ptx(self, text, symbol="k", seconds=20, arguments=("u32[32]",), threads=32, **how):
        """Runs one block of a PTX kernel with `lode run`, on the software device."""
        self.write("k.ptx", text)
        return self.lode("run", "k.ptx", symbol, "--grid", "1", "--block", threads, "--json", "--",
                         *arguments, seconds=seconds, **how)

    # -- programs ----------------------------------------------------------------------------

    def build(self, source, *flags):
        """Builds a program of this folder against the tree. Returns its path or None, and stderr."""
        program = self / pathlib.Path(source).stem
        done = subprocess.run(
            [self.tree.compiler, "-std=c++20", "-O0", "-w", HERE / source, "-o", program,
             "-I", self.tree.source, "-I", self.tree.source / "include",
             "-isystem", self.tree.cuda, *flags],
            capture_output=True, text=True, check=False)
        return program if done.returncode == 0 else None, done.stderr

    def program(self, path, *arguments, seconds=30, env=None):
        begin = time.monotonic()
        try:
            done = subprocess.run([path, *arguments], cwd=self.folder, env=self.environment(env or {}),
                                  capture_output=True, text=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            return Outcome(None, "", "", time.monotonic() - begin)
        return Outcome(done.returncode, done.stdout, done.stderr, time.monotonic() - begin)


@contextlib.contextmanager
def bench_on(tree):
    folder = tempfile.mkdtemp(prefix="lode-findings-")
    try:
        yield Bench(tree, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


FINDINGS = []  # (name, function), in the order of the issue.


def finding(name):
    """Registers a function that raises Red if it reproduces the finding."""
    def add(function):
        FINDINGS.append((name, function))
        return function
    return add


def define(value):
    return f"#define V {70000 + value}\n"


def kernel(head=""):
    return f'{head}\nextern "C" __global__ void k(int* x) {{ *x = V; }}\n'
