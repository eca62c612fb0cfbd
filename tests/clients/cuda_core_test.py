"""cuda.core: what its documentation shows, with the libraries of NVIDIA's wheels."""

import pathlib

import numpy as np
import nvidia
import pytest
from cuda.bindings import driver, nvfatbin
from cuda.core import (Device, EventOptions, LaunchConfig, Linker, LinkerOptions, ObjectCode,
                       Program, ProgramOptions, launch)

SOURCE = """
template <class T> __global__ void saxpy(const T a, const T* x, const T* y, T* out, size_t n) {
    for (size_t i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = a * x[i] + y[i];
}
"""


@pytest.fixture
def device():
    made = Device()
    made.set_current()
    return made


def compiled(device, source, names, kind="cubin", **options):
    arch = f"sm_{device.arch}"
    return Program(source, code_type="c++", options=ProgramOptions(arch=arch, std="c++17", **options)
                   ).compile(kind, name_expressions=names)


def upload(device, stream, values):
    buffer = device.memory_resource.allocate(values.nbytes, stream=stream)
    stream.sync()
    check(driver.cuMemcpyHtoD(int(buffer.handle), values.ctypes.data, values.nbytes))
    return buffer


def download(buffer, values):
    check(driver.cuMemcpyDtoH(values.ctypes.data, int(buffer.handle), values.nbytes))
    return values


def check(outcome):
    assert outcome[0] == driver.CUresult.CUDA_SUCCESS, outcome[0]


@pytest.mark.parametrize("kind", ["ptx", "cubin"])
@pytest.mark.parametrize("name, dtype", [("saxpy<float>", np.float32), ("saxpy<double>", np.float64)])
def test_templates(device, name, dtype, kind):
    kernel = compiled(device, SOURCE, ("saxpy<float>", "saxpy<double>"), kind).get_kernel(name)
    stream = device.create_stream()
    x, y = np.arange(1000, dtype=dtype), np.ones(1000, dtype=dtype)
    buffers = [upload(device, stream, values) for values in (x, y, np.zeros_like(x))]
    launch(stream, LaunchConfig(grid=4, block=128), kernel, dtype(10), *buffers, np.uint64(1000))
    stream.sync()
    np.testing.assert_array_equal(download(buffers[2], np.zeros_like(x)), 10 * x + y)


def test_events_measure_time(device):
    stream = device.create_stream()
    kernel = compiled(device, SOURCE, ("saxpy<float>",)).get_kernel("saxpy<float>")
    x = np.ones(100000, dtype=np.float32)
    buffers = [upload(device, stream, x) for _ in range(3)]
    options = EventOptions(timing_enabled=True)
    start = stream.record(options=options)
    launch(stream, LaunchConfig(grid=8, block=256), kernel, np.float32(2), *buffers,
           np.uint64(x.size))
    end = stream.record(options=options)
    end.sync()
    assert end - start > 0


@pytest.mark.parametrize("kind", ["ptx", "cubin", "ltoir"])
def test_linker_joins_two_programs(device, kind):
    arch = f"sm_{device.arch}"
    options = ProgramOptions(arch=arch, relocatable_device_code=True,
                             link_time_optimization=kind == "ltoir")
    parts = [Program(source, code_type="c++", options=options).compile(kind) for source in (
        'extern __device__ int seven(); extern "C" __global__ void k(int* out) { *out = seven(); }',
        "__device__ int seven() { return 7; }")]
    options = LinkerOptions(arch=arch, link_time_optimization=kind == "ltoir")
    kernel = Linker(*parts, options=options).link("cubin").get_kernel("k")
    stream = device.create_stream()
    buffer = upload(device, stream, np.zeros(1, dtype=np.int32))
    launch(stream, LaunchConfig(grid=1, block=1), kernel, buffer)
    stream.sync()
    assert download(buffer, np.zeros(1, dtype=np.int32))[0] == 7


def test_fat_binary_of_a_cubin_loads(device):
    cubin = compiled(device, 'extern "C" __global__ void k(int* out) { *out = 7; }', ()).code
    handle = nvfatbin.create([], 0)
    nvfatbin.add_cubin(handle, cubin, len(cubin), str(device.arch), "k")
    image = bytearray(nvfatbin.size(handle))
    nvfatbin.get(handle, image)
    nvfatbin.destroy(handle)
    kernel = ObjectCode.from_fatbin(bytes(image)).get_kernel("k")
    stream = device.create_stream()
    buffer = upload(device, stream, np.zeros(1, dtype=np.int32))
    launch(stream, LaunchConfig(grid=1, block=1), kernel, buffer)
    stream.sync()
    assert download(buffer, np.zeros(1, dtype=np.int32))[0] == 7


def test_libraries_are_the_wheels(device):
    compiled(device, SOURCE, ("saxpy<float>",))
    files = {line.split()[-1] for line in pathlib.Path("/proc/self/maps").read_text().splitlines()
             if "/" in line}
    wheels = pathlib.Path(nvidia.__path__[0]) / "cu13/lib"
    assert str(wheels / "libnvrtc.so.13") in files
    assert any(file.endswith("/liblode_nvrtc13.so") for file in files)


def test_kernel_attributes_and_occupancy(device):
    kernel = compiled(device, SOURCE, ("saxpy<float>",)).get_kernel("saxpy<float>")
    assert kernel.attributes.max_threads_per_block == 1024
    assert kernel.occupancy.max_active_blocks_per_multiprocessor(256, 0) > 0


def test_managed_and_pinned_memory(device):
    stream = device.create_stream()
    kernel = compiled(
        device, 'extern "C" __global__ void k(int* p) { p[threadIdx.x] = threadIdx.x; }',
        ()).get_kernel("k")
    address = driver.cuMemAllocManaged(256, driver.CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL)[1]
    launch(stream, LaunchConfig(grid=1, block=64), kernel, np.uint64(int(address)))
    stream.sync()
    values = np.zeros(64, dtype=np.int32)
    check(driver.cuMemcpy(values.ctypes.data, int(address), 256))
    np.testing.assert_array_equal(values, np.arange(64))
    check(driver.cuMemFree(address))


def test_a_graph_replays_a_capture(device):
    stream = device.create_stream()
    kernel = compiled(
        device, 'extern "C" __global__ void k(int* p) { atomicAdd(p, 1); }', ()).get_kernel("k")
    buffer = upload(device, stream, np.zeros(1, dtype=np.int32))
    builder = device.create_graph_builder().begin_building()
    for _ in range(3):
        launch(builder, LaunchConfig(grid=2, block=32), kernel, buffer)
    graph = builder.end_building().complete()
    for _ in range(2):
        graph.launch(stream)
    stream.sync()
    assert download(buffer, np.zeros(1, dtype=np.int32))[0] == 2 * 3 * 64
