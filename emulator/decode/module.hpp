// Module: PTX text, checked, with its variables in memory and its kernels decoded on demand.
#pragma once

#include "emulator/memory/memory.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lode::emulator {

struct Dim3 {
    std::uint32_t x = 1, y = 1, z = 1;
    [[nodiscard]] std::uint64_t count() const noexcept { return std::uint64_t{x} * y * z; }
    bool operator==(const Dim3&) const = default;
};

/// One parameter of a kernel, as cuKernelGetParamInfo returns it. Bytes.
struct Parameter {
    std::uint32_t offset = 0;
    std::uint32_t size = 0;
    std::uint32_t align = 1;
    bool pointer = false;  ///< Declared .ptr, or a 64-bit slot that the kernel uses as an address.
};

/// A form that the executor doesn't run, found in a kernel or in a function that it may call.
struct Refusal {
    std::string opcode;  ///< "wmma.load.a.sync.aligned.row.m16n16k16.global.f16"
    std::uint32_t ptx_line = 0;
    std::string source;   ///< "file.cu:12", or empty without line information.
    std::string message;  ///< The whole sentence.
};

struct KernelInfo {
    std::string name;
    std::vector<Parameter> parameters;
    std::uint32_t parameter_bytes = 0;
    std::uint32_t static_shared = 0;  ///< Bytes a block, without dynamic shared memory.
    /// Bytes a thread, without called functions. At most 2^31 - 1, whatever `too_large` says.
    std::uint32_t local_bytes = 0;
    std::uint32_t constant_bytes = 0;     ///< The module's .const variables.
    std::uint32_t registers = 0;          ///< An estimate: the most 32-bit values alive at once.
    Dim3 max_ntid{0, 0, 0};               ///< .maxntid; zeros when absent.
    Dim3 required_ntid{0, 0, 0};          ///< .reqntid; zeros when absent.
    std::uint32_t min_blocks_per_sm = 0;  ///< .minnctapersm; 0 when absent.
    Dim3 required_cluster{0, 0, 0};       ///< .reqnctapercluster; zeros when absent.
    std::uint64_t warp_bytes = 0;  ///< Host memory for the registers and local memory of a warp.
    /// Why no launch of the kernel can have the memory that it needs, as a sentence; mostly empty.
    std::string too_large;
};

/// Local memory that a thread may have, in bytes. The CUDA C++ Programming Guide, "Technical
/// Specifications per Compute Capability", says 512 KiB; an H200 launches 511.
inline constexpr std::uint32_t max_local_bytes = 511 * 1024;
/// Host memory that the registers, local and shared memory of a launch's blocks may take at once.
inline constexpr std::uint64_t max_launch_bytes = std::uint64_t{4} << 30;

struct Global {
    std::string name;
    std::uint64_t address = 0;
    std::size_t bytes = 0;
    bool constant = false;
};

enum class LoadStatus : std::uint8_t {
    ok,
    invalid_ptx,          ///< A syntax error or an undefined name; the log has the line. (218)
    unsupported_version,  ///< The .version is newer than LoadOptions says. (222)
    wrong_target,         ///< The .target needs a higher or another architecture. (218)
    unresolved_symbol,    ///< An .extern that nothing defines. (301, or 218 in cuModuleLoadData)
    out_of_memory,        ///< No room for the module's variables. (2)
};

class Module;

struct LoadOptions {
    int owner = 0;         ///< Owner of the module's variables in Memory.
    std::string label;     ///< Names the module in reports; "module" when empty.
    int newest_ptx = 900;  ///< The newest .version to read, 100 * major + minor.
    /// Bytes of variables that the device has room for.
    std::uint64_t room = ~std::uint64_t{0};
};

struct LoadOutcome {
    LoadStatus status = LoadStatus::ok;
    std::unique_ptr<Module> module;  ///< Set when ok.
    std::string log;                 ///< Sentences for the JIT error log; empty when ok.
    std::uint32_t ptx_line = 0;      ///< Of the first error; 0 when there is none.
};

/// A loaded PTX text with its variables in memory. Loading keeps every kernel, also those with
/// unsupported forms: these are refused one by one, when somebody asks for them. The const members
/// are thread-safe. The Memory must outlive it; its variables are released with it.
class Module {
public:
    /// `cc_major`, `cc_minor`: the architecture of the device that loads it.
    static LoadOutcome load(Memory& memory, std::string_view ptx, int cc_major, int cc_minor,
                            const LoadOptions& options = {});
    ~Module();
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    [[nodiscard]] const std::vector<std::string>& kernel_names() const noexcept;
    /// Facts of one kernel, decoded on its first use; nullptr when the module has no such kernel.
    /// Given also for a refused kernel. Lives as long as the module.
    [[nodiscard]] const KernelInfo* kernel(std::string_view name) const;
    /// Why a kernel can't run; nullptr when it can or doesn't exist. Lives as long as the module.
    [[nodiscard]] const Refusal* refusal(std::string_view name) const;

    /// Memory that the variables take, with what lies between them.
    [[nodiscard]] std::uint64_t variable_bytes() const noexcept;
    /// Variables of .global and .const space, in the order of the text.
    [[nodiscard]] const std::vector<Global>& globals() const noexcept;
    [[nodiscard]] const Global* global(std::string_view name) const;

    struct Body;
    [[nodiscard]] const Body& body() const noexcept { return *body_; }

private:
    explicit Module(std::unique_ptr<Body> body) noexcept;
    std::unique_ptr<Body> body_;
};

}  // namespace lode::emulator
