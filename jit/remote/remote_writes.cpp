// The background thread of RemoteTier.
#include "base/process_end.hpp"
#include "base/try.hpp"
#include "jit/remote/remote_tier.hpp"
#include "jit/store/disk_tier.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {

bool RemoteTier::is_own_process() const noexcept {
    return os::process_id() == process_;
}

RemoteTier::~RemoteTier() {
    if (!is_own_process()) {
        // The thread and the connections are the parent's.
        (void)thread_.release();
        (void)store_.release();
        (void)changed_.release();
        return;
    }
    std::unique_lock lock(mutex_);
    stop();
    if (!thread_) return;
    const bool has_ended = changed_->wait_for(lock, options_.drain, [&] { return has_ended_; });
    if (!has_ended && store_) store_->abandon();
    lock.unlock();
    thread_->join();
    counters_.remote_dropped += static_cast<std::uint64_t>(std::ranges::count_if(
        queue_, [](const Write& write) { return write.kind != Write::Kind::release; }));
}

void RemoteTier::stop() {
    stop_by_ = Breaker::Clock::now() + options_.drain;
    changed_->notify_all();
}

void RemoteTier::quiesce() {
    if (!is_own_process()) return;
    if (thread_) {
        {
            const std::lock_guard guard(mutex_);
            stop();
        }
        thread_->join();
        thread_.reset();
        stop_by_.reset();
        has_ended_ = false;
    }
    if (store_) store_->quiesce();
    breaker_.forget();
}

Status RemoteTier::put(const RecordKey& key, std::span<const std::byte> bytes) {
    enqueue({Write::Kind::put, key, Bytes(bytes.begin(), bytes.end())});
    return {};
}

void RemoteTier::put(const RecordKey& key, Bytes bytes, NextRecord next) {
    enqueue({Write::Kind::put, key, std::move(bytes), std::move(next)});
}

Status RemoteTier::remove(const RecordKey& key, const FileIdentity* /*only*/) {
    next_.remove(key.digest);
    enqueue({Write::Kind::remove, key});
    return {};
}

void RemoteTier::enqueue(Write write) {
    if (options_.read_only) return;
    const bool is_release = write.kind == Write::Kind::release;
    {
        const std::lock_guard guard(mutex_);
        const bool is_full = queue_.size() >= options_.queue_records ||
                             queued_bytes_ + write.size() > options_.queue_bytes ||
                             write.size() > options_.max_record_bytes;
        // A lease that isn't given back would make others wait.
        if (!is_release && (!breaker_.is_closed() || is_full)) {
            ++counters_.remote_dropped;
            return;
        }
        queued_bytes_ += write.size();
        queue_.push_back(std::move(write));
    }
    start_thread();
    changed_->notify_all();
}

void RemoteTier::start_thread() {
    const std::lock_guard guard(mutex_);
    if (thread_ || stop_by_) return;
    thread_ = std::make_unique<std::thread>([this] { work(); });
}

Breaker::Clock::time_point RemoteTier::next_event() const {
    auto next = Breaker::Clock::time_point::max();
    for (const auto& [key, lease] : leases_)
        next = std::min(next, lease.renewal);
    if (!breaker_.is_closed()) next = std::min(next, breaker_.next_trial());
    return next;
}

void RemoteTier::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        const bool is_over = queue_.empty() || !breaker_.is_closed();
        if (stop_by_ && (is_over || Breaker::Clock::now() >= *stop_by_)) break;
        do_next(lock);
    }
    use_.reset();
    has_ended_ = true;
    changed_->notify_all();
}

void RemoteTier::do_next(std::unique_lock<std::mutex>& lock) {
    const auto now = Breaker::Clock::now();
    if (!stop_by_ && next_event() <= now) {
        if (breaker_.is_closed()) {
            renew_leases(lock);
        } else {
            // A lease can't be renewed; it expires by itself.
            leases_.clear();
            if (breaker_.next_trial() <= now) try_again(lock);
        }
        return;
    }
    if (!queue_.empty()) {
        Write write = std::move(queue_.front());
        queue_.pop_front();
        queued_bytes_ -= write.size();
        const bool may_send = hold_use(now);
        lock.unlock();
        if (RemoteStore* const to = may_send ? store() : nullptr) {
            send(*to, write);
        } else if (write.kind != Write::Kind::release) {
            ++counters_.remote_dropped;
        }
        lock.lock();
        if (write.kind == Write::Kind::release) leases_.erase(write.key.digest);
        return;
    }
    use_.reset();
    const auto until = next_event();
    const auto is_due = [&] { return stop_by_ || !queue_.empty() || next_event() < until; };
    if (until == Breaker::Clock::time_point::max()) {
        changed_->wait(lock, is_due);
    } else {
        changed_->wait_until(lock, until, is_due);
    }
}

bool RemoteTier::hold_use(Breaker::Clock::time_point now) {
    if (!use_) use_.emplace();
    if (!*use_) return false;
    if (!is_process_ending()) return true;
    if (!process_end_) process_end_ = now;
    return now < *process_end_ + options_.drain;
}

void RemoteTier::renew_leases(std::unique_lock<std::mutex>& lock) {
    const auto now = Breaker::Clock::now();
    std::vector<std::pair<Digest, std::string>> due;
    for (auto& [key, lease] : leases_) {
        if (lease.renewal > now) continue;
        lease.renewal = now + options_.lease / 3;
        due.emplace_back(key, lease.owner);
    }
    lock.unlock();
    for (const auto& [key, owner] : due) {
        if (RemoteStore* const to = store())
            (void)note(Traffic::write, to->renew(key, owner, options_.lease));
    }
    lock.lock();
}

void RemoteTier::try_again(std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    const Status answer = store_ ? store_->ping() : Status();
    if (store_) breaker_.tried(answer.has_value());
    if (answer && store_) {
        log_.write(LogLevel::info,
                   fmt::format("The remote cache at {} is used again.", options_.url));
    }
    lock.lock();
}

void RemoteTier::send(RemoteStore& store, Write& write) {
    switch (write.kind) {
        case Write::Kind::put: {
            if (note(Traffic::write, send_record(store, write))) {
                ++counters_.remote_writes;
            } else {
                ++counters_.remote_dropped;
            }
            return;
        }
        case Write::Kind::remove:
            (void)note(Traffic::write, store.remove(action_of(write.key)));
            return;
        case Write::Kind::release: {
            std::string owner;
            {
                const std::lock_guard guard(mutex_);
                const auto held = leases_.find(write.key.digest);
                if (held != leases_.end()) owner = held->second.owner;
            }
            if (!owner.empty()) (void)note(Traffic::write, store.release(write.key.digest, owner));
            return;
        }
    }
}

void RemoteTier::count_write(std::size_t bytes) {
    counters_.bytes_written += bytes;
    counters_.remote_bytes_written += bytes;
}

Status RemoteTier::add_file(RemoteStore& store, std::string path, std::span<const std::byte> bytes,
                            std::vector<OutputFile>& files) {
    if (bytes.size() <= store.inline_limit()) {
        files.push_back(OutputFile::inlined(std::move(path), bytes));
        return {};
    }
    files.push_back(OutputFile::stored(std::move(path), bytes));
    LODE_TRY(store.put({BlobName::Space::contents, files.back().digest}, bytes));
    count_write(bytes.size());
    return {};
}

Result<std::vector<OutputFile>> RemoteTier::merge_stored(RemoteStore& store, Write& write) {
    const BlobName name = action_of(write.key);
    std::vector<OutputFile> entries;
    LODE_TRY_ASSIGN(const auto stored, std::move(store.get({&name, 1}).front()));
    if (!stored) return entries;
    count_read(*stored);
    // What can't be read is replaced.
    auto files = parse_action_result(*stored);
    if (!files || files->front().contents.empty()) return entries;
    auto merged = merge_(write.key, files->front().contents, write.bytes);
    if (!merged) return entries;
    write.bytes = *std::move(merged);
    for (std::size_t i = 1; i < files->size(); ++i) {
        auto& file = (*files)[i];
        if (file.contents.empty()) entries.push_back(std::move(file));
    }
    return entries;
}

Status RemoteTier::send_record(RemoteStore& store, Write& write) {
    std::vector<OutputFile> older;
    if (write.key.kind == RecordKind::manifest && merge_) {
        LODE_TRY_ASSIGN(older, merge_stored(store, write));
    }
    std::vector<OutputFile> files;
    LODE_TRY(add_file(store, std::string(record_file), write.bytes, files));
    if (write.next) {
        // Redis would otherwise hold a large entry twice.
        const auto& next = *write.next;
        constexpr std::size_t most_inlined = std::size_t{256} << 10;
        const std::string path = next_path(next.key);
        if (next.bytes.size() <= most_inlined) {
            files.push_back(OutputFile::inlined(path, next.bytes));
        } else if (next.bytes.size() > store.inline_limit()) {
            files.push_back(OutputFile::stored(path, next.bytes));
        }
        std::erase_if(older, [&](const OutputFile& file) { return file.path == path; });
    }
    for (auto& file : older) {
        if (files.size() == most_action_files) break;
        files.push_back(std::move(file));
    }
    const Bytes action = format_action_result(files);
    LODE_TRY(store.put(action_of(write.key), action));
    count_write(action.size());
    return {};
}

}  // namespace LODE_NAMESPACE::cache
