// Errors that end a device for its process. Each runs in its own process: this program, started
// again for one of the test cases named "child: …", which an ordinary run skips.
#include "tests/gpu/support.hpp"

#include <csignal>
#include <memory>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

using namespace lode;
using namespace lode::test;

namespace {

/// Runs one skipped test case in a new process; returns its exit status, or -1 if a signal ended
/// it.
int run_child(const std::string& name) {
    const std::string filter = "--test-case=" + name;
    const char* const arguments[] = {"gpu_runtime", filter.c_str(), "--no-skip", nullptr};
    pid_t child = 0;
    if (::posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, const_cast<char**>(arguments),
                      environ) != 0) {
        return -1;
    }
    int status = 0;
    if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
}

constexpr const char* two_kernels = R"(
extern "C" __global__ void fine(int* x) { *x = 1; }
extern "C" __global__ void stray(int* x) { *(volatile int*)16 = *x; }
extern "C" __global__ void doubtful(int* x) { assert(*x == 12345); }
)";

/// Loads the kernels above.
Library load_kernels(const Device& device) {
    const auto image = require(device.compile(Source::text(two_kernels, "kernels.cu"),
                                              {.name_expressions = {"fine", "stray", "doubtful"}}));
    return require(device.load(image));
}

}  // namespace

TEST_CASE("lost: an illegal address loses the device, and the error names the suspected kernel") {
    LODE_NEEDS_DEVICE(device, 0);
    CHECK(run_child("child: illegal address") == 0);
    CHECK(device.sync());  // This process is unaffected.
}

TEST_CASE("lost: a failed assert loses the device") {
    LODE_NEEDS_DEVICE(device, 0);
    CHECK(run_child("child: failed assert") == 0);
}

TEST_CASE("lost: waiting after each launch identifies the failed kernel") {
    LODE_NEEDS_DEVICE(device, 0);
    CHECK(run_child("child: culprit by waiting") == 0);
}

TEST_CASE("lost: a host function after the failed kernel doesn't run, and is destroyed") {
    LODE_NEEDS_DEVICE(device, 0);
    CHECK(run_child("child: host function") == 0);
}

TEST_CASE("lost: a runtime call in a forked child fails with an explanation") {
    LODE_NEEDS_DEVICE(device, 0);
    CHECK(run_child("child: fork") == 0);
}

TEST_CASE("lost: a device that other code resets is opened again and works") {
    LODE_NEEDS_DEVICE(device, 0);
    CHECK(run_child("child: reset") == 0);
    CHECK(device.sync());
}

TEST_CASE("child: reset" * doctest::skip()) {
    LODE_NEEDS_DEVICE(device, 0);
    const auto reset_device = reinterpret_cast<CUresult (*)(CUdevice)>(
        require(machine()->driver().resolve("cuDevicePrimaryCtxReset", 11000)));
    const auto library = load_kernels(device);
    const auto stream = require(device.create_stream());
    auto x = require(device.alloc<int>(1));
    require(require(library.kernel<void(int*)>("fine")).launch(stream, {.block = {32}}, x));
    require(stream.sync());
    REQUIRE(reset_device(device.ordinal()) == CUDA_SUCCESS);

    const auto error = require_error(device.alloc<int>(1));
    MESSAGE(error.describe());
    CHECK(error.code == Errc::device_lost);
    CHECK_CONTAINS(error.message, "Other code of this process has reset device 0");
    for (const Status& status : {stream.sync(), x.zero(), device.sync()})
        CHECK_CONTAINS(require_error(status).message, "has reset device 0");

    const Device again = require(machine()->device(device.ordinal()));
    const auto anew = require(require(again.load(library.image())).kernel<void(int*)>("fine"));
    const auto new_stream = require(again.create_stream());
    auto y = require(again.alloc<int>(1));
    require(anew.launch(new_stream, {.block = {32}}, y));
    require(new_stream.sync());
    CHECK(require(y.to_vector()) == std::vector<int>{1});
    x = {};  // Frees nothing of the new context.
    CHECK(require(y.to_vector()) == std::vector<int>{1});
}

TEST_CASE("child: illegal address" * doctest::skip()) {
    LODE_NEEDS_DEVICE(device, 0);
    const auto library = load_kernels(device);
    const auto fine = require(library.kernel<void(int*)>("fine"));
    const auto stray = require(library.kernel<void(int*)>("stray"));
    const auto one = require(device.create_stream());
    const auto two = require(device.create_stream());
    auto x = require(device.alloc<int>(1));
    require(fine.launch(one, {.block = {32}}, x));
    require(one.sync());
    require(stray.launch(two, {.grid = {3}, .block = {64}}, x));
    const auto error = require_error(two.sync());
    CHECK(error.code == Errc::device_lost);
    CHECK(error.native.name == "CUDA_ERROR_ILLEGAL_ADDRESS");
    // The software device says which kernel it was.
    CHECK_CONTAINS(error.message, machine()->driver().is_emulator()
                                      ? ": stray "
                                      : "The suspect is the last launch on this stream: 'stray' "
                                        "with grid (3, 1, 1) and block (64, 1, 1)");
    CHECK(device.is_lost());
    for (const Status& status : {fine.launch(one, {.block = {32}}, x), x.zero(), device.sync()}) {
        REQUIRE_FALSE(status);
        CHECK(status.error().code == Errc::device_lost);
        CHECK_CONTAINS(status.error().message, "This process has lost device 0");
    }
}

TEST_CASE("child: host function" * doctest::skip()) {
    LODE_NEEDS_DEVICE(device, 0);
    const auto stray = require(load_kernels(device).kernel<void(int*)>("stray"));
    const auto stream = require(device.create_stream());
    auto x = require(device.alloc<int>(1));
    const auto runs = std::make_shared<int>(0);
    require(stream.call_on_host([runs] { ++*runs; }));
    require(stream.sync());
    CHECK(*runs == 1);
    require(stray.launch(stream, LaunchShape{}, x));
    (void)stream.call_on_host([runs] { ++*runs; });  // The kernel may have failed already.
    CHECK(require_error(stream.sync()).code == Errc::device_lost);
    CHECK(*runs == 1);
    CHECK(runs.use_count() == 1);
}

TEST_CASE("child: failed assert" * doctest::skip()) {
    LODE_NEEDS_DEVICE(device, 0);
    const auto library = load_kernels(device);
    const auto doubtful = require(library.kernel<void(int*)>("doubtful"));
    const auto stream = require(device.create_stream());
    auto x = require(device.alloc<int>(1));
    require(x.zero());
    require(doubtful.launch(stream, LaunchShape{}, x));
    const auto error = require_error(x.to_vector());  // Without a stream, any launch is suspect.
    CHECK(error.code == Errc::device_lost);
    CHECK_CONTAINS(error.message, "an assert() in a kernel failed");
    CHECK_CONTAINS(error.message, "doubtful");
}

TEST_CASE("child: culprit by waiting" * doctest::skip()) {
    LODE_NEEDS_DEVICE(unused, 0);
    const auto runtime =
        require(Runtime::with_driver(machine()->driver(), {.sync_launches = true}));
    const auto device = require(runtime.device(unused.ordinal()));
    const auto library = load_kernels(device);
    const auto stream = require(device.create_stream());
    auto x = require(device.alloc<int>(1));
    require(require(library.kernel<void(int*)>("fine")).launch(stream, LaunchShape{}, x));
    const auto stray = require(library.kernel<void(int*)>("stray"));
    const auto error = require_error(stray.launch(stream, LaunchShape{}, x));
    CHECK(error.code == Errc::device_lost);
    CHECK_CONTAINS(error.message, "while launching 'stray'");
}

TEST_CASE("child: fork" * doctest::skip()) {
    LODE_NEEDS_DEVICE(device, 0);
    (void)require(device.memory_info());
    enum Outcome { told, succeeded, other_error };
    const pid_t child = ::fork();
    if (child == 0) {
        const auto failed = device.memory_info();
        if (failed) ::_exit(succeeded);
        std::printf("%s\n", failed.error().describe().c_str());
        std::fflush(stdout);
        ::_exit(failed.error().code == Errc::process_forked ? told : other_error);
    }
    REQUIRE(child > 0);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == told);
    CHECK(device.memory_info());  // The parent is unaffected.
}
