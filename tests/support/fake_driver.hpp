// A scripted CUDA driver in this process: no GPU, no library, every call observed.
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

/// One device that the fake shows; the defaults are those of a small sm_90.
struct FakeDevice {
    std::string name = "Fake H1";
    ComputeCapability cc{9, 0};
    std::size_t memory_bytes = std::size_t{64} << 20;
    std::map<CUdevice_attribute, int> attributes = {};  ///< Win over the defaults.
};

/// What a kernel costs.
struct FakeKernelFacts {
    int registers = 32;
    int static_shared_bytes = 0;
    int max_threads = 1024;
    int blocks_per_multiprocessor = 2;
};

/// One launch, as the driver saw it.
struct FakeLaunch {
    std::string symbol;
    Dim3 grid;
    Dim3 block;
    unsigned shared_bytes = 0;
    CUstream stream = nullptr;
    std::vector<std::vector<std::byte>> arguments;  ///< One value a parameter.
    std::vector<CUlaunchAttribute> attributes;      ///< Of cuLaunchKernelEx.
    std::size_t context_depth = 0;                  ///< Of the launching thread's stack.

    template <class T>
    [[nodiscard]] T argument(std::size_t index) const {
        T value;
        std::memcpy(&value, arguments.at(index).data(), sizeof(T));
        return value;
    }
};

/// Device memory is host memory, work is done at once, contexts are a stack for each thread, every
/// handle is counted. Four may live at a time. Thread-safe, but for the script.
///
/// Code images are PTX texts; a cubin is cubin_of() one. They are checked against the device's
/// compute capability as the real driver does.
class FakeDriver {
public:
    struct Options {
        int version = 13000;
        std::vector<FakeDevice> devices = {FakeDevice{}};
        CUresult init = CUDA_SUCCESS;
        std::set<std::string> hidden = {};  ///< Entry points that it doesn't have.
    };

    FakeDriver();
    explicit FakeDriver(Options options);
    ~FakeDriver();
    FakeDriver(const FakeDriver&) = delete;
    FakeDriver& operator=(const FakeDriver&) = delete;

    [[nodiscard]] DriverResolver resolver();
    [[nodiscard]] Result<Driver> open(Log log = {});

    // The script.
    std::map<std::string, FakeKernelFacts> facts;  ///< By symbol.
    std::function<void(const FakeLaunch&)> on_launch;
    /// The n-th call from now fails with a code; 1 is the next one.
    void fail_call(std::size_t n, CUresult code);
    /// Every call of one entry point fails with a code, until CUDA_SUCCESS ends that.
    void fail_always(const std::string& name, CUresult code);
    /// From now on work on a device answers with a sticky error.
    void break_device(int ordinal, CUresult code);
    void set_capturing(CUstream stream, bool capturing);
    /// What the driver's compiler writes to its log at the next load.
    std::string jit_log;
    /// What loading PTX answers, e.g. CUDA_ERROR_UNSUPPORTED_PTX_VERSION; cubins load all the same.
    CUresult ptx_answer = CUDA_SUCCESS;

    // What happened.
    [[nodiscard]] std::size_t calls() const;  ///< Without the functions that name errors.
    [[nodiscard]] std::size_t calls(const std::string& name) const;
    [[nodiscard]] std::string failed_call() const;  ///< The one that fail_call struck.
    [[nodiscard]] std::size_t live_handles() const;
    /// While no other thread launches.
    [[nodiscard]] const std::vector<FakeLaunch>& launches() const;
    [[nodiscard]] int attribute(const std::string& symbol, CUfunction_attribute attribute) const;
    /// The options of the last load, numbers only.
    [[nodiscard]] const std::map<CUjit_option, std::uintptr_t>& jit_options() const;

    // The calling thread's contexts, as the host's own code would handle them.
    [[nodiscard]] std::vector<CUcontext> context_stack() const;
    [[nodiscard]] CUcontext retain(int ordinal);
    void release(int ordinal);
    void push(CUcontext context);
    void pop();

    struct State;

private:
    std::unique_ptr<State> state_;
};

/// A PTX text with one .entry a line, e.g. "saxpy(.param .f32 a, .param .u64 x)".
std::string ptx_of(std::initializer_list<std::string_view> entries,
                   std::string_view target = "sm_90");

/// The same kernels as an Image with PTX only.
Image ptx_image(std::initializer_list<std::string_view> entries, std::string_view target = "sm_90");

/// An Image with a cubin that the fake can load, with or without the PTX beside it.
Image cubin_image(std::initializer_list<std::string_view> entries, bool with_ptx = true,
                  int sm = 90);

}  // namespace lode::test
