// Runtime::quiesce(): /proc shows that nothing of lode is left in a process but its memory.
#include "runtime/driver/driver_state.hpp"
#include "tests/checkpoint/warm_process.hpp"
#include "tests/support/processes.hpp"
#include "tests/support/variable.hpp"
#include "tests/unit/emulator/runtime/emulator_library.hpp"
#include "tests/unit/jit/remote/servers.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <thread>

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace lode;
using namespace lode::test;
using namespace std::chrono_literals;

namespace {

/// What the operating system keeps for this process.
struct Held {
    std::set<std::string> files;  ///< "3: /dev/null"
    std::set<std::string> threads;
    std::set<std::string> children;

    static Held now() {
        Held held;
        std::error_code closed;
        for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
            const auto target = std::filesystem::read_symlink(file, closed);
            const bool is_this_loop = closed || target == fmt::format("/proc/{}/fd", ::getpid());
            if (!is_this_loop)
                held.files.insert(
                    fmt::format("{}: {}", file.path().filename().string(), target.string()));
        }
        for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", closed))
            held.threads.insert(thread.path().filename());
        for (const pid_t child : lode::test::children())
            held.children.insert(std::to_string(child));
        return held;
    }

    /// What a later state has beyond this one: "thread 7, file 3: /dev/null".
    [[nodiscard]] std::string left_in(const Held& later) const {
        std::string left;
        const auto add = [&](const char* kind, const auto& before, const auto& after) {
            for (const auto& one : after)
                if (!before.contains(one)) left += fmt::format("{} {}, ", kind, one);
        };
        add("file", files, later.files);
        add("thread", threads, later.threads);
        add("child", children, later.children);
        return left;
    }
};

/// The software device after a launch without lode's cache, so that it has all that it keeps.
class DriverInUse {
public:
    DriverInUse() {
        emulator_test::reset();
        driver_ = require(Driver::open({.library = LODE_EMULATOR_LIBRARY}));
        const auto& table = driver_->state()->table;
        CUdevice device = 0;
        CUfunction function = nullptr;
        const char* const ptx =
            ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n";
        REQUIRE(table.cuDeviceGet(&device, 0) == CUDA_SUCCESS);
        REQUIRE(table.cuDevicePrimaryCtxRetain(&context_, device) == CUDA_SUCCESS);
        REQUIRE(table.cuCtxPushCurrent(context_) == CUDA_SUCCESS);
        REQUIRE(table.cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING, 0) ==
                CUDA_SUCCESS);
        CUlibrary library = nullptr;
        CUkernel kernel = nullptr;
        REQUIRE(table.cuLibraryLoadData(&library, ptx, nullptr, nullptr, 0U, nullptr, nullptr,
                                        0U) == CUDA_SUCCESS);
        REQUIRE(table.cuLibraryGetKernel(&kernel, library, "k") == CUDA_SUCCESS);
        REQUIRE(table.cuKernelGetFunction(&function, kernel) == CUDA_SUCCESS);
        REQUIRE(table.cuLaunchKernel(function, WarmProcess::blocks, 1U, 1U, 32U, 1U, 1U, 0U,
                                     stream_, nullptr, nullptr) == CUDA_SUCCESS);
        REQUIRE(table.cuCtxSynchronize() == CUDA_SUCCESS);
        REQUIRE(table.cuCtxPopCurrent(&context_) == CUDA_SUCCESS);
    }

    [[nodiscard]] const Driver& driver() const { return *driver_; }
    [[nodiscard]] CUstream stream() const { return stream_; }

private:
    std::optional<Driver> driver_;
    CUcontext context_ = nullptr;
    CUstream stream_ = nullptr;
};

/// Fails unless a quiet process has what it had before.
void check_left(const Held& before) {
    std::string left;
    CHECK_MESSAGE(becomes([&] {  // A thread that has been joined may still be listed.
                      left = before.left_in(Held::now());
                      return left.empty();
                  }),
                  left);
}

/// Rounds of work, quiesce() and resume(), with what is left each time.
void quiesce_often(const std::string& remote) {
    const DriverInUse in_use;
    const Held before = Held::now();
    WarmProcess process(in_use.driver(), in_use.stream(), remote);
    for (int round = 0; round < WarmProcess::rounds; ++round) {
        process.work();
        const Held warm = Held::now();
        CHECK(warm.files.size() > before.files.size());
        CHECK(warm.threads.size() > before.threads.size());
        CHECK(warm.children.size() > before.children.size());
        require(process.runtime().quiesce());
        check_left(before);
        process.runtime().resume();
    }
    if (!remote.empty()) CHECK(process.counters().remote_writes > 0);
}

}  // namespace

TEST_CASE("checkpoint: nothing of lode is left in a quiet process, and it goes on") {
    quiesce_often({});
}

TEST_CASE("checkpoint: nothing of a remote cache over HTTP is left in a quiet process") {
    LODE_SKIP_WITHOUT(Nginx);
    const Nginx server;
    quiesce_often(server.url());
}

TEST_CASE("checkpoint: nothing of a remote cache on Redis is left in a quiet process") {
    LODE_SKIP_WITHOUT(RedisServer);
    const RedisServer server;
    quiesce_often(server.url());
}

TEST_CASE("checkpoint: nothing is left of what compiles lines for the software device") {
    const Variable findings("LODE_EMULATOR_FINDINGS", "log");
    const DriverInUse in_use;
    const Held before = Held::now();
    WarmProcess process(in_use.driver(), in_use.stream(), {});
    for (int round = 0; round < 2; ++round) {
        process.have_fault_found();
        CHECK(Held::now().children.size() == before.children.size() + 2);  // Each has a worker.
        require(process.runtime().quiesce());
        check_left(before);
        process.runtime().resume();
    }
    process.work();
}

TEST_CASE("checkpoint: a quiet process has no work on a device, and host functions may compile") {
    const DriverInUse in_use;
    const auto runtime = require(Runtime::with_driver(in_use.driver()));
    const auto device = require(runtime.device());
    const auto stream = require(device.create_stream());
    Result<CachedImage> made = fail(Errc::not_ready, "It hasn't run.");
    require(stream.ref().call_on_host([&] {
        std::this_thread::sleep_for(100ms);
        made = runtime.compiler().compile(Source::text("__device__ int a;", "a.cu"), Arch({9, 0}));
    }));
    require(runtime.quiesce());
    (void)require(made);
    CHECK(require(stream.ref().is_idle()));
    runtime.resume();

    std::atomic<bool> has_run = false;
    const auto pending =
        device.load_async(Source::text("extern \"C\" __global__ void k() {}", "k.cu"), "k");
    pending.on_done([&](const auto& /*loaded*/) {
        require(stream.ref().call_on_host([&] {
            std::this_thread::sleep_for(100ms);
            has_run = true;
        }));
    });
    require(runtime.quiesce());
    CHECK(has_run);
    auto load = std::async(std::launch::async, [&] {
        return device.load(Source::text("extern \"C\" __global__ void k() {}", "k.cu"), "k");
    });
    CHECK(load.wait_for(50ms) == std::future_status::timeout);
    runtime.resume();
    CHECK(load.get().has_value());
}

/// `run` freezes it between the files "quiet" and "go".
TEST_CASE("checkpoint: a program that is frozen" * doctest::skip()) {
    const char* const folder = std::getenv("LODE_CHECKPOINT_FOLDER");
    REQUIRE(folder != nullptr);
    const std::filesystem::path here = folder;
    const DriverInUse in_use;
    WarmProcess process(in_use.driver(), in_use.stream(), {});
    process.work();
    require(process.runtime().quiesce());
    put(here / "quiet", "");
    REQUIRE(becomes([&] { return std::filesystem::exists(here / "go"); }));
    process.runtime().resume();
    process.work();
    put(here / "works", "");
}
