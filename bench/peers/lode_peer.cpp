// lode's part of compile_peers.py: compiles all kernels with compile_async.
//
//     lode_bench_peer KERNELS ARCH[,ARCH…] THREADS
#include "bench/sources.hpp"

#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace {

using namespace lode;

void run(std::size_t kernels, std::string_view archs, int threads) {
    auto options = unwrap(CacheOptions::from_environment());
    options.workers.max_processes = threads;
    if (std::getenv("LODE_WORKER") == nullptr) options.workers.program = LODE_WORKER_PROGRAM;
    const CachedCompiler compiler({}, options);
    std::vector<Arch> targets;
    for (; !archs.empty(); archs.remove_prefix(std::min(archs.size(), archs.find(',') + 1))) {
        const auto end = std::min(archs.find(','), archs.size());
        targets.push_back(unwrap(Arch::parse(fmt::format("sm_{}", archs.substr(0, end)))));
        if (end == archs.size()) break;
    }
    (void)unwrap(compiler.compile(Source::text("extern \"C\" __global__ void warm_up() {}"),
                                  targets.front()));

    const auto start = std::chrono::steady_clock::now();
    std::vector<Pending<CachedImage>> all;
    for (std::size_t number = 1; number <= kernels; ++number) {
        const auto source = bench::with_cub(number);
        for (const auto& target : targets)
            all.push_back(compiler.compile_async({source, target, {}, {}, {}}));
    }
    std::size_t smallest = ~std::size_t{0};
    for (const auto& pending : all)
        smallest = std::min(smallest, unwrap(pending.get()).image->cubin.size());
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    fmt::print("{{\"seconds\": {}, \"images\": {}, \"smallest\": {}}}\n", spent.count(), all.size(),
               smallest);
}

}  // namespace

int main(int count, char** values) {
    if (count != 4) {
        fmt::print(stderr, "usage: lode_bench_peer KERNELS ARCH[,ARCH…] THREADS\n");
        return 2;
    }
    try {
        run(std::strtoul(values[1], nullptr, 10), values[2], std::atoi(values[3]));
    } catch (const std::exception& failure) {
        fmt::print(stderr, "{}\n", failure.what());
        return 1;
    }
    return 0;
}
