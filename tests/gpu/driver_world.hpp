// One driver with a context and one object of each kind, and the calls to make on it.
#pragma once

#include "runtime/driver_state.hpp"

#include <lode/runtime/driver.hpp>

#include <array>
#include <functional>
#include <string_view>
#include <vector>

namespace lode::test {

/// The objects that the calls use. The primary context is current while this object lives.
class DriverWorld {
public:
    explicit DriverWorld(const Driver& driver);
    ~DriverWorld();
    DriverWorld(const DriverWorld&) = delete;
    DriverWorld& operator=(const DriverWorld&) = delete;

    /// Makes `call` while no context is current.
    CUresult without_context(const std::function<CUresult()>& call) const;
    /// Loads text or an image; unloads it again on success.
    CUresult load(const void* image) const;
    CUresult launch(unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                    unsigned block_y, unsigned block_z, unsigned shared) const;
    /// Launches one thread with cuLaunchKernelEx and one attribute.
    CUresult launch_with(const CUlaunchAttribute& attribute, unsigned blocks = 1) const;

    static constexpr std::size_t bytes = 1024;

    const detail::DriverTable& t;
    CUdevice device = 0;
    CUcontext context = nullptr;
    CUstream stream = nullptr;
    CUevent event = nullptr;  ///< Recorded.
    CUevent unrecorded = nullptr;
    CUevent timeless = nullptr;  ///< Recorded; has CU_EVENT_DISABLE_TIMING.
    CUdeviceptr memory = 0;      ///< `bytes` of it.
    void* pinned = nullptr;      ///< `bytes` of it.
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;  ///< k(unsigned long long address, unsigned value)
    CUfunction function = nullptr;
    std::array<unsigned char, bytes> host{};

private:
    std::shared_ptr<const detail::DriverState> keep_;
};

struct DriverCall {
    std::string_view entry_point;
    std::string_view what;
    std::function<CUresult(DriverWorld&)> run;
    bool refused = false;  ///< By the software device alone (docs/dev/emulator.md).
};

/// Calls of every entry point that lode uses and that both drivers have.
std::vector<DriverCall> driver_calls();

}  // namespace lode::test
