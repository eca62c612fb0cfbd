// Machine: runs the kernels of a Module on the processor.
//
// Of the executor, the driver's C ABI uses this header only.
#pragma once

#include "emulator/decode/module.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lode::emulator::exec {

/// Why this processor can't run the executor, as a sentence; empty when it can. Ask once, before
/// anything else: the handlers are compiled for x86-64-v3 on x86.
[[nodiscard]] std::string unsupported_processor();

/// How a launch ended. The values are CUDA's own codes (CUresult).
enum class Fault : int {
    none = 0,
    invalid_value = 1,
    out_of_memory = 2,  ///< The host has no room for the state of the kernel's threads.
    illegal_address = 700,
    launch_out_of_resources = 701,
    launch_timeout = 702,
    assert_failed = 710,
    hardware_stack = 714,
    illegal_instruction = 715,
    misaligned_address = 716,
    invalid_address_space = 717,
    invalid_pc = 718,
    launch_failed = 719,
    cooperative_too_large = 720,
    refused = 801,  ///< The kernel has a Refusal. (CUDA_ERROR_NOT_SUPPORTED)
};

struct Checks {
    bool memory = true;  ///< Bounds, alignment, use after free.
    bool race = false;   ///< Races on shared memory.
    /// Reads of shared memory that the block hasn't written and, where Memory::watch_writes() was
    /// called, of device memory that nothing has written.
    bool init = false;
};

struct LaunchOptions {
    bool cooperative = false;  ///< Every block is started before any block may spin for ever.
    Checks checks;
    /// 0: the fixed order (groups by program counter, warps and blocks by index). Anything else
    /// shuffles groups, warps and blocks by this seed.
    std::uint64_t seed = 0;
    unsigned workers = 0;  ///< 0: as many as the machine has. 1: deterministic.
    /// Bytes of local memory a thread may use, calls included; past it: hardware_stack.
    std::uint32_t stack_limit = 256 * 1024;
    std::size_t heap_limit = std::size_t{8} << 20;  ///< Of malloc inside kernels, in bytes.
    std::chrono::milliseconds timeout{0};           ///< 0: none. Past it: launch_timeout.
    /// Of warps, about, counted for each worker. 0: none. Past it: launch_timeout.
    std::uint64_t instruction_limit = 0;
    /// %smid counts to this, and %nsmid is it.
    std::uint32_t multiprocessors = 1;
    const std::atomic<bool>* cancel = nullptr;  ///< Looked at now and then; true: launch_timeout.
    /// Gets the text of each printf. Calls come one at a time, from any worker's thread; it must
    /// not launch. Null drops the text.
    std::function<void(std::string_view)> print;
    /// Gets one message for each finding that doesn't stop the kernel (races, uninitialised reads).
    std::function<void(std::string_view)> finding;
};

struct LaunchShape {
    Dim3 grid, block;
    std::uint32_t dynamic_shared = 0;  ///< Bytes.
};

struct LaunchOutcome {
    Fault fault = Fault::none;
    std::string report;  ///< Kernel, file:line, thread, block, allocation, distance; empty if none.
    std::uint64_t warp_instructions = 0;  ///< PTX instructions that warps ran.
    std::uint64_t findings = 0;           ///< How many findings were made, reported or not.
};

/// A pool of worker threads that runs kernels. Launches from several threads take turns. The
/// threads start on the first launch that has work for them and end with the Machine; a child of
/// fork() must make its own.
class Machine {
public:
    /// `workers`: 0 for one a processor.
    explicit Machine(Memory& memory, unsigned workers = 0);
    ~Machine();
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    /// Runs a kernel to its end. `parameters` are the bytes of the parameter block, at least
    /// KernelInfo::parameter_bytes long. The limits of a device (threads a block, shared memory)
    /// are the caller's to check; .reqntid and .maxntid are checked here (invalid_value).
    [[nodiscard]] LaunchOutcome launch(const Module& module, std::string_view kernel,
                                       const LaunchShape& shape,
                                       std::span<const std::byte> parameters,
                                       const LaunchOptions& options = {});

    /// Threads that a launch with no limit of its own may use, the caller's included.
    [[nodiscard]] unsigned workers() const noexcept;

private:
    struct Pool;
    Memory& memory_;
    std::unique_ptr<Pool> pool_;
};

}  // namespace lode::emulator::exec
