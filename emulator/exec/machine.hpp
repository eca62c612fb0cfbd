// Machine: runs a Module's kernels on the CPU.
//
// The driver's C ABI includes only this header of the executor.
#pragma once

#include "emulator/decode/module.hpp"
#include "emulator/exec/device_runtime.hpp"
#include "emulator/memory/touched_bytes.hpp"

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

/// Why this CPU can't run the executor, as a sentence; empty if it can. On x86, the handlers
/// require x86-64-v3. Call it once, before anything else.
[[nodiscard]] std::string unsupported_processor();

/// The outcome of a launch. The values are those of CUresult.
enum class Fault : int {
    none = 0,
    invalid_value = 1,
    out_of_memory = 2,  ///< The host has no memory for the state of the kernel's threads.
    illegal_address = 700,
    launch_out_of_resources = 701,
    launch_timeout = 702,
    assert_failed = 710,
    hardware_stack = 714,
    illegal_instruction = 715,
    misaligned_address = 716,
    invalid_pc = 718,
    launch_failed = 719,
    cooperative_too_large = 720,
    refused = 801,  ///< The kernel has a Refusal (CUDA_ERROR_NOT_SUPPORTED).
};

struct Checks {
    bool memory = true;  ///< Bounds, alignment, use after free.
    bool race = false;   ///< Accesses to shared and global memory that nothing orders.
    /// Reads of shared memory that the block hasn't written and, after Memory::watch_writes(), of
    /// unwritten device memory.
    bool init = false;
    bool sync = false;  ///< Wrong use of barriers, warp operations and mbarriers.
    /// Operations that touch the same bytes, although nothing orders them. It is the caller's,
    /// which sets LaunchOptions::touched.
    bool streams = false;
};

/// One finding of the checks.
struct FindingReport {
    std::string_view kind;    ///< For example "race", "benign-race", "unwritten", "fault".
    std::string_view kernel;  ///< Valid during the call.
    bool benign = false;      ///< Worth knowing, and no error.
    /// The headline, "file.cu:12: kernel does what", and the facts below it, indented, one a line.
    std::string text;
    Dim3 thread, block;
    std::uint32_t ptx_line = 0;
    std::string code;  ///< The instruction: "ld.global.f32" or "ld.global.f32 in function f".
    /// The source line, then the calls that inlined it; may be empty.
    std::vector<SourcePlace> stack;
    std::vector<SourcePlace> earlier;  ///< Likewise for the earlier access of a race.
    std::uint32_t number = 0;          ///< Among the findings of the launch, from 0.
    std::uint64_t count = 1;           ///< How often it has been found since it was told.

    operator std::string_view() const noexcept { return text; }  // NOLINT: it stands for its text.
};

/// A function's name for a headline: demangled, without parameters, and not long.
[[nodiscard]] std::string brief_name(std::string_view symbol);

class DebugHook;

struct LaunchOptions {
    bool cooperative = false;  ///< All blocks are resident at once.
    Checks checks;
    /// 0: fixed order (convergence groups by program counter, warps and blocks by index). Other
    /// values seed a random order of groups, warps and blocks.
    std::uint64_t seed = 0;
    unsigned workers = 0;  ///< 0: all of the machine's. 1: deterministic.
    /// Local memory per thread in bytes, including calls; exceeding it is hardware_stack.
    std::uint32_t stack_limit = 256 * 1024;
    std::size_t heap_limit = std::size_t{8} << 20;  ///< Limit of malloc inside kernels, in bytes.
    std::chrono::milliseconds timeout{0};           ///< 0: none. Exceeding it is launch_timeout.
    std::chrono::milliseconds time_used{0};         ///< What grids before this one took of it.
    std::string_view timeout_fact;                  ///< A line for the report of that.
    /// Approximate number of warp instructions per worker. 0: none. Exceeding it is launch_timeout.
    std::uint64_t instruction_limit = 0;
    /// %nsmid; %smid is always less.
    std::uint32_t multiprocessors = 1;
    /// Compiles a region of ops after it has run this many times with all lanes, once for launches
    /// with the checks `race`, `init` or `streams` and once for others. 0: never.
    std::uint32_t compile_after = 32;
    TouchedBytes* touched =
        nullptr;  ///< If set, receives what the launch touches in global memory.
    const std::atomic<bool>* cancel = nullptr;  ///< Polled; true is launch_timeout.
    /// Receives the text of each printf. Calls are serialised but may come from any worker's
    /// thread; the function must not launch kernels. Null discards the text.
    std::function<void(std::string_view)> print;
    /// Receives the text of each failed assert, a line for each thread; otherwise like `print`.
    std::function<void(std::string_view)> complain;
    /// Receives each finding that doesn't stop the kernel when it is found first. Those with the
    /// same headline and the same places in the code are one.
    std::function<void(const FindingReport&)> finding;
    /// Receives, at the end of the launch, each of them that was found again.
    std::function<void(const FindingReport&)> repeated;
    /// Makes a load or store of a wrong address a finding: those lanes store nothing and load
    /// zeros.
    bool skips_bad_accesses = false;
    /// The most findings of one kind that are reported; the others are only counted.
    std::uint32_t most_findings = 256;
    /// Sets the value of a conditional node's handle; false if there is no such handle. Any
    /// worker's thread calls it, also concurrently.
    std::function<bool(std::uint64_t handle, std::uint32_t value)> set_condition;
    /// Takes what the kernel asks of the device runtime. Null: such a call is `refused`.
    DeviceRuntime* device_runtime = nullptr;
    /// Is called before every op, on the thread that runs it. Such a launch should have one worker
    /// and compile nothing. May be null.
    DebugHook* debug = nullptr;
};

struct LaunchOutcome {
    Fault fault = Fault::none;
    std::string report;  ///< A finding's text, a sentence about the launch, or empty.
    std::uint64_t warp_instructions = 0;  ///< PTX instructions executed by warps.
    std::uint64_t findings = 0;  ///< Number of findings, including those that weren't told.
    /// The fault's place, with the report as its text; the kind is empty if there is none.
    FindingReport place;
};

/// A pool of worker threads that runs kernels. Launches from several threads are serialised.
/// Threads start with the first launch that needs them and end with the Machine. A child of fork()
/// must create its own Machine.
class Machine {
public:
    /// `workers`: 0 means one per processor.
    explicit Machine(Memory& memory, unsigned workers = 0);
    ~Machine();
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    /// Runs a kernel to completion. `parameters` are the bytes of the parameter block, at least
    /// KernelInfo::parameter_bytes of them. The grid, the number of threads per block, .reqntid,
    /// .maxntid and the cluster are checked here (invalid_value); the caller must check the other
    /// device limits, such as shared memory.
    [[nodiscard]] LaunchOutcome launch(const Module& module, std::string_view name,
                                       const GridShape& shape,
                                       std::span<const std::byte> parameters,
                                       const LaunchOptions& options = {});

    /// The number of threads available to a launch, including the caller's.
    [[nodiscard]] unsigned workers() const noexcept;

private:
    struct Pool;
    Memory& memory_;
    std::unique_ptr<Pool> pool_;
};

}  // namespace lode::emulator::exec
