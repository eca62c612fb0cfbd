// A process that uses all that lode starts: workers, threads, connections, the folder, a device.
#pragma once

#include "jit/cache/packs.hpp"
#include "jit/store/disk_tier.hpp"
#include "tests/support/result.hpp"
#include "tests/support/scratch.hpp"

#include <lode/lode.hpp>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace lode::test {

class WarmProcess {
public:
    /// The blocks of each launch.
    static constexpr unsigned blocks = 64;
    /// How often work() finds new kernels in every cache.
    static constexpr int rounds = 3;

    /// Uses a stream of the device; `remote` may be empty.
    WarmProcess(Driver driver, NativeStream stream, const std::string& remote)
        : has_remote_(!remote.empty()) {
        put(scratch_.path() / "half.h", "#define HALF(x) ((x) / 2)\n");
        fill(cache_in("packed"), packed_from);
        fill(cache_in("cache"), stored_from);
        if (has_remote_) fill(cache_in("elsewhere", remote), shared_from);
        RuntimeOptions options;
        options.cache = cache_in("cache", remote);
        options.cache->packs = {pack(scratch_.path() / "packed")};
        runtime_ = require(Runtime::with_driver(std::move(driver), options));
        device_ = require(runtime_->device());
        stream_ = require(device_->adopt(stream));
        out_ = require(device_->alloc<int>(blocks));
    }

    [[nodiscard]] const Runtime& runtime() const { return *runtime_; }
    [[nodiscard]] CacheCounters counters() const { return runtime_->compiler().counters(); }

    /// Loads kernels from everywhere, and launches them.
    void work() {
        const auto before = counters();
        std::vector<std::pair<int, Pending<Kernel<void(int*)>>>> pending;
        for (int i = 0; i < 4; ++i) {
            const int value = new_from + 10 * round_ + i;
            pending.emplace_back(value,
                                 device_->load_async<void(int*)>(storing(value), "k", plain()));
        }
        check(packed_from + round_);
        check(stored_from + round_);
        if (has_remote_) check(shared_from + round_);
        check(new_from + 10 * round_ + 5);
        for (auto& [value, kernel] : pending)
            check(value, require(kernel.get()));
        ++round_;
        const auto after = counters();
        CHECK(after.pack_hits == before.pack_hits + 1);
        CHECK(after.disk_hits == before.disk_hits + 1);
        CHECK(after.remote_hits == before.remote_hits + (has_remote_ ? 1 : 0));
        CHECK(after.compilations == before.compilations + 5);
        CHECK(after.faults + after.remote_faults + after.remote_dropped == 0);
    }

    /// Has the software device find a fault, whose line another compiler in this process tells.
    void have_fault_found() {
        const Source source = Source::text(
            fmt::format("extern \"C\" __global__ void k(int* out) {{ out[{} << 20] = 1; }}",
                        ++faults_),
            "fault.cu");
        launch(require(device_->load<void(int*)>(source, "k", plain())));
        require(stream_->sync());
    }

private:
    // The values of the kernels that each cache has.
    static constexpr int packed_from = 100;
    static constexpr int stored_from = 200;
    static constexpr int shared_from = 300;
    static constexpr int new_from = 400;

    /// A kernel that stores `value`.
    static Source storing(int value) {
        return Source::text(fmt::format("#include \"half.h\"\n"
                                        "extern \"C\" __global__ void k(int* out) {{\n"
                                        "    out[blockIdx.x] = HALF({});\n}}\n",
                                        2 * value),
                            fmt::format("store{}.cu", value));
    }
    [[nodiscard]] KernelOptions plain() const {
        KernelOptions options;
        options.compile.include_folders = {scratch_.path()};
        return options;
    }
    [[nodiscard]] CacheOptions cache_in(const std::string& folder,
                                        const std::string& remote = {}) const {
        CacheOptions options;
        options.folder = scratch_.path() / folder;
        options.remote.url = remote;
        options.remote.first_byte = std::chrono::seconds(5);  // For slow machines.
        options.remote.drain = std::chrono::seconds(20);
        options.workers.policy = WorkerPolicy::always;
        options.workers.program = LODE_WORKER_PROGRAM;
        options.workers.max_processes = 3;
        return options;
    }
    /// Compiles kernels as another process could have done.
    void fill(const CacheOptions& options, int from) const {
        const CachedCompiler other({}, options);
        for (int round = 0; round < rounds; ++round)
            (void)require(other.compile(storing(from + round), Arch({9, 0}), plain().compile));
    }
    static std::filesystem::path pack(const std::filesystem::path& folder) {
        const auto tier = require(cache::DiskTier::open(folder, false, std::uint64_t{1} << 30));
        const auto file = folder.parent_path() / "app.pack";
        (void)require(cache::pack(*tier, file));
        return file;
    }
    void check(int value) const {
        check(value, require(device_->load<void(int*)>(storing(value), "k", plain())));
    }
    void check(int value, const Kernel<void(int*)>& kernel) const {
        launch(kernel);
        CHECK(require(out_->to_vector()) == std::vector<int>(blocks, value));
    }
    void launch(const Kernel<void(int*)>& kernel) const {
        require(kernel.launch(*stream_, {.grid = {blocks}, .block = {32}}, *out_));
    }

    const bool has_remote_;
    const ScratchFolder scratch_ = make_scratch();
    std::optional<Runtime> runtime_;
    std::optional<Device> device_;
    std::optional<StreamRef> stream_;
    std::optional<DeviceBuffer<int>> out_;
    int round_ = 0;
    int faults_ = 0;
};

}  // namespace lode::test
