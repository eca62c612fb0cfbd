// The emulated machine: devices, memory and tables of live handles.
#pragma once

#include "emulator/devices/profiles.hpp"
#include "emulator/driver/abi.hpp"
#include "emulator/driver/code/code.hpp"
#include "emulator/driver/code/link_state.hpp"
#include "emulator/driver/context/context.hpp"
#include "emulator/driver/context/green_context.hpp"
#include "emulator/driver/graph/graph_exec.hpp"
#include "emulator/driver/handles.hpp"
#include "emulator/driver/images/arrays.hpp"
#include "emulator/driver/memory/allocations.hpp"
#include "emulator/driver/memory/external.hpp"
#include "emulator/driver/memory/ipc.hpp"
#include "emulator/driver/memory/managed_hints.hpp"
#include "emulator/driver/memory/pool_places.hpp"
#include "emulator/driver/memory/virtual_memory.hpp"
#include "emulator/driver/stream/stream.hpp"
#include "emulator/exec/machine.hpp"
#include "emulator/memory/memory.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace lode::emulator::debug {
class Debugger;
}

namespace lode::emulator::driver {

/// The CUDA version that the emulator implements.
inline constexpr int own_driver_version = 13050;

/// Settings from the environment for every launch.
struct Settings {
    exec::Checks checks;
    std::uint64_t seed = 0;
    unsigned workers = 0;
    bool findings_fail = true;     ///< Findings of all checks are errors, not only logged.
    std::uint64_t timeout_ms = 0;  ///< Limit of each launch; 0: none.
    bool timeout_is_default = false;
    bool launches_wait = false;           ///< CUDA_LAUNCH_BLOCKING
    debug::Debugger* debugger = nullptr;  ///< With LODE_EMULATOR_DEBUG.
};

/// The UUID of the device with this index in the machine. Its beginning differs from device to
/// device, so that CUDA_VISIBLE_DEVICES can have a short one.
CUuuid uuid_of(const Profile& profile, int index) noexcept;

/// One emulated device. Its primary context always exists and is open while it has references.
struct Device {
    Device(Memory& memory, const Profile& its_profile, int its_index, int its_ordinal,
           unsigned workers);

    const Profile& profile;
    const int index;    ///< In the machine, whatever CUDA_VISIBLE_DEVICES is.
    const int ordinal;  ///< Among the visible devices.
    exec::Machine machine;
    std::shared_ptr<Context> primary;
    std::mutex primary_mutex;  ///< Guards the references, opening and ending.
    int primary_references = 0;
    std::shared_ptr<MemoryPool> default_pool;
    std::atomic<CUmemoryPool> pool{nullptr};   ///< The pool that cuMemAllocAsync uses.
    std::shared_ptr<MemoryPool> graph_memory;  ///< The account of memory that graphs allocate.

    /// The value of a CUdevice_attribute, if there is such a one.
    [[nodiscard]] std::optional<int> attribute(int which) const noexcept;
    /// The size of the device's memory in bytes.
    [[nodiscard]] std::size_t total_memory() const noexcept { return std::size_t{16} << 30; }
};

/// The state between cuInit and the end of the process, or a reset by the test interface.
struct Driver {
    std::mutex init_mutex;
    std::atomic<bool> initialised{false};
    Settings settings;
    Memory memory;
    std::vector<std::unique_ptr<Device>> devices;  ///< The visible ones.
    /// CUDA_VISIBLE_DEVICES hides no device: see lode_emulator_show_all().
    std::atomic<bool> shows_all{false};
    /// Set by the test interface; empty means LODE_EMULATOR_DEVICES.
    std::optional<std::vector<const Profile*>> machine;
    std::atomic<int> next_context_id{1};
    std::atomic<long> leaks{0};
    std::atomic<std::uint64_t> child_launches{0};  ///< Launches by kernels that have run.
    std::atomic<bool> lines_hinted{false};         ///< A report has said how to get source lines.

    Handles<Context, CUcontext> contexts;  ///< Created contexts and open primary contexts.
    std::atomic<long> created_contexts{0};
    Handles<Stream, CUstream> streams;
    Handles<Event, CUevent> events;
    Handles<Library, CUlibrary> libraries;
    Handles<LibraryKernel, CUkernel> kernels;
    Handles<LoadedModule, CUmodule> modules;  ///< Includes those inside libraries.
    Handles<Function, CUfunction> functions;
    Handles<ResourceDescription, CUdevResourceDesc> resource_descriptions;
    Handles<GreenContext, CUgreenCtx> green_contexts;
    Handles<MemoryPool, CUmemoryPool> pools;  ///< Includes the default pools.
    PoolPlaces pool_places;
    Handles<Array, CUarray> arrays;  ///< Includes the levels of mipmapped arrays.
    Handles<LinkState, CUlinkState> links;
    Handles<MipmappedArray, CUmipmappedArray> mipmapped_arrays;
    Handles<ImageObject, CUtexObject> images;  ///< Texture and surface objects.
    Allocations allocations{memory};
    ManagedHints managed_hints;
    VirtualMemory virtual_memory{memory};
    Imports imports{memory};
    Handles<ExternalMemory, CUexternalMemory> external_memory;
    Handles<ExternalSemaphore, CUexternalSemaphore> external_semaphores;
    Handles<PhysicalMemory, CUmemGenericAllocationHandle> physical_memory;
    GraphTables graph_tables;
    std::shared_ptr<StreamOrder> order;  ///< For the check `streams`; else null.

    /// Implements cuInit: reads the environment and creates the devices.
    CUresult initialise();
    /// nullptr if there is no such device.
    [[nodiscard]] Device* device(CUdevice ordinal) noexcept;
    /// Lets every pool release what it doesn't use, down to its threshold: a synchronisation does.
    void trim_pools() const;
};

/// The limit of each launch where LODE_EMULATOR_TIMEOUT isn't set and findings are collected.
void set_default_timeout(std::uint64_t milliseconds) noexcept;

/// The current machine, made on first use. Never destroyed at process exit, because threads may
/// still be using it.
Driver& driver();
/// Whether the machine exists and cuInit has succeeded.
bool is_initialised() noexcept;

/// Replaces the machine once its work is done; handles of the old one become invalid.
void replace_driver(std::optional<std::vector<const Profile*>> machine);
/// Counts replacements, so that threads can discard state from an older machine.
std::uint64_t driver_generation() noexcept;

}  // namespace lode::emulator::driver
