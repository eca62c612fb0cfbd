/// \file
/// Histogram: how often each value occurs.
#pragma once

#include <lode/kernels/operation.hpp>
#include <lode/runtime/variants_loader.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace LODE_NAMESPACE::kernels {

/// Counts how often each of 0 … bins - 1 occurs. A value that shares its kernels with its copies.
/// Thread-safe.
class Histogram {
public:
    /// Compiles and loads the kernel for 2^20 values and 256 bins, with the compiler's options.
    /// Errors: those of VariantLoader::load().
    [[nodiscard]] static Result<Histogram> load(const VariantLoader& loader,
                                                const CompileOptions& options = {});

    /// The bytes of workspace for so many values and bins; 0 up to 12,288 bins. Loads the kernel
    /// for that many, if it isn't loaded. Errors: those of load().
    [[nodiscard]] Result<std::size_t> workspace_bytes(std::size_t count, std::size_t bins) const;

    /// Enqueues `counts[i] =` the number of values that are i, modulo 2^32, and doesn't wait;
    /// greater values are ignored. `counts` starts at a multiple of 16 bytes. May be captured,
    /// after workspace_bytes() for that many. Errors: invalid_argument for no bins, a workspace
    /// that is too small, and memory or a stream of another device; those of load() and of a
    /// launch.
    [[nodiscard]] Status run(StreamRef stream, DeviceSpan<const std::uint32_t> values,
                             DeviceSpan<std::uint32_t> counts, Workspace& workspace) const {
        return run(stream, values, counts, &workspace);
    }
    /// The same with a workspace from the device's pool, if it needs one. Errors: also those of
    /// AsyncBuffer::allocate().
    [[nodiscard]] Status run(StreamRef stream, DeviceSpan<const std::uint32_t> values,
                             DeviceSpan<std::uint32_t> counts) const {
        return run(stream, values, counts, nullptr);
    }

private:
    [[nodiscard]] Status run(StreamRef stream, DeviceSpan<const std::uint32_t> values,
                             DeviceSpan<std::uint32_t> counts, Workspace* workspace) const;
    explicit Histogram(detail::OperationPointer operation) noexcept
        : operation_(std::move(operation)) {}
    detail::OperationPointer operation_;
};

}  // namespace LODE_NAMESPACE::kernels
