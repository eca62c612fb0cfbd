"""Compares the lines that a host's standard headers and lode's have after the preprocessor:
check_cost.py compiler lode-folder expected-folders
lode/fwd.hpp alone has at most 100; with lode/lode.hpp there are at most 1.5 times as many as without.
"""
import subprocess
import sys

HOST = ("chrono", "filesystem", "functional", "iostream", "memory", "optional", "span", "string",
        "vector")
MAX_FORWARD_LINES = 100
MAX_RATIO = 1.5


def lines_of(compiler, folders, headers):
    """Returns how many lines with text the headers have."""
    source = "".join(f"#include <{header}>\n" for header in headers)
    command = [compiler, "-std=c++20", "-E", "-P", "-x", "c++", "-", *(f"-I{it}" for it in folders)]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
    return sum(1 for line in done.stdout.splitlines() if line.strip())


def main(compiler, lode, expected=""):
    folders = [lode, *filter(None, expected.split(";"))]
    forward = lines_of(compiler, folders, ["lode/fwd.hpp"])
    host = lines_of(compiler, folders, HOST)
    both = lines_of(compiler, folders, [*HOST, "lode/lode.hpp"])
    print(f"lode/fwd.hpp: {forward} lines; a host's standard headers: {host}; with lode/lode.hpp: "
          f"{both}, {both / host:.2f} times as many")
    return forward > MAX_FORWARD_LINES or both > MAX_RATIO * host


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
