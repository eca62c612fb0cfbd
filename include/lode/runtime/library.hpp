/// \file
/// Library: an image loaded on a device.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/base/image.hpp>
#include <lode/runtime/device_span.hpp>
#include <lode/runtime/kernel.hpp>
#include <lode/runtime/native.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// Whether the driver's PTX compiler lets loads of global memory use the L1 cache, where the code
/// doesn't say it (ptxas's -dlcm).
enum class LoadCaching : std::uint8_t {
    automatic,  ///< As the compiler chooses.
    l2_only,    ///< Not in L1.
    l1          ///< In L1 too.
};

/// Options for loading. All except the last are for the driver's PTX compiler and don't affect a
/// cubin. There is none for fast maths, which is decided when CUDA C++ becomes PTX. The software
/// device has no such compiler and ignores them. Where nvJitLink must compile PTX that the driver
/// refuses, only `max_registers`, `line_info` and `debug` count.
struct LoadOptions {
    int max_registers = 0;        ///< Per thread, at most 255; 0 leaves it to the driver.
    int optimization_level = -1;  ///< 0 … 4; -1 leaves it to the driver (4).
    bool line_info = false;       ///< Source lines for profilers and sanitizers.
    bool debug = false;           ///< Debug information.
    bool verbose_log = false;     ///< More text in Library::load_log().
    LoadCaching caching = LoadCaching::automatic;  ///< How loads of global memory are cached.
    bool position_independent = false;             ///< Position-independent code.
    /// Registers are limited so that a block of this many threads fits; 0 for no such limit.
    int min_threads_per_block = 0;
    /// No launch has larger blocks; 0 for no such promise. Where a kernel has the PTX directive
    /// .maxntid, that counts, unless `override_directives` is set. Needs a driver for CUDA 12.4.
    int max_threads_per_block = 0;
    /// This many blocks shall fit into a multiprocessor; 0 leaves it to the driver. Needs
    /// max_threads_per_block and a driver for CUDA 12.4, excludes max_registers and
    /// min_threads_per_block. The PTX directive .minnctapersm takes precedence in the same way.
    int min_blocks_per_multiprocessor = 0;
    /// These limits take precedence over the PTX's own directives. Needs a driver for CUDA 12.4.
    bool override_directives = false;
    /// Threads that compile the parts of a program; 0 means one per processor. Any value but 1
    /// needs a driver for CUDA 13.0.
    int split_compile = 1;
    /// Threads that compile a program's kernels; 0 means one per processor. Any value but 1 needs a
    /// driver for CUDA 13.1. The variable CUDA_BINARY_LOADER_THREAD_COUNT takes precedence.
    int loader_threads = 1;
    bool prefer_ptx = false;  ///< Try the image's PTX before its cubin.

    /// Compares every member.
    friend bool operator==(const LoadOptions&, const LoadOptions&) = default;
};

namespace detail {
struct LibraryState;

/// A variable as elements of a type.
struct TypedVariable {
    DeviceMemoryRef memory;
    std::size_t count = 0;  ///< Elements.
};
}  // namespace detail

/// A `__device__` or `__constant__` variable of a library. A view: the library owns the memory.
struct GlobalVariable {
    NativeDevicePointer address = 0;  ///< Valid while the library is loaded.
    std::size_t size = 0;             ///< Bytes.
};

/// An image loaded on one device (cuLibraryLoadData), made by Device::load. Copies share it, and
/// its kernels keep it loaded; it is unloaded with the last of them. Keeps the device alive.
/// Thread-safe.
///
/// A default-constructed or moved-from Library is empty: its image and its log are empty, and every
/// call that can fail fails with invalid_argument.
class Library {
public:
    /// An empty library, to be assigned to.
    Library() noexcept = default;

    /// Whether it holds an image.
    explicit operator bool() const noexcept { return state_ != nullptr; }

    /// The kernels' symbols. Errors: not_supported with a driver before 12.4, unless the image has
    /// its PTX.
    [[nodiscard]] Result<std::vector<std::string>> kernel_names() const;

    /// A kernel by symbol, by name expression, or by its C++ name in any spelling, such as
    /// `ns::scale<3,float>` for `ns::scale<3, float>`. A parameter list selects an overload:
    /// `scale(float*, int)`. Errors: not_found lists the kernels that exist, or those that the name
    /// may mean.
    [[nodiscard]] Result<UntypedKernel> kernel(std::string_view name) const;

    /// The same with the signature verified: `kernel<void(float, float*, int)>("saxpy")`.
    /// Errors also: signature_mismatch; not_supported if neither driver nor PTX gives the
    /// parameters.
    template <class Signature>
    [[nodiscard]] Result<Kernel<Signature>> kernel(std::string_view name) const {
        return kernel(name).and_then([](UntypedKernel untyped) {
            return Kernel<Signature>::from_untyped(std::move(untyped));
        });
    }

    /// A variable by symbol, by name expression (`&ns::table`), or by its C++ name. Errors:
    /// not_found.
    [[nodiscard]] Result<GlobalVariable> global(std::string_view name) const;

    /// A `__device__` or `__constant__` variable as its elements: `global<float>("table")` for
    /// `float table[256]` has 256, and a scalar has one. Copies and fills of the span read and
    /// write the variable, with or without a stream; order those on a stream with the kernels that
    /// use it. The span is valid while the library is loaded. Errors: not_found; invalid_argument,
    /// with both sizes, if the variable isn't a whole number of elements or isn't aligned for T.
    template <class T>
    [[nodiscard]] Result<DeviceSpan<T>> global(std::string_view name) const {
        return typed_global(name, sizeof(T), alignof(T)).map([](detail::TypedVariable variable) {
            return DeviceSpan<T>(variable.memory, variable.count);
        });
    }
    /// The same for a variable of `count` elements. Errors: also invalid_argument if it has another
    /// size.
    template <class T>
    [[nodiscard]] Result<DeviceSpan<T>> global(std::string_view name, std::size_t count) const {
        return global<T>(name).and_then([&](DeviceSpan<T> span) -> Result<DeviceSpan<T>> {
            if (auto same = check_count(name, sizeof(T), span.size(), count); !same)
                return tl::unexpected<Error>(std::move(same).error());
            return span;
        });
    }

    /// A `__managed__` variable (cuLibraryGetManaged), which host and device access at the same
    /// address. Kernels accept the span's data(). The host may access it while no work on the
    /// device is running, so sync() first; on devices with DeviceProperties::managed_memory only.
    /// Valid while the library is loaded. Errors: those of global(); not_found for a variable that
    /// isn't managed; not_supported by the device or the driver.
    template <class T>
    [[nodiscard]] Result<std::span<T>> managed(std::string_view name) const {
        return typed_managed(name, sizeof(T), alignof(T)).map([](detail::TypedVariable variable) {
            return std::span<T>(reinterpret_cast<T*>(variable.memory.address), variable.count);
        });
    }

    /// Copies `bytes` bytes from host memory to the start of a variable. Waits for all work on the
    /// device, then for the copy. Errors: not_found; invalid_argument if `bytes` exceeds its size.
    [[nodiscard]] Status write_global(std::string_view name, const void* from,
                                      std::size_t bytes) const;
    /// Copies `bytes` bytes from the start of a variable to host memory; waits as write_global()
    /// does and has the same errors.
    [[nodiscard]] Status read_global(std::string_view name, void* to, std::size_t bytes) const;

    /// The image as it was loaded; lives as long as the library.
    [[nodiscard]] const Image& image() const noexcept;
    /// Messages of the driver's compiler and loader; often empty.
    [[nodiscard]] const std::string& load_log() const noexcept;
    /// The driver's handle, still owned by the library; nullptr when empty.
    [[nodiscard]] NativeLibrary native() const noexcept;

    /// For lode's own components, not for hosts.
    explicit Library(std::shared_ptr<const detail::LibraryState> state) noexcept
        : state_(std::move(state)) {}
    /// For lode's own components, not for hosts.
    [[nodiscard]] const std::shared_ptr<const detail::LibraryState>& state() const noexcept {
        return state_;
    }

private:
    [[nodiscard]] Result<detail::TypedVariable> typed_global(std::string_view name,
                                                             std::size_t size,
                                                             std::size_t align) const;
    [[nodiscard]] Result<detail::TypedVariable> typed_managed(std::string_view name,
                                                              std::size_t size,
                                                              std::size_t align) const;
    [[nodiscard]] static Status check_count(std::string_view name, std::size_t size,
                                            std::size_t has, std::size_t wanted);
    std::shared_ptr<const detail::LibraryState> state_;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
