// Two processes that work on the same device memory: the program shares a buffer through a file
// descriptor, starts itself again with the descriptor's number, and reads what the other wrote.
//
//     cmake -B build && cmake --build build && build/18_processes
//     1000000 of 1000000 elements have been changed by both processes
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <lode_embedded/kernels.hpp>
#include <sys/wait.h>
#include <unistd.h>

using lode::unwrap;

namespace {

void check(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(std::string("failed: ") + what);
}

constexpr int n = 1'000'000;

/// Adds `by` to every element of the shared buffer.
void increment(const lode::Device& device, lode::SharedBuffer<int>& shared, int by) {
    const auto kernel = unwrap(
        device.load<void(int*, int, int)>(lode_embedded::kernels()[0].source(), "increment"));
    const auto stream = unwrap(device.create_stream());
    unwrap(kernel.launch(stream, lode::cover(n), shared.span(), by, n));
    unwrap(stream.sync());
}

/// The other process, which has inherited the descriptor.
void child(int descriptor) {
    const auto runtime = unwrap(lode::Runtime::open({.emulator_fallback = true}));
    const auto device = unwrap(runtime.device());
    auto shared = unwrap(lode::SharedBuffer<int>::import(device, descriptor, n));
    increment(device, shared, 100);
}

void parent() {
    const auto runtime =
        unwrap(lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
    const auto device = unwrap(runtime.device());
    auto shared = unwrap(lode::SharedBuffer<int>::create(device, n));
    unwrap(shared.span().zero());
    increment(device, shared, 1);  // Before the fork, which copies only this thread.

    const int descriptor = unwrap(shared.export_descriptor());
    fcntl(descriptor, F_SETFD, 0);  // The program that is started inherits it.
    const std::string argument = std::to_string(descriptor);
    const pid_t process = fork();
    if (process == 0) {
        execl("/proc/self/exe", "18_processes", argument.c_str(), nullptr);
        _exit(1);
    }
    close(descriptor);
    int status = 1;
    check(process > 0 && waitpid(process, &status, 0) == process, "the process ran");
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the process succeeded");

    const auto values = unwrap(shared.span().to_vector());
    const auto right = std::count(values.begin(), values.end(), 101);
    std::printf("%td of %d elements have been changed by both processes\n", right, n);
    check(right == n, "both processes changed every element");
}

}  // namespace

int main(int argc, char** argv) try {
    argc > 1 ? child(std::stoi(argv[1])) : parent();
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
