#!/usr/bin/env python3
"""Checks watch.py: watch_test.py ROOT WHEELS CUDA-FOLDER. Each entry that is removed from a table is
found, with the file that lacks it."""

import pathlib
import re
import shutil
import sys
import tempfile

from watch import Watch

# File, the entry's pattern, the method that misses it, what it says.
REMOVALS = [
    ("base/ptx_releases.hpp", r", \{13050, \{9, 5\}\}", "driver", "CUDA release: 13050"),
    ("base/ptx_releases.hpp", r", \{13050, \{9, 5\}\}", "grammar", "PTX release: 9.5"),
    ("base/architectures.def", r"LODE_ARCHITECTURE\(10, 7,.*\n", "compiler", "LODE_ARCHITECTURE of"),
    ("base/architectures.def", r"LODE_MULTIPROCESSOR\(10, 7,.*\n", "compiler", "LODE_MULTIPROCESSOR"),
    ("emulator/devices/profiles.def", r"LODE_PROFILE\(10, 7,.*\n", "compiler", "LODE_PROFILE of"),
    ("emulator/driver/driver.hpp", r"own_driver_version = 13050()", "driver", "for CUDA 1304"),
    ("emulator/driver/attributes.def", r"LODE_NEWER_ATTRIBUTE\(150,.*\n", "driver", "MAX_OVERSIZED"),
    ("runtime/device_attributes.def", r"LODE_NEWER\w+\(LOCALITY_DOMAIN_COUNT.*\n", "driver",
     "LOCALITY_DOMAIN_COUNT is new: runtime/"),
    ("emulator/driver/results.def", r"LODE_RESULT\(918.*\n", "driver", "GRAPH_RECAPTURE_FAILURE"),
    ("emulator/driver/entry_points.def", r"LODE\w+\(cuKernelGetParamCount.*\n", "driver",
     "form of a function: cuKernelGetParamCount"),
    ("emulator/driver/unsupported.def", r"LODE\w+\(cuLogicalEndpointQuery.*\n", "driver",
     "exported symbol: cuLogicalEndpointQuery"),
    ("docs/dev/driver-functions.md", r"\| cuDevSmResourceSplit \|.*\n", "driver",
     "driver function: cuDevSmResourceSplit"),
    ("jit/nvrtc/symbols.def", r"X\(nvrtcGetTileIR,.*\n", "libraries", "nvrtcGetTileIR is new"),
    ("emulator/decode/ptx/grammar_arithmetic.def", r'LODE_PURE\("clmad.hi".*\n', "grammar",
     "PTX opcode: clmad.hi"),
    ("emulator/decode/ptx/grammar_memory.def", r".*L1::32B valid_addr.*\n", "grammar",
     "PTX modifier: valid_addr"),
    ("tests/watch/accounted.txt", r"--use-bundled-headers", "compiler",
     "NVRTC option: --use-bundled-headers"),
    ("tests/watch/accounted.txt", r"CU_JIT_BINARY_LOADER_THREAD_COUNT", "driver",
     "enumerator: CU_JIT_BINARY_LOADER_THREAD_COUNT"),
]
# What watch.py reads.
FILES = ["base/ptx_releases.hpp", "base/architectures.def", "emulator/devices/profiles.def",
         "emulator/driver/driver.hpp", "emulator/driver/attributes.def",
         "emulator/driver/results.def", "emulator/driver/entry_points.def",
         "emulator/driver/unsupported.def", "runtime/device_attributes.def",
         "docs/dev/driver-functions.md", "jit/nvrtc/symbols.def", "jit/nvjitlink.cpp",
         "jit/fatbin_writer.cpp", "tests/watch/accounted.txt", "emulator/decode/ptx"]


def main(root, wheels, cuda):
    problems = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        for name in FILES:
            source, to = pathlib.Path(root, name), copy / name
            to.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if source.is_dir() else shutil.copy)(source, to)
        for name, pattern, method, says in REMOVALS:
            path = copy / name
            whole = path.read_text()
            less = re.sub(pattern, "own_driver_version = 13040" if "own" in pattern else "", whole)
            path.write_text(less)
            watch = Watch(copy, wheels, cuda)
            getattr(watch, method)()
            path.write_text(whole)
            if less == whole or not any(says in line for line in watch.found):
                problems += 1
                print(f"{name} without {pattern}: nothing says '{says}'")
    print(f"{len(REMOVALS) - problems} passed, {problems} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
