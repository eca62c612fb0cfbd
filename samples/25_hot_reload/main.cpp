// An application that never waits for its compiler: kernels load in the background while frames are
// drawn and a bar shows how many are ready. Then one kernel's file is edited, as an editor would do
// it, and the running program takes the new code.
#include "samples/support/sample.hpp"

#include <lode/lode.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <unistd.h>

namespace fs = std::filesystem;

namespace {

constexpr int count = 1000;
using Wave = void(float*, int, float);

/// The largest value of a wave.
float peak(const lode::Device& device, const lode::UntypedKernel& untyped) {
    const auto kernel = lode::unwrap(lode::Kernel<Wave>::from_untyped(untyped));
    const auto stream = lode::unwrap(device.create_stream());
    const auto y = lode::unwrap(device.alloc<float>(count));
    lode::unwrap(kernel.launch(stream, lode::cover(count, 128), y, count, 0.0F));
    lode::unwrap(stream.sync());
    const auto values = lode::unwrap(y.to_vector());
    return *std::max_element(values.begin(), values.end());
}

void hot_reload() {
    const auto runtime = sample::open_runtime();
    const auto device = lode::unwrap(runtime.device());
    const fs::path original = sample::kernel_file("wave.cu");

    lode::Batch batch;
    for (int harmonic = 1; harmonic <= 8; ++harmonic) {
        lode::KernelOptions options;
        options.compile.definitions = {{"HARMONIC", std::to_string(harmonic)}};
        (void)batch.add(device, lode::Source::file(original), "wave", options);
    }
    batch.start();
    int frames = 0;
    for (; batch.done() < batch.size(); ++frames) {
        std::fprintf(stderr, "\r[%-8s]", std::string(batch.done(), '#').c_str());
        std::this_thread::sleep_for(std::chrono::milliseconds(16));  // Draws a frame.
    }
    std::fprintf(stderr, "\r%40s\r", "");
    lode::unwrap(batch.wait());
    std::printf("%zu kernels are loaded; %d frames were drawn meanwhile\n", batch.size(), frames);
    for (std::size_t i = 0; i < batch.size(); ++i)
        sample::check(peak(device, lode::unwrap(batch.result(i).get())) > 0.9F, "a wave has peaks");

    const fs::path edited = fs::temp_directory_path() / (std::to_string(::getpid()) + "_wave.cu");
    const auto write = [&](const std::string& code) { std::ofstream(edited) << code; };
    std::string code = lode::unwrap(lode::Source::file(original).read());
    write(code);
    const auto watcher =
        lode::unwrap(lode::Watcher::create(device, lode::Source::file(edited), "wave"));
    const auto before = watcher.kernel();
    write(code.replace(code.find("1.0f"), 4, "5.0f"));
    sample::check(watcher.is_stale(), "the edited file is noticed");
    sample::check(lode::unwrap(watcher.reload_async().get()), "the new code is loaded");
    std::printf("before the edit the peak is %.1f, after it %.1f\n", peak(device, before),
                peak(device, watcher.kernel()));
    sample::check(peak(device, watcher.kernel()) > 4.5F, "the new code runs");
    fs::remove(edited);
}

}  // namespace

int main() {
    return sample::run(hot_reload);
}
