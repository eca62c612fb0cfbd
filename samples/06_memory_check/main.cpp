// Finds a write past the end of a buffer that goes unnoticed on a GPU: runs the kernel on lode's
// software device, which checks every access, and prints its report with the kernel's source line.
#include "samples/support/sample.hpp"

#include <lode/lode.hpp>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace {

/// The number of the line that contains `text`.
int line_with(const std::filesystem::path& file, const std::string& text) {
    std::ifstream in(file);
    std::string line;
    for (int number = 1; std::getline(in, line); ++number) {
        if (line.find(text) != std::string::npos) return number;
    }
    throw std::runtime_error("no line of " + file.string() + " has '" + text + "'");
}

void memory_check() {
    const auto runtime = sample::open_runtime({.emulator = true});
    const auto device = lode::unwrap(runtime.device());
    const auto source = sample::kernel_file("stencil.cu");
    const auto mean2 = lode::unwrap(
        device.load<void(const float*, float*, int)>(lode::Source::file(source), "mean2"));

    constexpr int n = 1000;
    const auto in = lode::unwrap(device.upload(std::vector<float>(n, 1.0F)));
    const auto out = lode::unwrap(device.upload(std::vector<float>(n, 0.0F)));
    const auto stream = lode::unwrap(device.create_stream());
    const auto launched = mean2.launch(stream, lode::cover(n), in, out, n);
    const auto finished = launched ? stream.sync() : launched;
    sample::check(!finished, "the write past the end is found");

    const std::string report = finished.error().describe();
    std::printf("%s\n", report.c_str());
    const auto place = "stencil.cu:" + std::to_string(line_with(source, "Planted"));
    sample::check(report.find(place) != std::string::npos, "the report names " + place);
    sample::check(report.find("mean2") != std::string::npos, "the report names the kernel");
}

}  // namespace

int main() {
    return sample::run(memory_check);
}
