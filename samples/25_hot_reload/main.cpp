// An application that never waits for its compiler: kernels load in the background while frames are
// drawn and a bar shows how many are ready. Then one kernel's file is edited, as an editor would do
// it, and the running program takes the new code.
//
//     cmake -B build && cmake --build build && build/25_hot_reload
//     8 kernels are loaded; … frames were drawn meanwhile
//     before the edit the peak is 1.0, after it 5.0
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include <lode_embedded/kernels.hpp>
#include <unistd.h>

using lode::unwrap;

namespace fs = std::filesystem;

namespace {

void check(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(std::string("failed: ") + what);
}

constexpr int count = 1000;
using Wave = void(float*, int, float);

/// The largest value of a wave.
float peak(const lode::Device& device, const lode::UntypedKernel& untyped) {
    const auto kernel = unwrap(lode::Kernel<Wave>::from_untyped(untyped));
    const auto stream = unwrap(device.create_stream());
    const auto y = unwrap(device.alloc<float>(count));
    unwrap(kernel.launch(stream, lode::cover(count, 128), y, count, 0.0F));
    unwrap(stream.sync());
    const auto values = unwrap(y.to_vector());
    return *std::max_element(values.begin(), values.end());
}

}  // namespace

int main() try {
    const auto runtime =
        unwrap(lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
    const auto device = unwrap(runtime.device());
    const auto source = lode_embedded::kernels()[0].source();

    lode::Batch batch;
    for (int harmonic = 1; harmonic <= 8; ++harmonic) {
        lode::KernelOptions options;
        options.compile.definitions = {{"HARMONIC", std::to_string(harmonic)}};
        (void)batch.add(device, source, "wave", options);
    }
    batch.start();
    int frames = 0;
    for (; batch.done() < batch.size(); ++frames) {
        std::fprintf(stderr, "\r[%-8s]", std::string(batch.done(), '#').c_str());
        std::this_thread::sleep_for(std::chrono::milliseconds(16));  // Draws a frame.
    }
    std::fprintf(stderr, "\r%40s\r", "");
    unwrap(batch.wait());
    std::printf("%zu kernels are loaded; %d frames were drawn meanwhile\n", batch.size(), frames);
    for (std::size_t i = 0; i < batch.size(); ++i)
        check(peak(device, unwrap(batch.result(i).get())) > 0.9F, "a wave has peaks");

    const fs::path edited = fs::temp_directory_path() / (std::to_string(::getpid()) + "_wave.cu");
    const auto write = [&](const std::string& code) { std::ofstream(edited) << code; };
    std::string code = source.code();
    write(code);
    const auto watcher = unwrap(lode::Watcher::create(device, lode::Source::file(edited), "wave"));
    const auto before = watcher.kernel();
    write(code.replace(code.find("1.0f"), 4, "5.0f"));
    check(watcher.is_stale(), "the edited file is noticed");
    check(unwrap(watcher.reload_async().get()), "the new code is loaded");
    std::printf("before the edit the peak is %.1f, after it %.1f\n", peak(device, before),
                peak(device, watcher.kernel()));
    check(peak(device, watcher.kernel()) > 4.5F, "the new code runs");
    fs::remove(edited);
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
