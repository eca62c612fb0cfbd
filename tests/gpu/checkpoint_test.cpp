// The driver's own checkpoint of this process, after quiesce().
#include "base/try.hpp"
#include "tests/gpu/support.hpp"
#include "tests/support/scratch.hpp"

#include <chrono>
#include <cstdio>
#include <future>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

using namespace lode;
using namespace lode::test;

namespace {

/// The driver's checkpoints of this process.
class Checkpoint {
public:
    /// Errors: not_found if the driver lacks a call (CUDA 12.8).
    static Result<Checkpoint> find(const Driver& driver) {
        Checkpoint found;
        LODE_TRY(found.find(driver, "cuCheckpointProcessGetState", found.get_state_));
        LODE_TRY(found.find(driver, "cuCheckpointProcessLock", found.lock_));
        LODE_TRY(found.find(driver, "cuCheckpointProcessCheckpoint", found.checkpoint_));
        LODE_TRY(found.find(driver, "cuCheckpointProcessRestore", found.restore_));
        LODE_TRY(found.find(driver, "cuCheckpointProcessUnlock", found.unlock_));
        return found;
    }

    /// Errors of the driver: it doesn't allow it here.
    [[nodiscard]] CUresult lock() const {
        constexpr unsigned longest_ms = 20'000;
        CUcheckpointLockArgs arguments{};
        arguments.timeoutMs = longest_ms;
        return lock_(::getpid(), &arguments);
    }
    [[nodiscard]] CUresult save() const { return checkpoint_(::getpid(), nullptr); }
    [[nodiscard]] CUresult restore() const { return restore_(::getpid(), nullptr); }
    [[nodiscard]] CUresult unlock() const { return unlock_(::getpid(), nullptr); }
    [[nodiscard]] CUprocessState state() const {
        CUprocessState state = CU_PROCESS_STATE_FAILED;
        CHECK(get_state_(::getpid(), &state) == CUDA_SUCCESS);
        return state;
    }

private:
    template <class Function>
    static Status find(const Driver& driver, const char* name, Function& function) {
        LODE_TRY_ASSIGN(void* const address, driver.resolve(name, 12080));
        function = reinterpret_cast<Function>(address);
        return {};
    }

    PFN_cuCheckpointProcessGetState_v12080 get_state_ = nullptr;
    PFN_cuCheckpointProcessLock_v12080 lock_ = nullptr;
    PFN_cuCheckpointProcessCheckpoint_v12080 checkpoint_ = nullptr;
    PFN_cuCheckpointProcessRestore_v12080 restore_ = nullptr;
    PFN_cuCheckpointProcessUnlock_v12080 unlock_ = nullptr;
};

Source adding(int n) {
    return Source::text(
        fmt::format("extern \"C\" __global__ void k(int* x) {{ x[threadIdx.x] += {}; }}", n),
        fmt::format("add{}.cu", n));
}

}  // namespace

TEST_CASE("checkpoint: the driver saves and restores a quiet process, and everything goes on") {
    LODE_NEEDS_DEVICE(first, 0);
    const Driver& driver = machine()->driver();
    const auto checkpoint = Checkpoint::find(driver);
    LODE_NEEDS(checkpoint.has_value(), checkpoint.error().message.c_str());

    const auto folder = make_scratch();
    RuntimeOptions options;
    options.cache.emplace();
    options.cache->folder = folder.path();
    const auto runtime = require(Runtime::with_driver(driver, options));
    const auto device = require(runtime.device());
    const auto stream = require(device.create_stream());
    const auto values = require(device.upload(std::vector<int>(32, 0)));
    const LaunchShape shape{.grid = {}, .block = {32}};
    const auto add = [&](const Kernel<void(int*)>& kernel) {
        require(kernel.launch(stream, shape, values));
    };
    const auto one = require(device.load<void(int*)>(adding(1), "k"));
    add(one);
    add(require(device.load_async<void(int*)>(adding(10), "k").get()));
    const auto compiled = runtime.compiler().counters().compilations;

    for (int round = 1; round <= 2; ++round) {
        require(runtime.quiesce());
        const CUresult locked = checkpoint->lock();
        if (locked != CUDA_SUCCESS) {
            runtime.resume();
            std::printf("skipped: the driver doesn't lock this process (error %d)\n", locked);
            return;
        }
        CHECK(checkpoint->state() == CU_PROCESS_STATE_LOCKED);
        auto launch = std::async(std::launch::async, [&] { add(one); });
        CHECK(launch.wait_for(std::chrono::milliseconds(100)) == std::future_status::timeout);
        const CUresult saved = checkpoint->save();
        CHECK(saved == CUDA_SUCCESS);
        if (saved == CUDA_SUCCESS) {
            CHECK(checkpoint->state() == CU_PROCESS_STATE_CHECKPOINTED);
            CHECK(checkpoint->restore() == CUDA_SUCCESS);
        }
        REQUIRE(checkpoint->unlock() == CUDA_SUCCESS);
        CHECK(checkpoint->state() == CU_PROCESS_STATE_RUNNING);
        launch.get();
        runtime.resume();

        add(require(device.load<void(int*)>(adding(1), "k")));  // A hit.
        add(require(device.load<void(int*)>(adding(100 * round), "k")));
        add(require(device.load_async<void(int*)>(adding(1000 * round), "k").get()));
    }
    require(stream.sync());
    CHECK(require(values.to_vector()) == std::vector<int>(32, 11 + 2 * 2 + 3300));
    CHECK(runtime.compiler().counters().compilations == compiled + 4);
}
