// The state of a loaded image.
#pragma once

#include "runtime/state/device_state.hpp"

#include <lode/base/image.hpp>
#include <lode/runtime/library.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace LODE_NAMESPACE::detail {

/// The buffers that the driver's compiler and loader write to while loading and, with lazy loading,
/// perhaps later; so they live as long as the library.
struct LoadLog {
    static constexpr std::size_t capacity = std::size_t{16} * 1024;

    std::array<char, capacity> information{};
    std::array<char, capacity> errors{};

    /// Both texts, errors first; empty if the driver wrote nothing.
    [[nodiscard]] std::string text() const;
};

struct KernelState;

struct LibraryState {
    LibraryState(std::shared_ptr<DeviceState> owner, std::shared_ptr<const Image> loaded)
        : device(std::move(owner)), image(std::move(loaded)) {}
    ~LibraryState() { unload(); }
    LibraryState(const LibraryState&) = delete;
    LibraryState& operator=(const LibraryState&) = delete;

    void unload() noexcept;

    const std::shared_ptr<DeviceState> device;
    std::shared_ptr<const Image> image;  ///< Never null; immutable once the library is loaded.
    std::unique_ptr<LoadLog> buffers;
    std::string log;
    CUlibrary handle = nullptr;
    /// What the software device compiles with line information if it has to name a place in the
    /// code. It may read them until the library is unloaded.
    DeviceLines::Requests line_requests;

    /// The kernels found so far and still in use, by the name that was asked for.
    mutable std::mutex kernels_mutex;
    mutable std::map<std::string, std::weak_ptr<const KernelState>, std::less<>> kernels;
    /// The limit of dynamic shared memory that each kernel's code has been given, in bytes: one
    /// kernel can be found under several names. Guarded by kernels_mutex.
    mutable std::map<CUkernel, std::uint32_t> shared_limits;
};

/// Loads machine code or PTX, depending on the device and the options.
[[nodiscard]] Result<std::shared_ptr<const LibraryState>> load_library(
    std::shared_ptr<DeviceState> device, std::shared_ptr<const Image> image,
    const LoadOptions& options);

/// What load_library() gives the driver first; PTX with its final NUL.
[[nodiscard]] Result<std::span<const std::byte>> code_for_driver(const Image& image,
                                                                 const DeviceState& device);

/// The kernels' symbols: from the driver if it can list them, else from the image's PTX.
[[nodiscard]] Result<std::vector<std::string>> kernel_names(const LibraryState& library);

}  // namespace LODE_NAMESPACE::detail
