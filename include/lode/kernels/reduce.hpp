/// \file
/// Reduce: the sum of all elements, or what another operator makes of them.
#pragma once

#include <lode/kernels/operation.hpp>
#include <lode/runtime/variants_loader.hpp>

#include <string>
#include <utility>

namespace LODE_NAMESPACE::kernels {

/// How elements are combined, in CUDA C++; without any, they are added.
struct CombineOptions {
    /// An expression of two elements `a` and `b`, such as "a > b ? a : b". It must be associative
    /// and commutative, because elements are combined in an unspecified order.
    std::string combine = {};
    /// An expression of the element that changes no other, such as "-INFINITY"; goes with combine.
    std::string identity = {};
    /// For the compiler: headers and definitions that the expressions need, and its options.
    CompileOptions compile = {};
};

namespace detail {
[[nodiscard]] Result<OperationPointer> load_reduce(const VariantLoader& loader,
                                                   const NumberType& type,
                                                   const CombineOptions& options);
/// Without a workspace, the pool has one.
[[nodiscard]] Status run_reduce(const Operation& operation, StreamRef stream, Elements from,
                                Elements to, Workspace* workspace);
}  // namespace detail

/// Combines all elements into one. Floats are added in an unspecified order, so sums may differ by
/// rounding between devices. A value that shares its kernels with its copies. Thread-safe.
template <Number T>
class Reduce {
public:
    /// Compiles and loads the kernel for the loader's device. Errors: those of
    /// VariantLoader::load(); invalid_argument if only one of combine and identity is given.
    [[nodiscard]] static Result<Reduce> load(const VariantLoader& loader,
                                             const CombineOptions& options = {}) {
        return detail::load_reduce(loader, detail::number_type<T>, options)
            .map([](detail::OperationPointer operation) { return Reduce(std::move(operation)); });
    }

    /// The bytes of workspace for so many elements, at most a few kilobytes.
    [[nodiscard]] Result<std::size_t> workspace_bytes(std::size_t count) const {
        return detail::workspace_bytes(*operation_, {count});
    }

    /// Enqueues `to[0] =` all elements of `from`, combined; the identity if there are none. Doesn't
    /// wait, and may be captured. `to` has one element. Errors: invalid_argument for other sizes, a
    /// workspace that is too small, and memory or a stream of another device; those of a launch.
    [[nodiscard]] Status run(StreamRef stream, DeviceSpan<const T> from, DeviceSpan<T> to,
                             Workspace& workspace) const {
        return detail::run_reduce(*operation_, stream, from, to, &workspace);
    }
    /// The same with a workspace from the device's pool. Errors: also those of
    /// AsyncBuffer::allocate().
    [[nodiscard]] Status run(StreamRef stream, DeviceSpan<const T> from, DeviceSpan<T> to) const {
        return detail::run_reduce(*operation_, stream, from, to, nullptr);
    }

private:
    explicit Reduce(detail::OperationPointer operation) noexcept
        : operation_(std::move(operation)) {}
    detail::OperationPointer operation_;
};

}  // namespace LODE_NAMESPACE::kernels
