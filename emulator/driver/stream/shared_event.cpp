#include "emulator/driver/stream/shared_event.hpp"

#include <cerrno>
#include <climits>
#include <csignal>
#include <ctime>

#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lode::emulator::driver {
namespace {

/// Raises an atomic to at least a value.
void raise_to(std::atomic<std::uint64_t>& field, std::uint64_t least) noexcept {
    std::uint64_t now = field;
    while (now < least && !field.compare_exchange_weak(now, least)) {
    }
}

long futex(const std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* timeout) noexcept {
    return ::syscall(SYS_futex, &word, operation, value, timeout, nullptr, 0);
}

}  // namespace

bool is_running(int process) noexcept {
    // A process that has ended but wasn't waited for still exists: only a descriptor shows the end.
    const auto descriptor = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
    if (descriptor < 0) return errno != ESRCH && (::kill(process, 0) == 0 || errno != ESRCH);
    pollfd ended{descriptor, POLLIN, 0};
    const bool running = ::poll(&ended, 1, 0) <= 0;
    ::close(descriptor);
    return running;
}

void wait_for_change(const std::atomic<std::uint32_t>& word, std::uint32_t seen) noexcept {
    constexpr timespec longest{0, 100'000'000};
    futex(word, FUTEX_WAIT, seen, &longest);
}

void wake_waiters(const std::atomic<std::uint32_t>& word) noexcept {
    futex(word, FUTEX_WAKE, INT_MAX, nullptr);
}

std::shared_ptr<SharedEvent> SharedEvent::create() {
    auto file = IpcFile::create(IpcKind::event, sizeof(Recordings));
    auto recordings = file == nullptr ? nullptr : file->file().view<Recordings>();
    if (recordings == nullptr) return nullptr;
    return std::make_shared<SharedEvent>(std::move(file), std::move(recordings));
}

std::shared_ptr<SharedEvent> SharedEvent::open(const IpcName& name) {
    auto recordings = IpcFile::open(name, IpcKind::event).view<Recordings>();
    if (recordings == nullptr) return nullptr;
    return std::make_shared<SharedEvent>(nullptr, std::move(recordings));
}

std::uint64_t SharedEvent::begin() noexcept {
    const std::uint64_t number = ++recordings_->claimed;
    slot(number).process = ::getpid();
    raise_to(recordings_->recorded, number);
    return number;
}

void SharedEvent::finish(std::uint64_t number) noexcept {
    raise_to(slot(number).done, number);
    ++recordings_->changes;
    wake_waiters(recordings_->changes);
}

bool SharedEvent::reached(std::uint64_t number) const noexcept {
    return slot(number).done >= number || !is_running(slot(number).process);
}

void SharedEvent::wait(std::uint64_t number) const noexcept {
    while (true) {
        const std::uint32_t seen = recordings_->changes;
        if (reached(number)) return;
        wait_for_change(recordings_->changes, seen);
    }
}

}  // namespace lode::emulator::driver
