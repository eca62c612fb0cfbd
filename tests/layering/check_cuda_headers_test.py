#!/usr/bin/env python3
"""Plants CUDA headers of other folders for check_cuda_headers.py."""

import sys

from check_cuda_headers import foreign_headers

DEPS = """a.cpp.o: #deps 2, deps mtime 1 (VALID)
    ../../a.cpp
    /opt/cuda/include/cuda.h

b.cpp.o: #deps 2, deps mtime 1 (VALID)
    /usr/local/include/nvrtc.h
    /usr/local/include/other.h
"""


def main():
    cases = [(["/opt/cuda/include"], [("b.cpp.o", "/usr/local/include/nvrtc.h")]),
             (["/opt/cuda/include", "/usr/local/include"], []),
             (["/usr/local/include"], [("a.cpp.o", "/opt/cuda/include/cuda.h")])]
    for folders, expected in cases:
        found = list(foreign_headers(DEPS, set(folders)))
        if found != expected:
            sys.exit(f"With {folders}: {found}, expected {expected}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
