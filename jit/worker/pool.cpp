#include "jit/worker/pool.hpp"

#include "base/try.hpp"
#include "jit/worker/program.hpp"

#include <utility>

namespace lode::worker {
namespace {

/// A worker with more resident memory is ended after its answer: NVRTC gives little of it back.
constexpr std::uint64_t most_idle_memory = std::uint64_t{1} << 30;

}  // namespace

Result<Answer> Pool::compile(const Request& request) {
    const Limits limits{options_.timeout, options_.memory_bytes};
    for (bool is_repeated = false;; is_repeated = true) {
        LODE_TRY_ASSIGN(Held process, acquire());
        auto answer = process->run(request, limits);
        const bool try_again = !answer && process->failure() == Failure::killed && !is_repeated;
        release(std::move(process));
        if (!try_again) return answer;
    }
}

std::size_t Pool::size() const {
    const std::lock_guard guard(mutex_);
    return running_;
}

Result<Pool::Held> Pool::start() const {
    LODE_TRY_ASSIGN(const auto program, find_program(options_.program));
    return Process::start(program);
}

Result<Pool::Held> Pool::acquire() {
    {
        std::unique_lock lock(mutex_);
        released_.wait(lock, [&] {
            return !idle_.empty() || running_ < static_cast<std::size_t>(options_.max_processes);
        });
        if (!idle_.empty()) {
            Held process = std::move(idle_.back());
            idle_.pop_back();
            return process;
        }
        ++running_;
    }
    auto process = start();
    if (!process) release(nullptr);
    return process;
}

void Pool::release(Held process) {
    if (process != nullptr &&
        (process->failure() != Failure::none || process->resident_bytes() > most_idle_memory))
        process = nullptr;
    const std::lock_guard guard(mutex_);
    if (process != nullptr)
        idle_.push_back(std::move(process));
    else
        --running_;
    released_.notify_one();
}

}  // namespace lode::worker
