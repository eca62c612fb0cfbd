// The driver's C ABI, with the names that its library exports (cuMemAlloc_v2, …_ptsz).
#pragma once

#include "emulator/driver/stream/default_stream.hpp"

// Disables cuda.h's renaming macros and declares every version of every entry point.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): cuda.h reads it.
#define __CUDA_API_VERSION_INTERNAL
#include "base/cuda_additions.hpp"

#include <cuda.h>

static_assert(CUDA_VERSION >= 12090, "the emulator builds with the headers of CUDA 12.9 or newer");

/// Begins the definition of an exported entry point. cuda.h declares it, so a wrong signature
/// doesn't compile.
#define LODE_ENTRY extern "C" __attribute__((visibility("default"))) CUresult CUDAAPI

// Declared in cudaProfiler.h, which not every set of headers has; the last parameter is an enum.
// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's.
LODE_ENTRY cuProfilerInitialize(const char* configFile, const char* outputFile, int outputMode);
LODE_ENTRY cuProfilerStart();
LODE_ENTRY cuProfilerStop();
// NOLINTEND(readability-identifier-naming)

/// Defines an entry point and its twin for the per-thread default stream. The body can use
/// `default_stream`.
#define LODE_ENTRY_TWINS(symbol, suffix, parameters, ...)                           \
    LODE_ENTRY symbol parameters {                                                  \
        [[maybe_unused]] constexpr auto default_stream = DefaultStream::legacy;     \
        __VA_ARGS__                                                                 \
    }                                                                               \
    LODE_ENTRY symbol##suffix parameters {                                          \
        [[maybe_unused]] constexpr auto default_stream = DefaultStream::per_thread; \
        __VA_ARGS__                                                                 \
    }
