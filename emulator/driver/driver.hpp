// The emulated machine: devices, memory and the tables of live handles.
#pragma once

#include "emulator/devices/profiles.hpp"
#include "emulator/driver/abi.hpp"
#include "emulator/driver/allocations.hpp"
#include "emulator/driver/code.hpp"
#include "emulator/driver/context.hpp"
#include "emulator/driver/handles.hpp"
#include "emulator/driver/stream.hpp"
#include "emulator/exec/machine.hpp"
#include "emulator/memory/memory.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace lode::emulator::driver {

/// The CUDA version that the emulator offers.
inline constexpr int own_driver_version = 13000;

/// What the environment asks of every launch.
struct Settings {
    exec::Checks checks;
    std::uint64_t seed = 0;
    unsigned workers = 0;
    bool findings_fail = true;  ///< What race and init find is an error, not only a log line.
};

/// One emulated device. Its primary context exists always and is open while it has references.
struct Device {
    Device(Memory& memory, const Profile& its_profile, int its_ordinal, unsigned workers);

    const Profile& profile;
    const int ordinal;
    exec::Machine machine;
    std::shared_ptr<Context> primary;
    std::mutex primary_mutex;  ///< Guards the references and the opening and ending.
    int primary_references = 0;
    std::shared_ptr<MemoryPool> default_pool;
    std::atomic<CUmemoryPool> pool{nullptr};  ///< The one that cuMemAllocAsync uses.

    /// Bytes that the device seems to have.
    [[nodiscard]] std::size_t total_memory() const noexcept { return std::size_t{16} << 30; }
};

/// Everything between cuInit and the end of the process, or a reset by the test instrument.
struct Driver {
    std::mutex init_mutex;
    std::atomic<bool> initialised{false};
    Settings settings;
    Memory memory;
    std::vector<std::unique_ptr<Device>> devices;
    /// Set by the test instrument; LODE_EMULATOR_DEVICES otherwise.
    std::optional<std::vector<const Profile*>> machine;
    std::atomic<int> next_context_id{1};
    std::atomic<long> leaks{0};

    Handles<Context, CUcontext> contexts;  ///< Created ones and open primary ones.
    std::atomic<long> created_contexts{0};
    Handles<Stream, CUstream> streams;
    Handles<Event, CUevent> events;
    Handles<Library, CUlibrary> libraries;
    Handles<Kernel, CUkernel> kernels;
    Handles<LoadedModule, CUmodule> modules;  ///< Also those inside libraries.
    Handles<Function, CUfunction> functions;
    Handles<MemoryPool, CUmemoryPool> pools;  ///< Also the default ones.
    Allocations allocations{memory};

    /// What cuInit does: reads the environment and builds the devices.
    CUresult initialise();
    /// nullptr when there is no such device.
    [[nodiscard]] Device* device(CUdevice ordinal) noexcept;
};

/// The machine now. Never destroyed at the end of the process: threads may still be using it.
Driver& driver() noexcept;

/// Replaces the machine after its work is done; handles of the old one are dead.
void replace_driver(std::optional<std::vector<const Profile*>> machine);
/// Counts replacements: what a thread remembers of an older machine is void.
std::uint64_t driver_generation() noexcept;

}  // namespace lode::emulator::driver
