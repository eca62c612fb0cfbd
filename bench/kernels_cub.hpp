// CUB as a peer in bench/kernels: a shared library that nvcc builds, loaded if it is there.
#pragma once

#include "peers/cub_peer.h"

#include <lode/base/error.hpp>
#include <lode/runtime/device.hpp>
#include <lode/runtime/stream.hpp>

#include <cstddef>
#include <optional>
#include <string>

namespace lode::bench {

/// CUB on one device. A copy calls the same library, which stays loaded.
class Cub {
public:
    /// Loads liblode_cub_peer.so from the program's folder. Errors: not_found with the path and the
    /// reason.
    static Result<Cub> open(const Device& device);

    /// CUB's version, such as "3.0.1".
    [[nodiscard]] std::string version() const;

    /// A call with the memory that it needs. Not thread-safe. The strings of the call must be
    /// static, and its buffers must outlive this object.
    class Prepared {
    public:
        /// Enqueues the call. Errors: driver_failed with the runtime's status.
        [[nodiscard]] Status launch(StreamRef stream);

    private:
        friend class Cub;
        Prepared(const Cub& cub, const lode_cub_call& call, std::size_t bytes,
                 DeviceBuffer<std::byte> scratch);

        Device device_;
        decltype(&lode_cub_peer) function_;
        lode_cub_call call_;
        std::size_t bytes_;
        DeviceBuffer<std::byte> scratch_;
    };

    /// Allocates what the call needs. Errors: not_supported if the library lacks the algorithm or
    /// the type; those of the allocation.
    [[nodiscard]] Result<Prepared> prepare(const lode_cub_call& call) const;

private:
    Cub(Device device, decltype(&lode_cub_peer) function, int version)
        : device_(std::move(device)), function_(function), version_(version) {}

    Device device_;
    decltype(&lode_cub_peer) function_;
    int version_;
};

}  // namespace lode::bench
