"""A test suite that wants a GPU: what .github/actions/emulate runs on a machine without one.

FORGET_THE_BARRIER=1 plants a race, which the action's checks find.
"""

import os
import pathlib

import numpy as np
from cuda.core import Device, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions, launch

KERNEL = pathlib.Path(__file__).with_name("reverse.cu")


def test_reverses_each_block():
    device = Device(0)
    device.set_current()
    stream = device.create_stream()
    forget = ["FORGET_THE_BARRIER"] if os.environ.get("FORGET_THE_BARRIER") else None
    options = ProgramOptions(lineinfo=True, name=str(KERNEL), define_macro=forget,
                             arch=f"sm_{device.arch}")
    program = Program(KERNEL.read_text(encoding="utf-8"), "c++", options)
    reverse = program.compile("cubin").get_kernel("reverse")

    blocks, threads = 4, 128
    buffer = LegacyPinnedMemoryResource().allocate(4 * blocks * threads, stream=stream)
    values = np.from_dlpack(buffer).view(np.int32)
    values[:] = np.arange(blocks * threads)
    launch(stream, LaunchConfig(grid=blocks, block=threads), reverse, buffer)
    stream.sync()
    expected = np.arange(blocks * threads).reshape(blocks, threads)[:, ::-1]
    assert (values.reshape(blocks, threads) == expected).all()
