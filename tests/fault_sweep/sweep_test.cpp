// Runs each program once for each driver call that it makes; in the n-th run, call n fails. A
// returned error names the call; no handle leaks, and the context stack is restored.
#include "base/try.hpp"
#include "tests/fault_sweep/scenarios.hpp"
#include "tests/unit/runtime/support.hpp"

#include <algorithm>
#include <iterator>

using namespace lode;
using namespace lode::test;

namespace {

/// Loads, launches, copies and waits, without a compilation. Calls nearly every entry point that
/// lode uses.
Status scenario(FakeDriver& fake, const Log& log) {
    LODE_TRY_ASSIGN(auto driver, fake.open(log));
    LODE_TRY_ASSIGN(auto runtime, Runtime::with_driver(driver));
    LODE_TRY_ASSIGN(auto device, runtime.device(0));
    LODE_TRY_ASSIGN(auto other, runtime.device(1));
    LODE_TRY_ASSIGN(auto stream, device.create_stream());
    LODE_TRY_ASSIGN(auto start, device.create_event());
    LODE_TRY(start.record(stream));

    LODE_TRY_ASSIGN(auto x, device.upload(std::vector<int>{1, 2, 3, 4}));
    LODE_TRY_ASSIGN(auto y, other.alloc<int>(4));
    LODE_TRY_ASSIGN(auto pinned, device.alloc_pinned<int>(4));
    LODE_TRY_ASSIGN(auto z, device.alloc<int>(4));
    LODE_TRY(y.copy_from(x));
    LODE_TRY(y.copy_from_async(stream, x));
    LODE_TRY(z.copy_from(x));
    LODE_TRY(z.copy_from_async(stream, x));
    LODE_TRY(z.copy_from_async(stream, pinned.span()));
    LODE_TRY(z.copy_to_async(stream, pinned.span()));
    LODE_TRY_ASSIGN(auto bytes, device.alloc<char>(4));
    LODE_TRY_ASSIGN(auto halves, device.alloc<short>(4));
    LODE_TRY(bytes.fill('x'));
    LODE_TRY(bytes.fill_async(stream, 'x'));
    LODE_TRY(halves.fill(1));
    LODE_TRY(halves.fill_async(stream, 1));
    LODE_TRY(x.fill(1));
    LODE_TRY(x.fill_async(stream, 1));

    LODE_TRY_ASSIGN(auto library,
                    device.load(cubin_image({"k(.param .u64 x, .param .u32 n)"}, false)));
    LODE_TRY(library.kernel_names());
    LODE_TRY_ASSIGN(auto kernel, library.kernel<void(int*, int)>("k"));
    LODE_TRY(kernel.untyped().preload());
    LODE_TRY(kernel.untyped().suggest_block_size());
    LODE_TRY(kernel.launch(stream, {.dynamic_shared_bytes = 100000}, x, 4));
    LODE_TRY(kernel.launch(stream, {.cooperative = true}, x, 4));
    LODE_TRY(kernel.launch(device.default_stream(), {}, x, 4));
    int table[4] = {};
    LODE_TRY(library.write_global("table", table, sizeof(table)));
    LODE_TRY(library.read_global("table", table, sizeof(table)));

    LODE_TRY_ASSIGN(auto stop, device.create_event());
    LODE_TRY(stop.record(stream));
    LODE_TRY(stream.ref().wait(stop));
    LODE_TRY(stop.sync());
    LODE_TRY(stop.is_done());
    LODE_TRY(stop.elapsed_ms_since(start));
    LODE_TRY(stream.ref().call_on_host([] {}));
    LODE_TRY(stream.ref().is_idle());
    LODE_TRY(stream.sync());
    LODE_TRY(device.adopt(stream.native()));
    LODE_TRY(device.memory_info());
    LODE_TRY(x.to_vector());
    return device.sync();
}

struct Scenario {
    std::string_view name;
    Status (*body)(FakeDriver&, const Log&);
    std::size_t least_calls;  ///< A run to the end makes more.
};

constexpr Scenario scenarios[] = {{"loads, launches and copies", scenario, 150},
                                  {"launches", launch_scenario, 40}};

/// Calls that release or restore something. Their failures are logged, not returned.
bool is_undoing(const std::string& call) {
    const char* const names[] = {"cuThreadExchangeStreamCaptureMode",
                                 "cuLogsRegisterCallback",
                                 "cuLogsUnregisterCallback",
                                 "cuCtxPopCurrent",
                                 "cuDevicePrimaryCtxRelease",
                                 "cuStreamDestroy",
                                 "cuEventDestroy",
                                 "cuMemFree",
                                 "cuMemFreeHost",
                                 "cuLibraryUnload"};
    return std::ranges::find(names, call) != std::end(names);
}

/// The outcome of one run with one failed call.
struct Outcome {
    Status status;
    std::string struck;
    std::size_t live;
    std::size_t depth;
    std::string warnings;
};

Outcome run(const Scenario& program, std::size_t n, CUresult code) {
    Outcome outcome;
    const Log log([&](LogLevel level, std::string_view line) {
        if (level == LogLevel::warning) outcome.warnings.append(line).append("\n");
    });
    FakeDriver fake({.devices = {{.name = "A"}, {.name = "B"}}});
    if (n > 0) fake.fail_call(n, code);
    outcome.status = program.body(fake, log);
    outcome.struck = fake.failed_call();
    outcome.live = fake.live_handles();
    outcome.depth = fake.context_stack().size();
    return outcome;
}

/// Calls `check` with the outcome of each run with one failed call, for each scenario.
template <class Check>
void sweep(CUresult code, Check check) {
    for (const auto& program : scenarios) {
        INFO(program.name);
        for (std::size_t n = 1;; ++n) {
            const auto outcome = run(program, n, code);
            if (outcome.struck.empty()) {
                CHECK(outcome.status);
                CHECK(n > program.least_calls);  // It ran to its end.
                break;
            }
            INFO("call ", n, ": ", outcome.struck);
            check(outcome);
        }
    }
}

}  // namespace

TEST_CASE("fault sweep: the scenarios work and call every entry point of the fake driver") {
    FakeDriver fake({.devices = {{.name = "A"}, {.name = "B"}}});
    for (const auto& program : scenarios) {
        INFO(program.name);
        const auto outcome = run(program, 0, CUDA_SUCCESS);
        if (!outcome.status) FAIL(outcome.status.error().describe());
        CHECK(outcome.live == 0);
        CHECK(outcome.warnings.empty());
        REQUIRE(program.body(fake, {}));
    }
    const std::string_view elsewhere[] = {"cuGetErrorName", "cuGetErrorString",
                                          "cuTensorMapEncodeTiled", "cuDevicePrimaryCtxGetState"};
    const DriverResolver resolver = fake.resolver();
#define X(symbol, version, need)                                                          \
    if (resolver(#symbol, version) != nullptr &&                                          \
        std::ranges::find(elsewhere, std::string_view(#symbol)) == std::end(elsewhere)) { \
        INFO(#symbol);                                                                    \
        CHECK(fake.calls(#symbol) > 0);                                                   \
    }
#include "runtime/driver/symbols.def"
#undef X
}

TEST_CASE("fault sweep: every failure names its call and leaves nothing behind") {
    std::size_t failures = 0;
    sweep(CUDA_ERROR_OPERATING_SYSTEM, [&](const Outcome& outcome) {
        if (outcome.status) {
            // The failed call destroys or pops something, checks or pushes a context for a destroy,
            // or waits at a device's end: the failure is logged, and at most one handle leaks.
            CHECK_CONTAINS(outcome.warnings, outcome.struck + " fails");
            CHECK((is_undoing(outcome.struck) || outcome.struck == "cuCtxPushCurrent" ||
                   outcome.struck == "cuCtxGetId" || outcome.struck == "cuCtxSynchronize"));
            CHECK(outcome.live <= 1);
            return;
        }
        ++failures;
        CHECK_FALSE(is_undoing(outcome.struck));
        const Error& error = outcome.status.error();
        CHECK_CONTAINS(error.message, outcome.struck + " fails: an operating system call fails");
        CHECK(error.native.code == CUDA_ERROR_OPERATING_SYSTEM);
        CHECK(outcome.live == 0);
        CHECK(outcome.depth == 0);
        CHECK(outcome.warnings.empty());
    });
    CHECK(failures > 130);
}

TEST_CASE("fault sweep: exhausted memory anywhere leaves nothing behind") {
    sweep(CUDA_ERROR_OUT_OF_MEMORY, [](const Outcome& outcome) {
        if (outcome.status) return;  // Covered by the previous test.
        CHECK(outcome.status.error().code == Errc::out_of_memory);
        CHECK(outcome.live == 0);
        CHECK(outcome.depth == 0);
    });
}

TEST_CASE("fault sweep: a sticky error anywhere ends in device_lost and leaves nothing behind") {
    sweep(CUDA_ERROR_ILLEGAL_ADDRESS, [](const Outcome& outcome) {
        if (outcome.status) return;
        CHECK(outcome.status.error().code == Errc::device_lost);
        CHECK_CONTAINS(outcome.status.error().message, outcome.struck);
        CHECK(outcome.live == 0);
        CHECK(outcome.depth == 0);
    });
}
