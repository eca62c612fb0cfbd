// Two processes whose work on one buffer is in order: the program sends a handle of the buffer and
// one of an event through a pipe to a second instance of itself, whose stream waits for the event.
//
//     cmake -B build && cmake --build build && build/20_ipc
//     1000000 of 1000000 elements were written by both processes, in order
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <lode_embedded/kernels.hpp>

using lode::unwrap;

namespace {

void check(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(std::string("failed: ") + what);
}

constexpr int n = 1'000'000;

/// What the other process needs: plain bytes.
struct Message {
    lode::IpcMemoryHandle buffer;
    lode::IpcEventHandle filled;
};

/// Enqueues x = 10 x + value.
void mark(const lode::Device& device, lode::StreamRef stream, lode::DeviceSpan<int> x, int value) {
    const auto kernel =
        unwrap(device.load<void(int*, int, int)>(lode_embedded::kernels()[0].source(), "mark"));
    unwrap(kernel.launch(stream, lode::cover(n), x, value, n));
}

/// The second instance.
void consumer() {
    Message message;
    check(std::fread(&message, sizeof message, 1, stdin) == 1, "the message has arrived");
    const auto runtime = unwrap(lode::Runtime::open({.emulator_fallback = true}));
    const auto device = unwrap(runtime.device());
    auto buffer = unwrap(lode::IpcBuffer<int>::open(device, message.buffer));
    const auto filled = unwrap(message.filled.open(device));
    const auto stream = unwrap(device.create_stream());
    unwrap(stream.wait(filled));  // On the device: this process doesn't wait.
    mark(device, stream, buffer, 2);
    unwrap(stream.sync());  // Before the buffer is unmapped.
}

void producer() {
    const auto runtime =
        unwrap(lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
    const auto device = unwrap(runtime.device());
    const auto stream = unwrap(device.create_stream());
    auto buffer = unwrap(device.alloc<int>(n));
    const auto filled = unwrap(device.create_event({.timing = false, .interprocess = true}));
    unwrap(buffer.zero_async(stream));
    mark(device, stream, buffer, 1);
    unwrap(filled.record(stream));  // Perhaps long before it is reached.

    const Message message{unwrap(lode::IpcMemoryHandle::of(buffer)),
                          unwrap(lode::IpcEventHandle::of(filled))};
    const std::string program = std::filesystem::canonical("/proc/self/exe");
    std::FILE* const other = popen(("exec '" + program + "' consumer").c_str(), "w");
    check(other != nullptr, "the second process starts");
    const bool sent = std::fwrite(&message, sizeof message, 1, other) == 1;
    check(pclose(other) == 0 && sent, "the second process succeeds");

    const auto values = unwrap(buffer.to_vector());
    const auto right = std::count(values.begin(), values.end(), 12);
    std::printf("%td of %d elements were written by both processes, in order\n", right, n);
    check(right == n, "both processes wrote every element in order");
}

}  // namespace

int main(int argc, char**) try {
    argc > 1 ? consumer() : producer();
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
