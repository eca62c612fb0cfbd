// Kernels that allocate memory, print and assert. The heap's and the output buffer's sizes are set
// before anything is loaded. A failed assert ends the device for the process, so the program shows
// one in a second instance of itself.
//
//     cmake -B build && cmake --build build && build/24_device_heap
//     block …
//     256 lists of 100 numbers on …: every sum is right
//     … an assert() in a kernel failed. …
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <lode_embedded/kernels.hpp>

using lode::unwrap;

namespace {

void check(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(std::string("failed: ") + what);
}

constexpr int length = 100;

/// Builds the lists and consumes them; the sums.
lode::Result<std::vector<long long>> run_kernels(const lode::Device& device, int most) {
    constexpr std::uint32_t blocks = 4;
    constexpr std::uint32_t threads = 64;
    const auto library =
        unwrap(device.load(unwrap(device.compile(lode_embedded::kernels()[0].source()))));
    const auto build = unwrap(library.kernel<void(int**, int)>("build"));
    const auto consume = unwrap(library.kernel<void(int**, int, long long*, int)>("consume"));
    const auto lists = unwrap(device.alloc<int*>(blocks * threads));
    const auto sums = unwrap(device.alloc<long long>(blocks * threads));
    const auto stream = unwrap(device.create_stream());
    const lode::LaunchShape shape{.grid = {blocks}, .block = {threads}};
    unwrap(build.launch(stream, shape, lists, length));
    unwrap(consume.launch(stream, shape, lists, length, sums, most));
    if (const auto done = stream.sync(); !done) return tl::unexpected(done.error());
    return sums.to_vector();
}

/// The second instance.
void failing_assert() {
    const auto runtime = unwrap(lode::Runtime::open({.emulator_fallback = true}));
    const auto sums = run_kernels(unwrap(runtime.device()), length - 1);
    check(!sums && sums.error().code == lode::Errc::device_lost, "the assert fails");
    std::printf("%s\n", sums.error().message.c_str());
}

void device_heap() {
    const auto runtime =
        unwrap(lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
    const auto device = unwrap(runtime.device());
    unwrap(lode::set_limit(device, lode::Limit::malloc_heap, std::size_t{32} << 20));
    unwrap(lode::set_limit(device, lode::Limit::printf_fifo, std::size_t{1} << 20));
    const auto sums = unwrap(run_kernels(device, length));
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const auto first = static_cast<long long>(i);
        check(sums[i] == first * length + length * (length - 1) / 2, "every sum is right");
    }
    std::printf("%zu lists of %d numbers on %s: every sum is right\n", sums.size(), length,
                device.name().c_str());
    std::fflush(stdout);
    const std::string program = std::filesystem::canonical("/proc/self/exe").string();
    check(std::system(("'" + program + "' assert").c_str()) == 0, "the assert was reported");
}

}  // namespace

int main(int argc, char**) try {
    argc > 1 ? failing_assert() : device_heap();
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
