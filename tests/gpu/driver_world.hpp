// One driver with a context and one object of each kind, and the calls to make on it.
#pragma once

#include "runtime/driver/driver_state.hpp"
#include "tests/gpu/driver_handles.hpp"

#include <lode/runtime/driver.hpp>

#include <array>
#include <functional>
#include <string_view>
#include <vector>

namespace lode::test {

/// The objects that the calls use. The context is current while this object lives.
class DriverWorld : public DriverHandles {
public:
    /// The owner of the context: the device's primary context, or one that the program creates.
    enum class Owner : bool { device, program };
    explicit DriverWorld(const Driver& driver, Owner owner = Owner::device);
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

    /// Destroys a context that the program owns.
    void destroy_context();

    [[nodiscard]] const Driver& driver() const noexcept { return driver_; }

    const detail::DriverTable& t;
    CUevent unrecorded = nullptr;
    CUevent timeless = nullptr;  ///< Recorded; has CU_EVENT_DISABLE_TIMING.
    std::array<unsigned char, bytes> host{};

private:
    const Driver driver_;
    const Owner owner_;
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
