#!/usr/bin/env python3
"""Checks where the build found CUDA's headers: check_cuda_headers.py NINJA BUILD-FOLDER CUDA-FOLDER…

A target that includes nvrtc.h without linking lode_cuda_headers compiles only on a machine whose
compiler finds the header by itself. Ninja's record of the headers that each object read shows it.
"""

import pathlib
import subprocess
import sys

HEADERS = {"cuda.h", "cudaTypedefs.h", "nvrtc.h"}


def foreign_headers(deps, folders):
    """(object, header) for each CUDA header that isn't in one of the folders."""
    target = ""
    for line in deps.splitlines():
        if line and not line[0].isspace():
            target = line.split(":")[0]
            continue
        header = pathlib.PurePath(line.strip())
        if header.name in HEADERS and str(header.parent) not in folders:
            yield target, str(header)


def main():
    ninja, build, *given = sys.argv[1:]
    folders = {str(pathlib.PurePath(folder)) for folder in given}
    deps = subprocess.run([ninja, "-C", build, "-t", "deps"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    if not any(f"{folder}/cuda.h" in deps for folder in folders):
        sys.exit(f"No object in {build} has read {' or '.join(folders)}/cuda.h: nothing to check.")
    found = sorted(set(foreign_headers(deps, folders)))
    for target, header in found:
        print(f"{target} reads {header}, which isn't in {' or '.join(folders)}: its target has to "
              "link lode_cuda_headers.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
