#!/usr/bin/env python3
"""Compares what the software device exports with what NVIDIA's driver exports.

    check_driver_exports.py liblode_emulator.so

Programs give up on a driver that lacks a name, even one that they never call. libcuda.txt beside this
script has the 682 names of driver 580.159.04, then those that CUDA 13.1 to 13.5 add to cuda.h;
`cuMemAlloc{,_v2}` is cuMemAlloc and cuMemAlloc_v2.
Prints every difference and fails if there is one. The device's own test interface isn't compared.
"""

import pathlib
import re
import subprocess
import sys

LIST = pathlib.Path(__file__).with_name("libcuda.txt")


def listed(text):
    return {base + end for base, ends in re.findall(r"(\w+)(?:\{(\S*)\})?", text) for end in ends.split(",")}


def exported(library):
    output = subprocess.run(["nm", "--dynamic", "--defined-only", "--format=just-symbols", library],
                            check=True, capture_output=True, text=True).stdout
    return {name for name in output.split() if not name.startswith("lode_emulator_")}


def main(library):
    names, driver = exported(library), listed(LIST.read_text(encoding="utf-8"))
    lines = [f"{name} is missing." for name in sorted(driver - names)]
    lines += [f"{name} isn't a driver's." for name in sorted(names - driver)]
    print("\n".join([*lines, f"{len(driver)} names, {len(lines)} differences."]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
