// NvtxRange: a range on a profiler's timeline, if lode was built with NVTX's headers.
#pragma once

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <lode/base/api.hpp>

#include <nvtx3/nvToolsExt.h>
#define LODE_HAS_NVTX 1
#else
#define LODE_HAS_NVTX 0
#endif

namespace LODE_NAMESPACE::cache {

/// Lasts from construction to destruction, on the calling thread. Without a profiler it costs a
/// branch.
class NvtxRange {
public:
#if LODE_HAS_NVTX
    explicit NvtxRange(const char* name) noexcept {
        ::nvtxRangePushA(name);
    }
    ~NvtxRange() {
        ::nvtxRangePop();
    }
#else
    explicit NvtxRange(const char*) noexcept {}
    ~NvtxRange() = default;
#endif
    NvtxRange(const NvtxRange&) = delete;
    NvtxRange& operator=(const NvtxRange&) = delete;
};

}  // namespace LODE_NAMESPACE::cache
