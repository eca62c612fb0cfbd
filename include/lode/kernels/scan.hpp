/// \file
/// Scan: running sums of elements, or what another operator makes of them.
#pragma once

#include <lode/kernels/reduce.hpp>

namespace LODE_NAMESPACE::kernels {

namespace detail {
[[nodiscard]] Result<OperationPointer> load_scan(const VariantLoader& loader,
                                                 const NumberType& type,
                                                 const CombineOptions& options);
[[nodiscard]] Status run_scan(const Operation& operation, StreamRef stream, Elements from,
                              Elements to, Workspace* workspace);
}  // namespace detail

/// Combines each element with all before it: an inclusive scan. Floats are added in an unspecified
/// order, so sums may differ by rounding between devices. A value that shares its kernels with its
/// copies. Thread-safe.
template <Number T>
class Scan {
public:
    /// Compiles and loads the kernel for 2^20 elements. Errors: those of VariantLoader::load();
    /// invalid_argument if only one of combine and identity is given.
    [[nodiscard]] static Result<Scan> load(const VariantLoader& loader,
                                           const CombineOptions& options = {}) {
        return detail::load_scan(loader, detail::number_type<T>, options)
            .map([](detail::OperationPointer operation) { return Scan(std::move(operation)); });
    }

    /// The bytes of workspace for so many elements, at most a 500th of theirs. Loads the kernel for
    /// that many, if it isn't loaded. Errors: those of load().
    [[nodiscard]] Result<std::size_t> workspace_bytes(std::size_t count) const {
        return detail::workspace_bytes(*operation_, {count});
    }

    /// Enqueues `to[i] =` the elements `from[0]` to `from[i]`, combined, and doesn't wait. `to` has
    /// as many elements as `from` and doesn't overlap it. May be captured, after workspace_bytes()
    /// for that many. Errors: invalid_argument for other sizes, overlaps, a workspace that is too
    /// small, and memory or a stream of another device; those of load() and of a launch.
    [[nodiscard]] Status run(StreamRef stream, DeviceSpan<const T> from, DeviceSpan<T> to,
                             Workspace& workspace) const {
        return detail::run_scan(*operation_, stream, from, to, &workspace);
    }
    /// The same with a workspace from the device's pool. Errors: also those of
    /// AsyncBuffer::allocate().
    [[nodiscard]] Status run(StreamRef stream, DeviceSpan<const T> from, DeviceSpan<T> to) const {
        return detail::run_scan(*operation_, stream, from, to, nullptr);
    }

private:
    explicit Scan(detail::OperationPointer operation) noexcept : operation_(std::move(operation)) {}
    detail::OperationPointer operation_;
};

}  // namespace LODE_NAMESPACE::kernels
