#include "jit/worker/pool.hpp"

#include "base/try.hpp"
#include "jit/pch/prefix.hpp"
#include "jit/worker/program.hpp"

#include <optional>
#include <utility>

namespace lode::worker {
namespace {

/// A worker with more resident memory is ended after its answer: NVRTC gives little of it back.
constexpr std::uint64_t most_idle_memory = std::uint64_t{1} << 30;

/// Whether a worker may use a precompiled header for a request.
bool may_use_pch(const Request& request) {
    if (request.pch.folder.empty() || !request.source.is_read()) return false;
    const auto code = request.source.read();
    return code && !pch::header_prefix(*code).empty();
}

}  // namespace

Result<Answer> Pool::compile(const Request& request) {
    const Limits limits{options_.timeout, options_.memory_bytes};
    std::optional<Request> without_pch;
    for (bool is_repeated = false;; is_repeated = true) {
        LODE_TRY_ASSIGN(Held process, acquire());
        auto answer = process->run(without_pch ? *without_pch : request, limits);
        const Failure failure = answer ? Failure::none : process->failure();
        release(std::move(process));
        if (is_repeated || (failure != Failure::killed && failure != Failure::crashed))
            return answer;
        if (failure == Failure::crashed) {
            if (!may_use_pch(request)) return answer;
            without_pch = request;
            without_pch->pch.is_suspect = true;
        }
    }
}

std::size_t Pool::size() const {
    const std::lock_guard guard(mutex_);
    return running_;
}

Result<Pool::Held> Pool::start() const {
    LODE_TRY_ASSIGN(const auto program, find_program(options_.program));
    return Process::start(program, jail_);
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
