// A scripted CUDA driver in this process: needs no GPU or library, and records every call.
#pragma once

#include "runtime/driver/table.hpp"

#include <lode/base/image.hpp>
#include <lode/runtime/driver.hpp>
#include <lode/runtime/launch.hpp>

#include <cstddef>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace lode::test {

/// One device of the fake; the defaults are those of a small sm_90.
struct FakeDevice {
    std::string name = "Fake H1";
    ComputeCapability cc{9, 0};
    std::size_t memory_bytes = std::size_t{64} << 20;
    std::map<CUdevice_attribute, int> attributes = {};  ///< Override the defaults.
};

/// A kernel's resources.
struct FakeKernelProperties {
    int registers = 32;
    int static_shared_bytes = 0;
    int max_threads = 1024;
    int blocks_per_multiprocessor = 2;
};

/// One launch, as the driver sees it.
struct FakeLaunch {
    std::string symbol;
    Dim3 grid;
    Dim3 block;
    unsigned shared_bytes = 0;
    CUstream stream = nullptr;
    std::vector<std::vector<std::byte>> arguments;  ///< One value per parameter.
    std::vector<CUlaunchAttribute> attributes;      ///< Attributes of cuLaunchKernelEx.
    std::size_t context_depth = 0;                  ///< Depth of the launching thread's stack.

    template <class T>
    [[nodiscard]] T argument(std::size_t index) const {
        T value;
        std::memcpy(&value, arguments.at(index).data(), sizeof(T));
        return value;
    }
};

/// Device memory is host memory, work completes at once, each thread has a context stack, and every
/// handle is counted. At most four fakes may exist at a time. Thread-safe, except for the script.
///
/// Code images are PTX texts; a cubin is cubin_of() such a text. As in the real driver, they must
/// run on the device's compute capability.
class FakeDriver {
public:
    struct Options {
        int version = 13000;
        std::vector<FakeDevice> devices = {FakeDevice{}};
        CUresult init = CUDA_SUCCESS;
        std::set<std::string> hidden = {};  ///< Entry points that it lacks.
    };

    FakeDriver();
    explicit FakeDriver(Options options);
    ~FakeDriver();
    FakeDriver(const FakeDriver&) = delete;
    FakeDriver& operator=(const FakeDriver&) = delete;

    [[nodiscard]] DriverResolver resolver();
    [[nodiscard]] Result<Driver> open(Log log = {});

    // The script: what the fake does.
    std::map<std::string, FakeKernelProperties> kernel_properties;  ///< By symbol.
    std::function<void(const FakeLaunch&)> on_launch;
    /// Makes the n-th call from now fail with a code; 1 is the next one.
    void fail_call(std::size_t n, CUresult code);
    /// Makes every call of one entry point fail with a code; CUDA_SUCCESS ends that.
    void fail_always(const std::string& name, CUresult code);
    /// From now on, work on a device returns a sticky error.
    void break_device(int ordinal, CUresult code);
    /// What cuDevicePrimaryCtxReset of the host's own code does.
    void reset_device(int ordinal);
    void set_capturing(CUstream stream, bool capturing);
    /// Written to the compiler's log at the next load.
    std::string jit_log;
    /// What the driver's log says about the next call that fails. (cuLogsRegisterCallback)
    std::vector<std::string> failure_lines;
    /// The result of loading PTX, e.g. CUDA_ERROR_UNSUPPORTED_PTX_VERSION; doesn't affect cubins.
    CUresult ptx_answer = CUDA_SUCCESS;

    // The record: what happened.
    [[nodiscard]] std::size_t calls() const;  ///< Without the functions that name errors.
    [[nodiscard]] std::size_t calls(const std::string& name) const;
    [[nodiscard]] std::string failed_call() const;   ///< The call that fail_call() made fail.
    [[nodiscard]] std::size_t live_handles() const;  ///< Without listeners.
    [[nodiscard]] std::size_t log_listeners() const;
    /// Call only while no other thread launches.
    [[nodiscard]] const std::vector<FakeLaunch>& launches() const;
    [[nodiscard]] int attribute(const std::string& symbol, CUfunction_attribute attribute) const;
    /// The numeric options of the last load.
    [[nodiscard]] const std::map<CUjit_option, std::uintptr_t>& jit_options() const;

    // The calling thread's contexts, used as a host program would.
    [[nodiscard]] std::vector<CUcontext> context_stack() const;
    [[nodiscard]] CUcontext retain(int ordinal);
    void release(int ordinal);
    void push(CUcontext context);
    void pop();

    struct State;

private:
    std::unique_ptr<State> state_;
};

/// A PTX text with one .entry per line, e.g. "saxpy(.param .f32 a, .param .u64 x)".
std::string ptx_of(std::initializer_list<std::string_view> entries,
                   std::string_view target = "sm_90");

/// An Image with such a PTX text only.
Image ptx_image(std::initializer_list<std::string_view> entries, std::string_view target = "sm_90");

/// An Image with Tile IR of a version only.
Image tile_image(std::initializer_list<std::string_view> entries, int version_major,
                 int version_minor);

/// An Image with a cubin that the fake can load, with or without its PTX.
Image cubin_image(std::initializer_list<std::string_view> entries, bool with_ptx = true,
                  int sm = 90);

}  // namespace lode::test
