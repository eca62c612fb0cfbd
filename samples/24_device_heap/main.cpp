// Kernels that allocate memory, print and assert. The heap's and the output buffer's sizes are set
// before anything is loaded. A failed assert ends the device for the process, so the program shows
// one in a second instance of itself.
#include "samples/support/sample.hpp"

#include <lode/lode.hpp>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace {

constexpr int length = 100;

/// Builds the lists and consumes them; the sums.
lode::Result<std::vector<long long>> run_kernels(const lode::Device& device, int most) {
    constexpr std::uint32_t blocks = 4;
    constexpr std::uint32_t threads = 64;
    const auto library = lode::unwrap(device.load(
        lode::unwrap(device.compile(lode::Source::file(sample::kernel_file("lists.cu"))))));
    const auto build = lode::unwrap(library.kernel<void(int**, int)>("build"));
    const auto consume = lode::unwrap(library.kernel<void(int**, int, long long*, int)>("consume"));
    const auto lists = lode::unwrap(device.alloc<int*>(blocks * threads));
    const auto sums = lode::unwrap(device.alloc<long long>(blocks * threads));
    const auto stream = lode::unwrap(device.create_stream());
    const lode::LaunchShape shape{.grid = {blocks}, .block = {threads}};
    lode::unwrap(build.launch(stream, shape, lists, length));
    lode::unwrap(consume.launch(stream, shape, lists, length, sums, most));
    if (const auto done = stream.sync(); !done) return tl::unexpected(done.error());
    return sums.to_vector();
}

/// The second instance.
void failing_assert() {
    const auto runtime = lode::unwrap(lode::Runtime::open({.emulator_fallback = true}));
    const auto sums = run_kernels(lode::unwrap(runtime.device()), length - 1);
    sample::check(!sums && sums.error().code == lode::Errc::device_lost, "the assert fails");
    std::printf("%s\n", sums.error().message.c_str());
}

void device_heap() {
    const auto runtime = sample::open_runtime();
    const auto device = lode::unwrap(runtime.device());
    lode::unwrap(lode::set_limit(device, lode::Limit::malloc_heap, std::size_t{32} << 20));
    lode::unwrap(lode::set_limit(device, lode::Limit::printf_fifo, std::size_t{1} << 20));
    const auto sums = lode::unwrap(run_kernels(device, length));
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const auto first = static_cast<long long>(i);
        sample::check(sums[i] == first * length + length * (length - 1) / 2, "every sum is right");
    }
    std::printf("%zu lists of %d numbers on %s: every sum is right\n", sums.size(), length,
                device.name().c_str());
    std::fflush(stdout);
    const std::string program = std::filesystem::canonical("/proc/self/exe").string();
    sample::check(std::system(("'" + program + "' assert").c_str()) == 0,
                  "the assert was reported");
}

}  // namespace

int main(int count, char**) {
    return count > 1 ? sample::run(failing_assert) : sample::run(device_heap);
}
