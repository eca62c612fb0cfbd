// Loaded code: libraries with kernels, modules with functions.
#pragma once

#include "emulator/driver/abi.hpp"
#include "emulator/driver/handles.hpp"
#include "emulator/driver/journal.hpp"
#include "emulator/exec/machine.hpp"

#include <lode/base/image.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace lode::emulator::driver {

class Context;
class Library;
class LoadedModule;

/// Settings of a function or, for every device, of a kernel.
struct FunctionSettings {
    std::atomic<int> max_dynamic_shared{-1};  ///< Bytes; -1: as much as fits in 48 KiB.
    std::atomic<int> carveout{-1};
    std::atomic<int> cache_config{0};
    std::atomic<int> nonportable_cluster{0};
    std::atomic<int> cluster_scheduling{0};
};

/// What a launch by cuLaunchGrid has, set by calls before it.
struct StagedLaunch {
    std::mutex mutex;
    Dim3 block{1, 1, 1};
    unsigned shared_bytes = 0;
    std::size_t parameter_bytes = 0;
    std::vector<std::byte> parameters;
};

/// A kernel of a module in a context. It keeps the module's code alive; the module holds its
/// functions until forget_module().
class Function : public Handled {
public:
    Function(std::shared_ptr<LoadedModule> module, const KernelInfo& info) noexcept
        : module_(std::move(module)), info_(info) {}
    [[nodiscard]] LoadedModule& module() const noexcept { return *module_; }
    [[nodiscard]] const std::shared_ptr<LoadedModule>& shared_module() const noexcept {
        return module_;
    }
    [[nodiscard]] const KernelInfo& info() const noexcept { return info_; }
    FunctionSettings settings;
    StagedLaunch staged;

private:
    const std::shared_ptr<LoadedModule> module_;
    const KernelInfo& info_;
};

/// PTX that is loaded into a context. Keeps the context alive. Thread-safe.
class LoadedModule : public Handled, public std::enable_shared_from_this<LoadedModule> {
public:
    LoadedModule(std::shared_ptr<Context> context, std::unique_ptr<Module> code,
                 const Library* library, int ptx_target) noexcept
        : context_(std::move(context)),
          code_(std::move(code)),
          library_(library),
          ptx_target_(ptx_target) {}

    [[nodiscard]] Context& context() const noexcept { return *context_; }
    [[nodiscard]] const Module& code() const noexcept { return *code_; }
    /// Whether it belongs to a library rather than to a cuModuleLoad call.
    [[nodiscard]] bool in_library() const noexcept { return library_ != nullptr; }
    /// The compute capability of the PTX's .target, for example 90.
    [[nodiscard]] int ptx_target() const noexcept { return ptx_target_; }

    /// The function for a kernel; always the same object for a name. NOT_FOUND if there is no such
    /// kernel; NOT_SUPPORTED (with the reason in the log) if it can't run.
    CUresult function(const char* name, std::shared_ptr<Function>& function);
    /// Moves out all functions; no others can be created afterwards.
    [[nodiscard]] std::vector<std::shared_ptr<Function>> take_functions();

private:
    const std::shared_ptr<Context> context_;
    std::unique_ptr<Module> code_;
    const Library* library_;  ///< For comparison only.
    const int ptx_target_;
    std::mutex mutex_;
    bool forgotten_ = false;
    std::map<std::string, std::shared_ptr<Function>, std::less<>> functions_;
};

/// A kernel of a library, independent of contexts.
class LibraryKernel : public Handled {
public:
    LibraryKernel(std::weak_ptr<Library> library, std::string name)
        : library_(std::move(library)), name_(std::move(name)) {}
    /// nullptr once the library has been unloaded.
    [[nodiscard]] std::shared_ptr<Library> library() const noexcept { return library_.lock(); }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// The kernel in a context; loads the library there if necessary.
    CUresult function(Context& context, std::shared_ptr<Function>& function);

private:
    std::weak_ptr<Library> library_;
    std::string name_;
};

/// The destinations of the JIT's logs, from a load's options.
struct JitLogs {
    std::string_view file = {};  ///< The image's file, for messages; empty if it is in memory.
    char* error = nullptr;
    std::size_t error_room = 0;
    void** error_size = nullptr;  ///< Option slot that receives the bytes written.
    char* information = nullptr;
    std::size_t information_room = 0;
    void** information_size = nullptr;
    void** wall_time = nullptr;

    void write(std::string_view text, bool failed, float milliseconds) const noexcept;
};

/// Measures the time since its construction.
class Stopwatch {
public:
    [[nodiscard]] float milliseconds() const noexcept {
        return std::chrono::duration<float, std::milli>(std::chrono::steady_clock::now() - start_)
            .count();
    }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Reads JIT options; INVALID_VALUE for unknown ones.
CUresult read_jit_options(unsigned count, const CUjit_option* options, void** values,
                          JitLogs& logs);

/// Writes why an image is refused to the logs and the journal; returns `code`. `lode emulate` fails
/// if it is unusable.
CUresult refuse_image(CUresult code, std::string_view why, const JitLogs& logs,
                      journal::Kind kind = journal::Kind::refusal);

/// How an error of a load or a link goes into the journal; a message about kernels that launch
/// kernels says so.
journal::Kind kind_of_load_error(std::string& message);

/// Reads a whole regular file; FILE_NOT_FOUND if there is none.
CUresult read_file(const char* path, std::string& content);

/// The PTX of an image: one text, or those of a fat binary.
class PtxTexts {
public:
    PtxTexts() = default;
    explicit PtxTexts(std::string text);
    /// Those of a fat binary, which messages call `place`. At least one; each is for its
    /// architecture and newer ones.
    PtxTexts(std::vector<lode::Image> images, std::string place);

    /// The text for a device: the newest that runs on it. nullptr if there is none; a single text
    /// that isn't from a fat binary is for every device.
    [[nodiscard]] const std::string* for_device(ComputeCapability cc) const noexcept;
    /// What the texts of a fat binary are for: "compute_90, compute_120".
    [[nodiscard]] std::string targets() const;
    [[nodiscard]] const std::string& place() const noexcept { return place_; }

private:
    std::vector<lode::Image> texts_;
    std::string place_;  ///< Empty unless they are of a fat binary.
};

/// Copies a caller's image if it is PTX or a fat binary with PTX. Otherwise returns
/// NO_BINARY_FOR_GPU for cubins, other fat binaries and LTO-IR, and INVALID_IMAGE for unknown
/// formats.
CUresult ptx_of_image(const void* image, PtxTexts& texts, const JitLogs& logs);

/// Loads PTX into a context. NO_BINARY_FOR_GPU if no text is for the context's device.
CUresult load_module(Context& context, const PtxTexts& texts, Library* library, const JitLogs& logs,
                     std::shared_ptr<LoadedModule>& module);

/// PTX that can be loaded into any context. Thread-safe.
class Library : public Handled, public std::enable_shared_from_this<Library> {
public:
    explicit Library(PtxTexts texts) : texts_(std::move(texts)) {}

    /// Loads into the first context whose device accepts the code, so that errors occur at load.
    CUresult check(const JitLogs& logs);
    /// A module in any context, for properties that don't depend on the context.
    CUresult any_module(std::shared_ptr<LoadedModule>& module);
    CUresult module(Context& context, std::shared_ptr<LoadedModule>& module);
    CUresult kernel(const char* name, std::shared_ptr<LibraryKernel>& kernel);
    [[nodiscard]] const std::vector<std::string>& kernel_names() const noexcept { return names_; }
    /// All kernels; creates missing ones.
    std::vector<std::shared_ptr<LibraryKernel>> kernels();

    /// Where the lines of code without any come from; unload() removes the hook.
    [[nodiscard]] const std::shared_ptr<LineSource>& lines() const noexcept { return lines_; }

    /// Removes its modules, functions and kernels from the handle tables.
    void unload();
    /// Removes those of one context, which is ending.
    void leave(const Context& context);

private:
    CUresult load_somewhere(const JitLogs& logs, std::shared_ptr<LoadedModule>& module);

    const PtxTexts texts_;
    const std::shared_ptr<LineSource> lines_ = std::make_shared<LineSource>();
    std::vector<std::string> names_;
    std::unordered_set<std::string_view> known_names_;  ///< Views of names_.
    std::mutex mutex_;
    std::map<int, std::shared_ptr<LoadedModule>> modules_;  ///< By context ID.
    std::map<std::string, std::shared_ptr<LibraryKernel>, std::less<>> kernels_;
};

/// Removes a module and its functions from the handle tables.
void forget_module(const std::shared_ptr<LoadedModule>& module);

}  // namespace lode::emulator::driver
