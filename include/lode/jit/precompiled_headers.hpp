/// \file
/// PrecompiledHeaders: whether workers keep headers in a form that the compiler needn't parse
/// again.
#pragma once

#include <lode/base/api.hpp>

#include <cstdint>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// Precompiled headers of workers.
///
/// A source that begins with `#include` lines has a header set. A worker compiles a large set once
/// by itself and keeps the compiler's state in the cache folder. Later compilations of sources that
/// begin with the same lines start from there: in any worker, for any host process of this user.
/// Before each use the worker checks everything that the set was made of: the content of each
/// header, the paths where there was none, and the environment. Image, log and dependencies are the
/// same as without.
///
/// Used with workers (WorkerOptions), a cache folder, and NVRTC 12.8 or newer, where the system
/// lets a program switch off the randomisation of its addresses.
struct PrecompiledHeaders {
    /// The default size limit of all files together.
    static constexpr std::uint64_t default_max_bytes = std::uint64_t{1} << 30;
    /// The default of least_header_bytes: below it the compiler is as fast without.
    static constexpr std::uint64_t default_least_header_bytes = std::uint64_t{512} << 10;

    /// The most that the files of precompiled headers take, in bytes; the least recently used ones
    /// are removed. 0: none are made or used.
    std::uint64_t max_bytes = default_max_bytes;
    /// The size of a header set, in bytes of text, from which on it is precompiled.
    std::uint64_t least_header_bytes = default_least_header_bytes;

    /// Compares both members.
    friend bool operator==(const PrecompiledHeaders&, const PrecompiledHeaders&) = default;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
