// Two processes that work on the same device memory: the program shares a buffer through a file
// descriptor, starts itself again with the descriptor's number, and reads what the other wrote.
#include "samples/support/sample.hpp"

#include <lode/lode.hpp>

#include <algorithm>
#include <cstdio>
#include <string>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr int n = 1'000'000;

/// Adds `by` to every element of the shared buffer.
void increment(const lode::Device& device, lode::SharedBuffer<int>& shared, int by) {
    const auto kernel = lode::unwrap(device.load<void(int*, int, int)>(
        lode::Source::file(sample::kernel_file("increment.cu")), "increment"));
    const auto stream = lode::unwrap(device.create_stream());
    lode::unwrap(kernel.launch(stream, lode::cover(n), shared.span(), by, n));
    lode::unwrap(stream.sync());
}

/// The other process, which has inherited the descriptor.
void child(int descriptor) {
    const auto runtime = lode::unwrap(lode::Runtime::open({.emulator_fallback = true}));
    const auto device = lode::unwrap(runtime.device());
    auto shared = lode::unwrap(lode::SharedBuffer<int>::import(device, descriptor, n));
    increment(device, shared, 100);
}

void parent() {
    const auto runtime = sample::open_runtime();
    const auto device = lode::unwrap(runtime.device());
    auto shared = lode::unwrap(lode::SharedBuffer<int>::create(device, n));
    lode::unwrap(shared.span().zero());
    increment(device, shared, 1);  // Before the fork, which copies only this thread.

    const int descriptor = lode::unwrap(shared.export_descriptor());
    fcntl(descriptor, F_SETFD, 0);  // The program that is started inherits it.
    const std::string argument = std::to_string(descriptor);
    const pid_t process = fork();
    if (process == 0) {
        execl("/proc/self/exe", "18_processes", argument.c_str(), nullptr);
        _exit(1);
    }
    close(descriptor);
    int status = 1;
    sample::check(process > 0 && waitpid(process, &status, 0) == process, "the process ran");
    sample::check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the process succeeded");

    const auto values = lode::unwrap(shared.span().to_vector());
    const auto right = std::count(values.begin(), values.end(), 101);
    std::printf("%td of %d elements have been changed by both processes\n", right, n);
    sample::check(right == n, "both processes changed every element");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1) return sample::run([&] { child(std::stoi(argv[1])); });
    return sample::run(parent);
}
