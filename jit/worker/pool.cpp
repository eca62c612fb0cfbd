#include "jit/worker/pool.hpp"

#include "base/os/process.hpp"
#include "base/try.hpp"
#include "jit/pch/prefix.hpp"
#include "jit/worker/program.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <thread>
#include <utility>

namespace LODE_NAMESPACE::worker {
namespace {

/// A worker with more resident memory is ended after its answer: NVRTC gives little of it back.
constexpr std::uint64_t most_idle_memory = std::uint64_t{1} << 30;
/// What a worker is expected to take before one has been measured.
constexpr std::uint64_t expected_memory = std::uint64_t{256} << 20;
constexpr std::chrono::milliseconds acquire_interval{20};

std::uint64_t half_of_memory() {
    return os::all_memory() / 2;
}

WorkerOptions with_defaults(WorkerOptions options) {
    if (options.max_processes <= 0)
        options.max_processes = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U));
    if (options.total_memory_bytes == 0) options.total_memory_bytes = half_of_memory();
    return options;
}

/// Whether a worker may use a precompiled header for a request.
bool may_use_pch(const Request& request) {
    const std::string_view code =
        request.task == Task::call ? request.call.source : request.compilation.source.code();
    return !request.pch.folder.empty() && !pch::header_prefix(code).empty();
}

}  // namespace

Pool::Pool(WorkerOptions options, std::string jail)
    : options_(with_defaults(std::move(options))),
      jail_(std::move(jail)),
      largest_use_(expected_memory) {}

Result<Answer> Pool::compile(const Request& request, const CompileControl& control) {
    std::optional<Request> without_pch;
    for (bool is_repeated = false;; is_repeated = true) {
        LODE_TRY_ASSIGN(Lease lease, acquire(request, control));
        Process& process = *lease.process();
        control.enter(CompilePhase::compiling);
        auto answer = process.run(without_pch ? *without_pch : request, control);
        // Some inputs that are broken damage nvJitLink's memory.
        if (answer && request.task == Task::link_call && answer->call.result != 0)
            lease.make_last();
        // What LLVM refuses may leave it in any state.
        if (answer && !answer->image &&
            request.compilation.source.language() == Source::Language::llvm_ir)
            lease.make_last();
        const Failure failure = answer ? Failure::none : process.failure();
        if (is_repeated || (failure != Failure::killed && failure != Failure::crashed))
            return answer;
        if (failure == Failure::crashed) {
            if (!may_use_pch(request)) return answer;
            without_pch = request;
            without_pch->pch.is_suspect = true;
        }
    }
}

void Pool::quiesce() noexcept {
    const std::lock_guard guard(mutex_);
    running_ -= idle_.size();
    idle_.clear();
}

std::size_t Pool::size() const {
    const std::lock_guard guard(mutex_);
    return running_;
}

Status Pool::find() {
    const std::lock_guard guard(program_mutex_);
    if (!program_) program_ = find_program(options_.program);
    return program_->map([](const auto& /*path*/) {});
}

Result<Pool::Held> Pool::start() {
    LODE_TRY(find());
    return Process::start(**program_, jail_);  // Immutable once it is there.
}

Pool::Held Pool::start_next() noexcept {
    try {
        auto process = start();
        return process ? *std::move(process) : nullptr;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

bool Pool::has_room() const {
    if (running_ >= static_cast<std::size_t>(options_.max_processes)) return false;
    if (running_ == 0) return true;
    std::uint64_t used = largest_use_;
    for (const Process* process : busy_)
        used += std::max(process->resident_bytes().value_or(0), largest_use_);
    for (const auto& process : idle_)
        used += process->resident_bytes().value_or(largest_use_);
    return used <= options_.total_memory_bytes;
}

Result<Pool::Lease> Pool::acquire(const Request& request, const CompileControl& control) {
    bool is_waiting = false;
    std::unique_lock lock(mutex_);
    for (;;) {
        if (!idle_.empty()) {
            Held process = std::move(idle_.back());
            idle_.pop_back();
            busy_.push_back(process.get());
            return Lease(*this, std::move(process), request.is_last());
        }
        if (has_room()) break;
        if (!std::exchange(is_waiting, true)) {
            lock.unlock();
            control.enter(CompilePhase::waiting_for_worker);
            lock.lock();
            continue;
        }
        released_.wait_for(lock, acquire_interval);
        if (control.is_stopped()) return fail_cancelled(request.compilation.source.name());
    }
    idle_.reserve(running_ + 1);
    busy_.reserve(running_ + 1);
    ++running_;
    lock.unlock();
    Lease lease(*this, nullptr, request.is_last());
    LODE_TRY_ASSIGN(lease.process(), start());
    lock.lock();
    busy_.push_back(lease.process().get());
    lock.unlock();
    return lease;
}

void Pool::release(Held process, bool is_last) noexcept {
    std::optional<std::uint64_t> used;
    if (process != nullptr) {
        {
            const std::lock_guard guard(mutex_);
            std::erase(busy_, process.get());
        }
        used = process->resident_bytes();
        const bool has_answered = process->failure() == Failure::none;
        if (has_answered && !jail_.empty())
            process = start_next();
        else if (!has_answered || is_last || !used || *used > most_idle_memory)
            process = nullptr;
    }
    const std::lock_guard guard(mutex_);
    largest_use_ = std::max(largest_use_, used.value_or(0));
    if (process != nullptr)
        idle_.push_back(std::move(process));
    else
        --running_;
    released_.notify_one();
}

}  // namespace LODE_NAMESPACE::worker
