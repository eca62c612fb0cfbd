"""lode: CUDA source to running kernels at run time; the command, the library and a software device.

The package contains the command `lode` (also `python -m lode`) and the shared library with its C
interface and its header (lode/lode.h), for ctypes and C. It has no API of its own in Python.
"""

import ctypes
import os
import pathlib
import sys

from lode._version import __version__  # scripts/wheel writes it.

_INSTALLED = pathlib.Path(__file__).with_name("_installed")


def command_path():
    """The path of the command."""
    return _INSTALLED / "bin" / "lode"


def get_include():
    """The folder for a C compiler's -I: it has lode/lode.h."""
    return str(_INSTALLED / "include")


def library_path():
    """The path of liblode.so."""
    found = sorted(_INSTALLED.glob("lib/**/liblode.so.*"))
    if not found:
        raise FileNotFoundError(f"{_INSTALLED} has no liblode.so: the package is damaged.")
    return found[0]


def load_library():
    """The library, opened by ctypes. It finds the software device and the worker beside itself."""
    return ctypes.CDLL(str(library_path()))


def main():
    """Becomes the command."""
    os.execv(command_path(), ["lode", *sys.argv[1:]])
