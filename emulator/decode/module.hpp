// Module: checked PTX with its variables in memory and its kernels decoded on demand.
#pragma once

#include "emulator/decode/line_source.hpp"
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

/// A line of a source file.
struct SourcePlace {
    std::string file;
    std::uint32_t line = 0;
};

/// One parameter of a kernel, as returned by cuKernelGetParamInfo. All sizes are in bytes.
struct Parameter {
    std::uint32_t offset = 0;
    std::uint32_t size = 0;
    std::uint32_t align = 1;
    bool pointer = false;  ///< Declared with .ptr.
};

/// An unsupported form, found in a kernel or in a function that the kernel may call.
struct Refusal {
    std::string opcode;  ///< For example "wmma.load.a.sync.aligned.row.m16n16k16.global.f16".
    std::uint32_t ptx_line = 0;
    std::string source;   ///< For example "file.cu:12"; empty without line information.
    std::string message;  ///< The complete sentence.
};

struct KernelInfo {
    std::string name;
    std::vector<Parameter> parameters;
    std::uint32_t parameter_bytes = 0;
    std::uint32_t static_shared = 0;  ///< Bytes per block, without dynamic shared memory.
    /// Bytes per thread, without called functions; capped at 2^31 - 1 if `too_large` is set.
    std::uint32_t local_bytes = 0;
    std::uint32_t constant_bytes = 0;      ///< Total size of the module's .const variables.
    std::uint32_t registers = 0;           ///< An estimate from the size of the frame, 16 to 255.
    Dim3 max_ntid{0, 0, 0};                ///< .maxntid; zeros when absent.
    Dim3 required_ntid{0, 0, 0};           ///< .reqntid; zeros when absent.
    std::uint32_t min_blocks_per_sm = 0;   ///< .minnctapersm; 0 when absent.
    Dim3 required_cluster{0, 0, 0};        ///< .reqnctapercluster; zeros when absent.
    bool explicit_cluster = false;         ///< .explicitcluster: a launch needs a cluster.
    std::uint32_t max_cluster_blocks = 0;  ///< .maxclusterrank; 0 when absent.
    std::uint64_t warp_bytes = 0;  ///< Host memory for the registers and local memory of one warp.
    /// Why the kernel needs too much memory to be launched, as a sentence; usually empty.
    std::string too_large;
};

/// The limit for a thread's local memory, in bytes. The CUDA C++ Programming Guide, "Technical
/// Specifications per Compute Capability", says 512 KiB; an H200 accepts at most 511 KiB.
inline constexpr std::uint32_t max_local_bytes = 511 * 1024;
/// The limit for the host memory of a launch's registers, local memory and shared memory.
inline constexpr std::uint64_t max_launch_bytes = std::uint64_t{4} << 30;

struct Global {
    std::string name;
    std::uint64_t address = 0;
    std::size_t bytes = 0;
    bool constant = false;
    bool is_managed = false;
};

enum class LoadStatus : std::uint8_t {
    ok,
    invalid_ptx,          ///< A syntax error or an undefined name; the log gives the line. (218)
    unsupported_version,  ///< The .version is newer than LoadOptions::newest_ptx. (222)
    wrong_target,         ///< The .target requires a higher or a different architecture. (218)
    unresolved_symbol,    ///< An .extern that is defined nowhere. (301, or 218 in cuModuleLoadData)
    out_of_memory,        ///< No room for the module's variables. (2)
};

class Module;

struct LoadOptions {
    int owner = 0;         ///< Owner tag of the module's variables in Memory.
    std::string label;     ///< The module's name in reports; "module" when empty.
    int newest_ptx = 900;  ///< The newest supported .version, 100 * major + minor.
    /// Bytes available for variables.
    std::uint64_t room = ~std::uint64_t{0};
    /// Registers whose lives don't overlap share memory, and those that only addresses need may
    /// have none; false for a debugger, which reads them by their names.
    bool shares_slots = true;
    /// For the check of synchronisation: what a shuffle takes from an absent lane is reported where
    /// it is used; otherwise at the shuffle, used or not.
    bool follows_shuffles = false;
    /// Asked when a place in a function without lines of its own has to be named; may be null.
    std::shared_ptr<LineSource> lines = {};
};

struct LoadOutcome {
    LoadStatus status = LoadStatus::ok;
    std::unique_ptr<Module> module;  ///< Set on success.
    std::string log;                 ///< Text for the JIT error log; empty on success.
    std::uint32_t ptx_line = 0;      ///< Line of the first error; 0 if there is none.
};

/// Loaded PTX with its variables in memory. Loading succeeds even if kernels contain unsupported
/// forms; such a kernel is refused individually when it is requested. The const members are
/// thread-safe. The Memory must outlive the Module, which releases its variables when destroyed.
class Module {
public:
    /// `text` is the PTX; `cc_major` and `cc_minor` are the architecture of the loading device.
    static LoadOutcome load(Memory& memory, std::string_view text, int cc_major, int cc_minor,
                            const LoadOptions& options = {});
    ~Module();
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    [[nodiscard]] const std::vector<std::string>& kernel_names() const noexcept;
    /// The properties of one kernel, which is decoded on first use; nullptr when the module has no
    /// such kernel. Also available for a refused kernel. Valid for the module's lifetime.
    [[nodiscard]] const KernelInfo* kernel(std::string_view name) const;
    /// Why a kernel can't run; nullptr when it can or doesn't exist. Valid for the module's
    /// lifetime.
    [[nodiscard]] const Refusal* refusal(std::string_view name) const;

    /// Memory used by the variables, including the gaps between them.
    [[nodiscard]] std::uint64_t variable_bytes() const noexcept;
    /// Variables in .global and .const space, in source order.
    [[nodiscard]] const std::vector<Global>& globals() const noexcept;
    [[nodiscard]] const Global* global(std::string_view name) const;

    struct Body;
    [[nodiscard]] const Body& body() const noexcept { return *body_; }

private:
    explicit Module(std::unique_ptr<Body> body) noexcept;
    std::unique_ptr<Body> body_;
};

}  // namespace lode::emulator
