#!/usr/bin/env python3
"""Builds copies of samples with an installed lode, by the command in their comments, and runs them.

    copies_test.py SAMPLES PREFIX NAME…

SAMPLES is the folder of all samples, PREFIX the installation. The copies lie in a temporary folder,
so nothing of the repository is near.
"""

import os
import pathlib
import shutil
import sys
import tempfile

import run_sample


def main(samples, prefix, *names):
    os.environ["CMAKE_PREFIX_PATH"] = prefix
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["LODE_CACHE_DIR"] = f"{temporary}/cache"
        for name in names:
            folder = shutil.copytree(pathlib.Path(samples, name), pathlib.Path(temporary, name))
            os.chdir(folder)
            build, program = run_sample.transcript(folder)[0].rsplit(" && ", 1)
            if os.system(f"({build}) >log 2>&1") != 0:
                complaint = f"{build} fails:\n{pathlib.Path('log').read_text(encoding='utf-8')}"
            else:
                complaint = run_sample.run(folder, program.split(),
                                           fallback=name != "06_memory_check")[1]
            print(f"{name}: {complaint or 'builds, runs and prints what its comment says'}",
                  flush=True)
            wrong += complaint is not None
            os.chdir("/")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
