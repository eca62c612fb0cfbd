#include "base/os/process.hpp"

#include "base/os/descriptor.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <system_error>

#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace LODE_NAMESPACE::os {
namespace {

/// 0 if the system doesn't know it.
std::uint64_t number_of(int name) noexcept {
    return static_cast<std::uint64_t>(std::max(::sysconf(name), 0L));
}

}  // namespace

ProcessId process_id() noexcept {
    return ::getpid();
}

bool is_running(ProcessId process) noexcept {
    // A process that has ended but wasn't waited for still exists: only a descriptor shows the end.
    const Descriptor descriptor(static_cast<int>(::syscall(__NR_pidfd_open, process, 0)));
    if (!descriptor) return errno != ESRCH && (::kill(process, 0) == 0 || errno != ESRCH);
    pollfd ended{descriptor.get(), POLLIN, 0};
    return ::poll(&ended, 1, 0) <= 0;
}

void after_fork(void (*in_child)()) noexcept {
    ::pthread_atfork(nullptr, nullptr, in_child);
}

std::vector<std::string> environment_lines() {
    std::vector<std::string> lines;
    for (char** line = ::environ; line != nullptr && *line != nullptr; ++line)
        lines.emplace_back(*line);
    return lines;
}

std::filesystem::path executable_path() {
    std::error_code problem;
    return std::filesystem::read_symlink("/proc/self/exe", problem);
}

std::uint64_t page_size() noexcept {
    return number_of(_SC_PAGESIZE);
}

std::uint64_t free_memory() noexcept {
    return page_size() * number_of(_SC_AVPHYS_PAGES);
}

std::uint64_t all_memory() noexcept {
    return page_size() * number_of(_SC_PHYS_PAGES);
}

std::string boot_id() {
    std::string text;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
    return text;
}

}  // namespace LODE_NAMESPACE::os
