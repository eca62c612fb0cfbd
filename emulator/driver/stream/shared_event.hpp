// Events that several processes record and wait for.
#pragma once

#include "emulator/driver/memory/ipc.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace lode::emulator::driver {

/// The recordings of an event, in memory that its processes share. They are numbered 1, 2, 3 … in
/// the order in which they begin. All zeros is an event that was never recorded.
struct Recordings {
    /// Recordings that are told apart while they are unfinished.
    static constexpr std::size_t slots = 128;
    struct Slot {
        std::atomic<std::uint64_t> done;    ///< The last finished recording of the slot.
        std::atomic<std::int32_t> process;  ///< Which records it.
    };

    std::atomic<std::uint64_t> claimed;   ///< The last number that was given.
    std::atomic<std::uint64_t> recorded;  ///< The last recording that others may wait for.
    std::atomic<std::uint32_t> changes;   ///< The word of the futex.
    std::array<Slot, slots> of;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<std::uint32_t>::is_always_lock_free);

/// An event of several processes. Thread-safe.
class SharedEvent {
public:
    /// A new event; nullptr if the system refuses.
    static std::shared_ptr<SharedEvent> create();
    /// The event of another process; nullptr for anything else than its handle.
    static std::shared_ptr<SharedEvent> open(const IpcName& name);
    SharedEvent(std::shared_ptr<const IpcFile> file,
                std::shared_ptr<Recordings> recordings) noexcept
        : file_(std::move(file)), recordings_(std::move(recordings)) {}

    /// What the handle of the event contains; nullptr for an opened event.
    [[nodiscard]] const IpcName* name() const noexcept {
        return file_ == nullptr ? nullptr : &file_->name();
    }

    /// Begins a recording of this process and returns its number.
    std::uint64_t begin() noexcept;
    /// The recording's point has been reached.
    void finish(std::uint64_t number) noexcept;
    /// The number of the last recording; 0 before the first.
    [[nodiscard]] std::uint64_t last() const noexcept { return recordings_->recorded; }
    /// Whether a recording's point has been reached, or never will be because its process ended.
    [[nodiscard]] bool reached(std::uint64_t number) const noexcept;
    void wait(std::uint64_t number) const noexcept;

private:
    [[nodiscard]] Recordings::Slot& slot(std::uint64_t number) const noexcept {
        return recordings_->of[number % Recordings::slots];
    }

    const std::shared_ptr<const IpcFile> file_;
    const std::shared_ptr<Recordings> recordings_;
};

}  // namespace lode::emulator::driver
