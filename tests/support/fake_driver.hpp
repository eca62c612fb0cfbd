// A scripted CUDA driver in this process: no GPU, no library, every call observed.
#pragma once

#include "runtime/driver/table.hpp"

#include <lode/base/image.hpp>
#include <lode/runtime/driver.hpp>
#include <lode/runtime/launch.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lode::test {

/// The rows of symbols.def as numbers.
enum Row : std::size_t {
#define X(symbol, version, need) row_##symbol,
#include "runtime/driver/symbols.def"
#undef X
    row_count
};

/// One device that the fake shows; the defaults are those of a small sm_90.
struct FakeDevice {
    std::string name = "Fake H1";
    ComputeCapability cc{9, 0};
    std::size_t memory_bytes = std::size_t{64} << 20;
    std::map<CUdevice_attribute, int> attributes = {};  ///< Win over the defaults.
};

/// What a kernel costs; by symbol in FakeDriver::kernels.
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

    template <class T>
    [[nodiscard]] T argument(std::size_t index) const {
        T value;
        std::memcpy(&value, arguments.at(index).data(), sizeof(T));
        return value;
    }
};

/// Device memory is host memory, work is done at once, contexts are a stack a thread, every handle
/// is counted. Two may live at a time. Thread-safe.
class FakeDriver {
public:
    struct Options {
        int version = 13000;
        std::vector<FakeDevice> devices = {FakeDevice{}};
        CUresult init = CUDA_SUCCESS;
        std::set<std::string> hidden = {};  ///< Entry points that it doesn't have.
    };

    FakeDriver() : FakeDriver(Options{}) {}
    explicit FakeDriver(Options options);
    ~FakeDriver();
    FakeDriver(const FakeDriver&) = delete;
    FakeDriver& operator=(const FakeDriver&) = delete;

    [[nodiscard]] DriverResolver resolver();
    [[nodiscard]] Result<Driver> open(Log log = {});

    // The script.
    std::map<std::string, FakeKernelFacts> kernels;
    std::function<void(const FakeLaunch&)> on_launch;  ///< May act on the memory.
    /// The n-th call from now fails with a code, n = 1 being the next one.
    void fail_call(std::size_t n, CUresult code);
    /// Every call of one entry point fails with a code; CUDA_SUCCESS ends that.
    void fail_always(const std::string& name, CUresult code);
    /// From now on every call on this device answers with a sticky error.
    void break_device(int ordinal, CUresult code);
    /// Whether a stream is being captured.
    void set_capturing(CUstream stream, bool capturing);

    // What happened.
    [[nodiscard]] std::size_t calls() const;  ///< Without the functions that name errors.
    [[nodiscard]] std::size_t calls(const std::string& name) const;
    [[nodiscard]] std::string failed_call() const;  ///< The one that fail_call made fail.
    [[nodiscard]] std::size_t live_handles() const;
    [[nodiscard]] std::vector<FakeLaunch> launches() const;
    [[nodiscard]] std::vector<CUcontext> context_stack() const;  ///< Of the calling thread.
    void push_context(CUcontext context);                        ///< As the host's own code would.
    [[nodiscard]] int attribute(const std::string& symbol, CUfunction_attribute attribute) const;

#define X(symbol, version, need) template <int, class> friend struct Trampoline;
    template <int Slot, auto Method>
    friend struct FakeEntry;
#undef X

private:
    struct Context;
    struct StreamHandle;
    struct EventHandle;
    struct LibraryHandle;
    struct KernelHandle;
};

}  // namespace lode::test
