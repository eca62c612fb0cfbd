#include "jit/cache/make_once.hpp"

#include "jit/store/key_lock.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace LODE_NAMESPACE::cache {
namespace {

using WaitClock = std::chrono::steady_clock;

/// Waits for the process or machine that compiles the same request, with pauses that grow by half.
class WaitForOthers {
public:
    WaitForOthers(std::chrono::milliseconds limit, std::chrono::microseconds first,
                  std::chrono::microseconds longest)
        : deadline_(WaitClock::now() + limit), pause_(first), longest_(longest) {}

    [[nodiscard]] bool is_over() const { return WaitClock::now() >= deadline_; }
    /// Sleeps. The first time it counts a wait and reports the phase.
    void pause(const CompileControl& control, AtomicCounters::Count& waits) {
        if (!std::exchange(has_waited_, true)) {
            ++waits;
            control.enter(CompilePhase::waiting_for_process);
        }
        std::this_thread::sleep_for(pause_);
        pause_ = std::min(pause_ * 3 / 2, longest_);
    }

private:
    WaitClock::time_point deadline_;
    std::chrono::microseconds pause_;
    std::chrono::microseconds longest_;
    bool has_waited_ = false;
};

/// Does the work, or waits for another machine, where the remote cache has leases.
Result<CachedImage> make_once_remotely(const SharedWork& work, Storage& storage,
                                       const CompileControl& control) {
    using Lease = RemoteTier::Lease;
    RemoteTier* const remote = storage.remote();
    WaitForOthers wait(storage.options().lock_wait, std::chrono::milliseconds(2),
                       std::chrono::milliseconds(250));
    while (true) {
        const Lease lease =
            // A process that can't publish its result mustn't keep others waiting.
            remote == nullptr || !storage.tiers().stores() ? Lease::none
                                                           : remote->acquire(work.key);
        if (lease == Lease::none) break;
        const auto give_back = [&] {
            if (lease == Lease::taken) remote->release(work.key);
        };
        // The previous holder of the lease may have published the entry.
        if (auto hit = work.look_up_remote()) {
            give_back();
            return *std::move(hit);
        }
        if (lease == Lease::taken) {
            auto result = work.make();
            give_back();
            return result;
        }
        if (wait.is_over()) break;
        if (control.is_stopped()) return fail_cancelled(work.name);
        wait.pause(control, storage.counters.waits);
    }
    return work.make();
}

}  // namespace

Result<CachedImage> make_once(const SharedWork& work, Storage& storage,
                              const CompileControl& control) {
    const DiskTier* disk = storage.tiers().disk();
    if (!storage.tiers().stores_on_disk()) return make_once_remotely(work, storage, control);

    KeyLock lock(disk->folder(), work.key);
    WaitForOthers wait(storage.options().lock_wait, std::chrono::microseconds(200),
                       std::chrono::milliseconds(20));
    while (true) {
        const auto outcome = lock.attempt();
        if (outcome == KeyLock::Outcome::failed) break;
        // The previous holder of the lock may have published the entry.
        if (auto hit = work.look_up()) return *std::move(hit);
        if (outcome == KeyLock::Outcome::taken || wait.is_over()) break;
        if (control.is_stopped()) return fail_cancelled(work.name);
        wait.pause(control, storage.counters.waits);
    }
    return make_once_remotely(work, storage, control);
}

}  // namespace LODE_NAMESPACE::cache
