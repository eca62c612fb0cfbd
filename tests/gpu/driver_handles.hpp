// Every entry point of cuda.h, and exit(), with a call of it that has live handles.
#pragma once

#include <span>

#include <cuda.h>

namespace lode::test {

/// One object of each kind.
struct DriverHandles {
    static constexpr std::size_t bytes = 1024;

    CUdevice device = 0;
    CUcontext context = nullptr;
    CUstream stream = nullptr;
    CUevent event = nullptr;  ///< Recorded.
    CUdeviceptr memory = 0;   ///< `bytes` of it.
    void* pinned = nullptr;   ///< `bytes` of it.
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;  ///< k(unsigned long long address, unsigned value)
    CUfunction function = nullptr;
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;  ///< An empty one of the graph.
    CUgraphExec graph_exec = nullptr;
};

struct EntryPoint {
    const char* symbol;
    /// Calls `address`, which is the driver's function of that name.
    CUresult (*call)(void* address, const DriverHandles& handles);
};

std::span<const EntryPoint> entry_points();

}  // namespace lode::test
