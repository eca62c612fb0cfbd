#!/usr/bin/env python3
"""Writes or checks docs/dev/driver-functions.md: driver_functions.py ROOT CUDA-FOLDER [--write]

The document has one row for each function of cuda.h. Whether lode wraps a function is read from
runtime/driver/symbols.def, who calls it from runtime's sources, and whether the software device
has it from the emulator's entry points. Only the reasons for what lode doesn't wrap are below.
With another cuda.h than that of CUDA 13.5, checks what lode's own files determine.
"""

import pathlib
import re
import sys

VERSION = 13050
TITLE = """# Functions of the driver API

One row for each function of CUDA 13.5's `cuda.h`. lode wraps the functions that have a contract to keep: an owner, an order, a limit. The address of any other comes from `Driver::resolve(name, version)`, under the version of its type in `cudaTypedefs.h`. `ContextScope` makes the device's context current for it, and every object of lode gives its native handle.

The column *since* has the first CUDA release whose driver has the function, as `cudaTypedefs.h` numbers it. Every driver from 12.0 on works; what needs a newer one reports which. The column *software device* says whether lode's software device has the function. Those that it lacks return CUDA_ERROR_NOT_SUPPORTED there. [Forbidden contexts](emulator.md#forbidden-contexts) says where a program may call none, and what each answers.

`tests/docs/driver_functions.py . FOLDER --write`, with the folder of that `cuda.h`, writes this page; a test compares it with the code.
"""

# The first matching row explains why lode doesn't wrap a function.
REASONS = [
    (r"cuCtx(Attach|Detach)|cuDeviceComputeCapability|cuDeviceGetProperties",
     "deprecated by CUDA; device attributes and the primary context replace it"),
    (r"cuCtx[GS]etSharedMemConfig|cuFuncSetSharedMemConfig",
     "deprecated by CUDA; no supported GPU has configurable banks"),
    (r"cuFuncSet(BlockShape|SharedSize)|cuParamSet\w+|cuLaunch|cuLaunchGrid(Async)?",
     "deprecated by CUDA; a launch carries its shape and arguments"),
    (r"cuTexRef\w+|cuSurfRef\w+|cuModuleGet(Tex|Surf)Ref",
     "deprecated by CUDA; texture and surface objects replace references"),
    (r"cuLaunchCooperativeKernelMultiDevice", "deprecated by CUDA"),
    (r"cuStreamAddCallback", "deprecated by CUDA; lode uses cuLaunchHostFunc"),
    (r"cuLaunchCooperativeKernel", "cuLaunchKernelEx with an attribute does the same"),
    (r"cuOccupancyMax\w+WithFlags", "the flag is for devices before 7.0, whose caching limits them"),
    (r"cuCtx(Create|Destroy)",
     "lode uses the primary context, which the runtime API shares"),
    (r"cuDevicePrimaryCtxReset", "would destroy what other components of the process made"),
    (r"cuDevicePrimaryCtxSetFlags|cuCtx[GS]etFlags",
     "the scheduling flags belong to the process, not to a library in it"),
    (r"cuModule\w+", "belongs to one context; lode loads with cuLibraryLoadData"),
    (r"cuFunc\w+", "belongs to a module; lode uses the CUkernel's counterpart"),
    (r"cuGetProcAddress", "finds every other function"),
    (r"cuLibraryLoadFromFile|cuLinkAddFile", "lode reads files itself, to verify and cache them"),
    (r"cuLibraryGetUnifiedFunction", "CUDA C++ compiled at run time has no unified functions"),
    (r"cu(Kernel|Func|Ctx)(Set|Get)CacheConfig", "a hint that the carve-out attribute replaces"),
    (r"cuKernelGetLibrary|cuLibraryGetModule", "lode's kernels know their library"),
    (r"cuGraphics\w+", "interoperability with OpenGL and EGL, whose headers lode doesn't need"),
    (r"cuMulticast\w+", "one allocation for several GPUs on one NVSwitch"),
    (r"cuLogicalEndpoint\w+|cuFabric\w+|cuDeviceGet(Clique|Fabric)\w+",
     "memory of other machines on an NVLink fabric"),
    (r"cuMemcpy(3D)?WithAttributes\w+", "hints for a copy; lode's copies have none yet"),
    (r"cuMemGetLocationInfo", "a property to query"),
    (r"cuCoredump\w+", "debugging of a process from inside"),
    (r"cuCheckpoint\w+", "called by whatever freezes the process, after Runtime::quiesce()"),
    (r"cuGetExportTable", "undocumented"),
    (r"cuLogs(Current|Dump\w+)", "lode listens to the log with cuLogsRegisterCallback"),
    (r"cuStream(WaitValue|WriteValue)\d+|cuStreamBatchMemOp|\w*BatchMemOp\w*",
     "orders streams by values in memory, which only the host's own protocol gives a meaning"),
    (r"cuMem(cpyBatch|cpy3DBatch|PrefetchBatch|Discard)\w*|cuMemBatchDecompressAsync",
     "a batch of calls that lode wraps one by one"),
    (r"cuArrayGet(Plane|MemoryRequirements|SparseProperties)|cuMipmappedArrayGet(Memory|Sparse)\w+"
     r"|cuMemMapArrayAsync", "planar and sparse arrays"),
    (r"cu\w*(NvSci|Luid)\w*", "not on Linux servers"),
    (r"cu(Device|Ctx)GetExecAffinity\w*", "needs MPS"),
    (r"cuDevice(Register|Unregister)AsyncNotification",
     "notifies of memory oversubscription by other processes"),
    (r"cuFlushGPUDirectRDMAWrites", "for writers outside of CUDA, such as network cards"),
    (r"cu\w*AtomicCapabilities", "a property to query"),
    (r"cuDevice\w*Graph\w*", "tuning of the memory that graphs allocate"),
    (r"cuMem(AllocHost)", "cuMemHostAlloc, which lode uses, does the same"),
    (r"cuMemcpy(Async)?", "lode knows where both sides are and calls the specific copy"),
    (r"cuGraph\w*|cuUserObject\w+|cuStream\w*[Cc]aptur\w+", "part of graphs that lode doesn't wrap yet"),
    (r"cu(Green|DevResource|DevSm|\w*DevResource|CtxFromGreen|StreamGetGreen)\w*"
     r"|cuCtx(Record|Wait)Event", "what SmPartition doesn't need of green contexts"),
    (r"cu\w*External\w+", "mipmapped arrays of other APIs, and their semaphores in graphs"),
    (r"cu(Mem|Pointer|Array|Mipmapped|Tex|Surf|Link|TensorMap|Occupancy)\w+", "not wrapped yet"),
    (r"\w+", "a property to query or a setting of the host's own"),
]


def functions_of(header):
    names = {re.sub(r"(_v\d+)?(_pt[sd][sz])?$", "", name)
             for name in re.findall(r"CUresult\s+CUDAAPI\s+(cu[A-Za-z0-9_]+)\s*\(", header)}
    return sorted(names, key=str.lower)


def releases_of(typedefs, functions):
    """The first release of each function that has a type: {"cuInit": "2.0"}."""
    versions = {}
    for name, version in re.findall(r"PFN_(cu\w+?)_v(\d+)\b", typedefs):
        versions[name] = min(versions.get(name, sys.maxsize), int(version))
    return {name: f"{versions[name] // 1000}.{versions[name] % 1000 // 10}" if name in versions
            else "–" for name in functions}


def first(pattern, text):
    return set(re.findall(pattern, text, re.MULTILINE))


def rows(root, releases):
    wrapped = first(r"^X\((cu\w+),", (root / "runtime/driver/symbols.def").read_text())
    emulated = first(r"^LODE_ENTRY_POINT\((cu\w+),",
                     (root / "emulator/driver/entry_points.def").read_text())
    emulated.discard("cuGetExportTable")  # It has few tables, with few functions.
    users = {}
    for path in sorted((root / "runtime").rglob("*.?pp")):
        for name in set(re.findall(r"\bcu[A-Z]\w+", path.read_text())):
            users.setdefault(name, []).append(path.relative_to(root).as_posix())
    for name, release in releases.items():
        if name in wrapped:
            how = "wrapped: " + (f"`{users[name][0]}`" if name in users else "by the driver table")
        else:
            how = next(reason for pattern, reason in REASONS if re.fullmatch(pattern, name))
        yield f"| {name} | {release} | {how} | {'yes' if name in emulated else 'no'} |"


def main():
    root, cuda = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    page = root / "docs/dev/driver-functions.md"
    header = (cuda / "cuda.h").read_text()
    version = int(re.search(r"#define\s+CUDA_VERSION\s+(\d+)", header)[1])
    if version == VERSION:
        releases = releases_of((cuda / "cudaTypedefs.h").read_text(), functions_of(header))
    else:
        releases = dict(re.findall(r"^\| (cu\w+) \| (\S+) \|", page.read_text(), re.MULTILINE))
    table = list(rows(root, releases))
    wrapped = sum("| wrapped: " in row for row in table)
    emulated = sum(row.endswith("| yes |") for row in table)
    text = "\n".join([TITLE, f"{len(table)} functions; lode wraps {wrapped}, and the software "
                             f"device has {emulated}.", "",
                      "| Function | Since | In lode | Software device |", "| --- | --- | --- | --- |", *table, ""])
    if sys.argv[3:] == ["--write"]:
        page.write_text(text)
        return 0
    if page.read_text() == text:
        return 0
    there = set(page.read_text().splitlines())
    for line in [line for line in text.splitlines() if line not in there][:20]:
        print(f"docs/dev/driver-functions.md lacks: {line}")
    print(f"`tests/docs/driver_functions.py . {cuda} --write` writes it.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
