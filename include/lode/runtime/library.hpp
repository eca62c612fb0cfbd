// Library: an image loaded into a driver, independent of any context (cuLibraryLoadData).
#pragma once

#include <lode/base/error.hpp>
#include <lode/base/image.hpp>
#include <lode/runtime/kernel.hpp>
#include <lode/runtime/native.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lode {

/// The driver's own compiler options, used where it compiles PTX; a cubin ignores most of them.
/// There is none for fast maths: that is decided when CUDA C++ becomes PTX.
struct LoadOptions {
    int max_registers = 0;        ///< Per thread; 0 leaves it to the driver.
    int optimization_level = -1;  ///< 0 … 4; -1 leaves it to the driver (4).
    bool line_info = false;
    bool debug = false;
    bool verbose_log = false;
    bool prefer_ptx = false;  ///< Load the image's PTX although it has a cubin.
};

namespace detail {
struct LibraryState;
}

/// A global variable of a library on one device: __device__ or __constant__.
struct GlobalVariable {
    NativeDevicePointer address = 0;
    std::size_t size = 0;  ///< Bytes.
};

/// Loaded code. Copies share it; kernels keep it alive; the last of them unloads it. Thread-safe.
class Library {
public:
    /// The kernels' symbols. not_supported before driver 12.4 unless the image has its PTX.
    [[nodiscard]] Result<std::vector<std::string>> kernel_names() const;

    /// A kernel by name expression or symbol. not_found lists the kernels that there are.
    [[nodiscard]] Result<UntypedKernel> kernel(std::string_view name) const;

    /// The same with its signature verified.
    template <class Signature>
    [[nodiscard]] Result<Kernel<Signature>> kernel(std::string_view name) const {
        return kernel(name).and_then([](UntypedKernel untyped) {
            return Kernel<Signature>::from_untyped(std::move(untyped));
        });
    }

    /// A variable by name expression ("&ns::table") or symbol.
    [[nodiscard]] Result<GlobalVariable> global(std::string_view name) const;

    /// Copies to or from a variable, waiting; `bytes` must not exceed its size.
    [[nodiscard]] Status write_global(std::string_view name, const void* from,
                                      std::size_t bytes) const;
    [[nodiscard]] Status read_global(std::string_view name, void* to, std::size_t bytes) const;

    [[nodiscard]] const Image& image() const noexcept;
    /// What the driver's compiler and loader said; often empty.
    [[nodiscard]] const std::string& load_log() const noexcept;
    [[nodiscard]] NativeLibrary native() const noexcept;

private:
    friend class Device;
    explicit Library(std::shared_ptr<const detail::LibraryState> state) noexcept
        : state_(std::move(state)) {}
    std::shared_ptr<const detail::LibraryState> state_;
};

}  // namespace lode
