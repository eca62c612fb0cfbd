#include "emulator/driver/stream/shared_event.hpp"

#include "base/os/memory.hpp"
#include "base/os/process.hpp"

namespace lode::emulator::driver {
namespace {

/// Raises an atomic to at least a value.
void raise_to(std::atomic<std::uint64_t>& field, std::uint64_t least) noexcept {
    std::uint64_t now = field;
    while (now < least && !field.compare_exchange_weak(now, least)) {
    }
}

}  // namespace

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
    slot(number).process = os::process_id();
    raise_to(recordings_->recorded, number);
    return number;
}

void SharedEvent::finish(std::uint64_t number) noexcept {
    raise_to(slot(number).done, number);
    ++recordings_->changes;
    os::wake_waiters(recordings_->changes);
}

bool SharedEvent::reached(std::uint64_t number) const noexcept {
    return slot(number).done >= number || !os::is_running(slot(number).process);
}

void SharedEvent::wait(std::uint64_t number) const noexcept {
    while (true) {
        const std::uint32_t seen = recordings_->changes;
        if (reached(number)) return;
        os::wait_for_change(recordings_->changes, seen);
    }
}

}  // namespace lode::emulator::driver
