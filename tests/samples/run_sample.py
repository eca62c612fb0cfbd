#!/usr/bin/env python3
"""Runs a sample and compares its output with the comment at the top of its main.cpp.

    run_sample.py [--skip | --fallback] FOLDER PROGRAM [ARGUMENT…]

The comment's indented lines are the command to build and run it, and what it prints; "…" stands for
anything.

--skip      where there is no device, or only one of two, ends with 77; so does any without LLVM
--fallback  no GPU is visible and nothing names a driver: the sample must run on the software device
            and say so in one line of stderr
"""

import os
import pathlib
import re
import subprocess
import sys

PREFIX = "//     "
FALLBACK = "lode's software device runs kernels on the processor instead"
NO_DEVICE = re.compile(r"driver_missing|no_device|This sample needs two devices")


def transcript(folder):
    """The command and the expected output of a sample's comment."""
    comment = []
    for line in (pathlib.Path(folder) / "main.cpp").read_text(encoding="utf-8").splitlines():
        if not line.startswith("//"):
            break
        if line.startswith(PREFIX):
            comment.append(line.removeprefix(PREFIX))
    assert len(comment) >= 2, f"{folder}/main.cpp begins with no command and no output"
    return comment[0], "\n".join(comment[1:]) + "\n"


def matches(output, expected):
    pattern = ".*".join(re.escape(part) for part in expected.split("…"))
    return re.fullmatch(pattern, output, re.DOTALL) is not None


def run(folder, program, fallback=False):
    """Runs a sample: its exit code, stdout and stderr, and a complaint or None."""
    environment = dict(os.environ)
    if fallback:
        environment.pop("LODE_DRIVER", None)
        environment["CUDA_VISIBLE_DEVICES"] = ""
    ended = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    complaint = None
    expected = transcript(folder)[1]
    if ended.returncode != 0:
        complaint = f"it exits with {ended.returncode}"
    elif not matches(ended.stdout, expected):
        complaint = f"its comment says that it prints\n{expected}"
    elif fallback and ended.stderr.count(FALLBACK) != 1:
        complaint = "it doesn't say once that it runs on the software device"
    return ended, complaint


def main(arguments):
    mode = arguments.pop(0) if arguments[0].startswith("--") else ""
    folder, *program = arguments
    ended, complaint = run(folder, program, mode == "--fallback")
    print(ended.stdout + ended.stderr, end="")
    if mode == "--skip" and ended.returncode != 0 and NO_DEVICE.search(ended.stderr):
        return 77
    if ended.returncode != 0 and "No usable LLVM library" in ended.stderr:
        return 77
    if complaint:
        print(f"{' '.join(program)}: {complaint}")
    return 1 if complaint else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
