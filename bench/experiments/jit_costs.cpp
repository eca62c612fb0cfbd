// What run-time compilation costs and the caches save: compiled anew, from the folder, from memory,
// and with a large header.
#include "bench/experiments/experiment.hpp"

#include <chrono>
#include <filesystem>

#include <unistd.h>

namespace {

constexpr const char* small = R"(
extern "C" __global__ void scale(float* x) { x[threadIdx.x] *= FACTOR; })";
constexpr const char* large = R"(
#include <cuda/std/tuple>
extern "C" __global__ void scale(float* x) {
    const auto factors = cuda::std::make_tuple(FACTOR, 1.0f);
    x[threadIdx.x] *= cuda::std::get<0>(factors) * cuda::std::get<1>(factors);
})";

/// A folder of its own, removed at the end.
struct Folder {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("lode_jit_costs_" + std::to_string(getpid()));
    Folder() {
        std::filesystem::create_directories(path);
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
};

void costs(experiment::Bench& bench) {
    using namespace experiment;
    using Clock = std::chrono::steady_clock;
    const Folder folder;
    lode::CacheOptions options;
    options.folder = folder.path;
    options.workers.policy = lode::WorkerPolicy::never;
    const auto arch = unwrap(bench.device.target()).arch;
    // A definition of its own makes each source new to every cache, NVRTC's and the driver's too.
    const auto measure = [&](const char* text, const char* name) {
        std::vector<double> times[3];
        for (int run = -1; run < 5; ++run) {  // The first opens NVRTC.
            lode::CompileOptions compile;
            compile.definitions = {{"FACTOR", std::to_string(getpid() * 8 + run + 2) + ".0f"}};
            const auto source = lode::Source::text(text, "scale.cu");
            std::shared_ptr<const lode::Image> first;
            const auto once = [&](const lode::CachedCompiler& compiler, std::vector<double>& to) {
                const auto begin = Clock::now();
                const auto made = unwrap(compiler.compile(source, arch, compile));
                if (run >= 0)
                    to.push_back(
                        std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
                if (first == nullptr) first = made.image;
                check(made.image->cubin == first->cubin, "all answers are the same code");
            };
            const lode::CachedCompiler cold({}, options);
            once(cold, times[0]);
            const lode::CachedCompiler warm({}, options);
            unwrap(warm.compile(lode::Source::text("", "empty.cu"), arch, {}));  // Opens NVRTC.
            once(warm, times[1]);
            once(warm, times[2]);
            check(cold.counters().hits() == 0, "the first compiler has no answer");
        }
        constexpr const char* hows[] = {", compiled", ", from the folder", ", from memory"};
        Figure compiled;
        for (int how = 0; how < 3; ++how) {
            const auto summary = lode::summarise(times[how], 1);
            const Figure time{summary.median_ms,
                              (summary.max_ms - summary.min_ms) / summary.median_ms};
            bench.row(std::string(name) + hows[how], time, "ms", reported());
            if (how == 0)
                compiled = time;
            else
                bench.row("  gain", compiled / time, "x", at_least(how == 1 ? 5 : 100));
        }
    };
    measure(small, "8-line kernel");
    measure(large, "with <cuda/std/tuple>");
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "Compilation takes tens of milliseconds, hundreds with large headers; a "
                           "cache must answer in milliseconds or less.",
                           costs);
}
