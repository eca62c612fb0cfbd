// Data-parallel training: every device has a share of the samples and a copy of the weights, and
// adds the gradients of all after each step: by NCCL, or by copies where it isn't installed.
//
//     cmake -B build && cmake --build build && build/27_data_parallel
//     devices: …, compilations: …, gradients are added by …
//
// With --processes, each device has a process of its own. If CMake has found MPI,
// `mpirun build/27_data_parallel --mpi` does the same.
#include "exchange.hpp"
#include "ranks.hpp"

#include <cstdio>
#include <exception>
#include <numeric>
#include <string>
#include <string_view>

namespace {

using sample::Replicas;

/// Prints what was used, and checks that no device compiled for itself.
void report(const lode::Runtime& runtime, int world, const char* how, double compilations) {
    std::printf("devices: %d, compilations: %.0f, gradients are added by %s\n", world, compilations,
                how);
    sample::check(compilations <= sample::architectures_of(runtime),
                  "the kernels are compiled once for each architecture");
}

void all_devices() {
    const auto runtime = lode::unwrap(
        lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
    lode::unwrap(runtime.device());  // There is one.
    const int world = runtime.device_count();
    Replicas replicas;
    for (int k = 0; k < world; ++k)
        replicas.push_back(
            std::make_unique<sample::Replica>(lode::unwrap(runtime.device(k)), k, world));
    const auto* const nccl = sample::nccl_for(runtime);
    sample::train(
        replicas, world,
        nccl != nullptr ? sample::exchange_by_nccl(*nccl, world) : sample::exchange_by_copies);
    report(runtime, world, nccl != nullptr ? "NCCL" : "copies",
           static_cast<double>(runtime.compiler().counters().compilations));
}

void one_device(const sample::Rank& rank) {
    const auto runtime = lode::unwrap(lode::Runtime::open({.emulator_fallback = true}));
    Replicas replicas;
    replicas.push_back(std::make_unique<sample::Replica>(
        lode::unwrap(runtime.device(rank.rank() % runtime.device_count())), rank.rank(),
        rank.world()));
    const auto* const nccl = sample::nccl_for(runtime);
    train(replicas, rank.world(),
          nccl != nullptr ? sample::exchange_by_nccl(*nccl, rank, replicas.front()->device)
                          : sample::exchange_by_gather(rank));
    const auto all =
        rank.gather(std::vector{static_cast<float>(runtime.compiler().counters().compilations)});
    if (rank.rank() == 0)
        report(runtime, rank.world(), nccl != nullptr ? "NCCL" : "memory",
               std::accumulate(all.begin(), all.end(), 0.0));
}

}  // namespace

int main(int argc, char** argv) try {
    const std::string_view mode = argc > 1 ? argv[1] : "";
    if (mode == "--processes") {
        const auto runtime = lode::unwrap(
            lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
        lode::unwrap(runtime.device());  // There is one.
        sample::check(sample::Rank::start(runtime.device_count()), "every process succeeds");
    } else if (mode == "--rank" && argc == 5) {
        one_device(sample::Rank(std::stoi(argv[2]), std::stoi(argv[3]), std::stoi(argv[4])));
    } else if (mode == "--mpi") {
        one_device(sample::Rank::of_mpi());
    } else {
        sample::check(mode.empty(), "the argument is --processes, --mpi or none");
        all_devices();
    }
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
