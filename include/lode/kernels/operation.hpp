/// \file
/// What all operations of lode::kernels have in common: their types of elements and their
/// workspaces.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/jit/options.hpp>
#include <lode/runtime/device_span.hpp>
#include <lode/runtime/stream.hpp>
#include <lode/runtime/variants.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>

/// lode's own kernels, as operations that an application calls.
namespace LODE_NAMESPACE::kernels {

/// The numbers that operations take: integers and floating-point numbers of 32 or 64 bits.
template <class T>
concept Number = std::is_arithmetic_v<T> && !std::is_const_v<T> && !std::is_volatile_v<T> &&
                 (sizeof(T) == 4 || sizeof(T) == 8);

namespace detail {
class Operation;
using OperationPointer = std::shared_ptr<const Operation>;
struct WorkspaceNeed;
}  // namespace detail

/// Device memory that runs of operations use for themselves. Its content may be anything: the first
/// run clears what it needs, and later runs of the same operation find it as they left it.
///
/// A workspace may serve any operations one after another. It belongs to one run at a time, in the
/// order of a stream; its memory must outlive the runs and the graphs that captured them.
/// Move-only; not thread-safe.
class Workspace {
public:
    /// A workspace without memory, for operations that need none.
    Workspace() noexcept = default;
    /// Uses this memory, which must start at a multiple of 16 bytes, as a DeviceBuffer does.
    explicit Workspace(DeviceSpan<std::byte> memory) noexcept : memory_(memory) {}
    /// Takes over what the other knows of the memory; the other mustn't be used any more.
    Workspace(Workspace&&) noexcept = default;
    /// The same.
    Workspace& operator=(Workspace&&) noexcept = default;
    ~Workspace() = default;

    /// The memory.
    [[nodiscard]] DeviceSpan<std::byte> memory() const noexcept { return memory_; }

private:
    friend class detail::Operation;
    /// Clears the memory in stream order if its content isn't that of `user`, a loaded kernel.
    [[nodiscard]] Status prepare(StreamRef stream, std::uint64_t user,
                                 const detail::WorkspaceNeed& need);

    DeviceSpan<std::byte> memory_;
    std::uint64_t user_ = 0;
    std::uint64_t layout_ = 0;
    std::size_t cleared_ = 0;
    std::uint32_t runs_ = 0;
    bool captured_ = false;  ///< Graphs use it too, at times that this object doesn't see.
};

namespace detail {
/// The bytes of workspace for a problem. Loads the kernel for it, if it isn't loaded.
[[nodiscard]] Result<std::size_t> workspace_bytes(const Operation& operation,
                                                  const Problem& problem);

/// A type as kernels and messages name it.
struct NumberType {
    std::string_view name;  ///< In CUDA C++.
    std::uint32_t bytes = 0;
    bool is_integer = false;
};

template <Number T>
inline constexpr NumberType number_type =
    std::is_floating_point_v<T> ? NumberType{sizeof(T) == 4 ? "float" : "double", sizeof(T), false}
    : std::is_signed_v<T>
        ? NumberType{sizeof(T) == 4 ? "int" : "long long", sizeof(T), true}
        : NumberType{sizeof(T) == 4 ? "unsigned" : "unsigned long long", sizeof(T), true};

/// A span without its type.
struct Elements {
    lode::detail::DeviceMemoryRef memory;
    std::size_t count = 0;
    std::size_t bytes = 0;

    template <class T>
    Elements(DeviceSpan<T> span) noexcept  // NOLINT(google-explicit-constructor)
        : memory(span.memory()), count(span.size()), bytes(span.size_bytes()) {}

    [[nodiscard]] void* data() const noexcept { return reinterpret_cast<void*>(memory.address); }
};
}  // namespace detail

}  // namespace LODE_NAMESPACE::kernels
