// Two processes whose work on one buffer is in order: the program sends a handle of the buffer and
// one of an event through a pipe to a second instance of itself, whose stream waits for the event.
#include "samples/support/sample.hpp"

#include <lode/lode.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>

namespace {

constexpr int n = 1'000'000;

/// What the other process needs: plain bytes.
struct Message {
    lode::IpcMemoryHandle buffer;
    lode::IpcEventHandle filled;
};

/// Enqueues x = 10 x + value.
void mark(const lode::Device& device, lode::StreamRef stream, lode::DeviceSpan<int> x, int value) {
    const auto kernel = lode::unwrap(device.load<void(int*, int, int)>(
        lode::Source::file(sample::kernel_file("mark.cu")), "mark"));
    lode::unwrap(kernel.launch(stream, lode::cover(n), x, value, n));
}

/// The second instance.
void consumer() {
    Message message;
    sample::check(std::fread(&message, sizeof message, 1, stdin) == 1, "the message has arrived");
    const auto runtime = lode::unwrap(lode::Runtime::open({.emulator_fallback = true}));
    const auto device = lode::unwrap(runtime.device());
    auto buffer = lode::unwrap(lode::IpcBuffer<int>::open(device, message.buffer));
    const auto filled = lode::unwrap(message.filled.open(device));
    const auto stream = lode::unwrap(device.create_stream());
    lode::unwrap(stream.wait(filled));  // On the device: this process doesn't wait.
    mark(device, stream, buffer, 2);
    lode::unwrap(stream.sync());  // Before the buffer is unmapped.
}

void producer() {
    const auto runtime = sample::open_runtime();
    const auto device = lode::unwrap(runtime.device());
    const auto stream = lode::unwrap(device.create_stream());
    auto buffer = lode::unwrap(device.alloc<int>(n));
    const auto filled = lode::unwrap(device.create_event({.timing = false, .interprocess = true}));
    lode::unwrap(buffer.zero_async(stream));
    mark(device, stream, buffer, 1);
    lode::unwrap(filled.record(stream));  // Perhaps long before it is reached.

    const Message message{lode::unwrap(lode::IpcMemoryHandle::of(buffer)),
                          lode::unwrap(lode::IpcEventHandle::of(filled))};
    const std::string program = std::filesystem::canonical("/proc/self/exe");
    std::FILE* const other = popen(("exec '" + program + "' consumer").c_str(), "w");
    sample::check(other != nullptr, "the second process starts");
    const bool sent = std::fwrite(&message, sizeof message, 1, other) == 1;
    sample::check(pclose(other) == 0 && sent, "the second process succeeds");

    const auto values = lode::unwrap(buffer.to_vector());
    const auto right = std::count(values.begin(), values.end(), 12);
    std::printf("%td of %d elements were written by both processes, in order\n", right, n);
    sample::check(right == n, "both processes wrote every element in order");
}

}  // namespace

int main(int argc, char**) {
    return sample::run(argc > 1 ? consumer : producer);
}
