#include "emulator/driver/context/context.hpp"

#include "emulator/driver/driver.hpp"
#include "emulator/driver/log.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace lode::emulator::driver {
namespace {

struct LimitRow {
    CUlimit limit;
    std::size_t initial;
    std::size_t most;
};

/// Sizes are in bytes. Initial values are those of a new context of the driver.
constexpr LimitRow limit_rows[] = {
    {CU_LIMIT_STACK_SIZE, 1024, std::size_t{512} << 10},
    {CU_LIMIT_PRINTF_FIFO_SIZE, std::size_t{1} << 20, std::size_t{1} << 40},
    {CU_LIMIT_MALLOC_HEAP_SIZE, std::size_t{8} << 20, std::size_t{1} << 34},
    {CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 2048, std::size_t{1} << 20},
    {CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 64, 128},
    {CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0, std::size_t{1} << 40},  // And the device's own limit.
};

const LimitRow* find_limit(CUlimit which) noexcept {
    const auto row = std::ranges::find(limit_rows, which, &LimitRow::limit);
    return row == std::end(limit_rows) ? nullptr : row;
}

void log_leak(const Context& context, std::string_view what) {
    ++driver().leaks;
    log::write(log::Level::warning,
               fmt::format("A context of device {} ends while {} is still alive.",
                           context.device().ordinal, what));
}

}  // namespace

void Context::open() {
    reset_limits();
    cache_config = CU_FUNC_CACHE_PREFER_NONE;
    error_ = CUDA_SUCCESS;
    attached = 1;
    const std::lock_guard lock(streams_mutex_);
    legacy_ = std::make_shared<Stream>(*this, Stream::Kind::legacy, 0);
    streams_.assign(1, legacy_);
    peers_.clear();
    if (std::exchange(was_opened_, true)) id_ = driver().next_context_id++;
    open_ = true;
}

void Context::end() {
    open_ = false;
    {
        const std::lock_guard lock(streams_mutex_);
        for (const auto& stream : streams_)
            stream->close(CUDA_ERROR_CONTEXT_IS_DESTROYED);
    }
    drain();
    Driver& state = driver();
    state.graph_tables.captures.forget(*this);
    const auto ours = [this](const auto& object) { return &object.context() == this; };
    for (const auto& stream : state.streams.remove_if(ours))
        log_leak(*this, fmt::format("stream {}", stream->id()));
    for (std::size_t n = state.events.remove_if(ours).size(); n > 0; --n)
        log_leak(*this, "an event");
    const auto modules = state.modules.remove_if(ours);
    for (const auto& module : modules) {
        if (!module->in_library()) log_leak(*this, "a module");
        forget_module(module);
    }
    state.libraries.for_each([this](Library& library) { library.leave(*this); });
    end_images(*this, [](const Context& context, const char* what) { log_leak(context, what); });
    for (std::size_t n = state.external_memory.remove_if(ours).size(); n > 0; --n)
        log_leak(*this, "external memory");
    for (std::size_t n = state.external_semaphores.remove_if(ours).size(); n > 0; --n)
        log_leak(*this, "an external semaphore");
    for (std::size_t n = state.imports.end_context(*this); n > 0; --n)
        log_leak(*this, "imported memory");
    for (const std::string& allocation : state.allocations.end_context(*this))
        log_leak(*this, allocation);
    const std::lock_guard lock(streams_mutex_);
    streams_.clear();
}

void Context::fail(CUresult code) noexcept {
    int now = error_;
    while ((now == CUDA_SUCCESS || (now & passing) != 0) &&
           !error_.compare_exchange_weak(now, code)) {
    }
}

void Context::fail_once(CUresult code) noexcept {
    int none = CUDA_SUCCESS;
    error_.compare_exchange_strong(none, code | passing);
}

CUresult Context::settle() noexcept {
    int now = error_;
    if ((now & passing) != 0) error_.compare_exchange_strong(now, CUDA_SUCCESS);
    return static_cast<CUresult>(now & ~passing);
}

std::shared_ptr<Stream> Context::create_stream(Stream::Kind kind, int priority) {
    auto stream = std::make_shared<Stream>(*this, kind, priority);
    const std::lock_guard lock(streams_mutex_);
    if (!is_open()) throw StreamClosed{CUDA_ERROR_CONTEXT_IS_DESTROYED};
    std::erase_if(streams_, [&](const auto& old) {
        const bool retired = old->retired();
        if (retired && driver().order != nullptr)
            retired_.emplace_back(old->kind(), Point{nullptr, 0, nullptr, old->submitted().clock});
        return retired;
    });
    streams_.push_back(stream);
    return stream;
}

std::shared_ptr<Stream> Context::default_stream(DefaultStream which) {
    if (which == DefaultStream::per_thread) return current::thread_stream(*this);
    const std::lock_guard lock(streams_mutex_);
    return legacy_;
}

std::vector<Point> Context::order_locked(const Stream& stream) {
    std::vector<Point> after;
    for (const auto& other : streams_) {
        const bool related = stream.kind() == Stream::Kind::legacy
                                 ? other->kind() == Stream::Kind::blocking
                                 : other->kind() == Stream::Kind::legacy;
        if (!related || (other->idle() && driver().order == nullptr)) continue;
        after.push_back(other->submitted());
    }
    for (const auto& [kind, end] : retired_)
        if (stream.kind() == Stream::Kind::legacy && kind == Stream::Kind::blocking)
            after.push_back(end);
    return after;
}

Point Context::submit(Stream& stream, Stream::Work work, std::vector<Point> after,
                      Stream::Runner runner) {
    if (stream.kind() == Stream::Kind::non_blocking)
        return stream.submit(std::move(work), std::move(after), runner);
    const std::lock_guard lock(streams_mutex_);
    for (Point& point : order_locked(stream))
        after.push_back(std::move(point));
    return stream.submit(std::move(work), std::move(after), runner);
}

Point Context::submit_checked(Stream& stream, Stream::Work work, Stream::Runner runner) {
    Stream::Work checked = [this, work = std::move(work)] {
        if (error() == CUDA_SUCCESS) work();
    };
    return submit(stream, std::move(checked), {}, runner);
}

CUresult Context::run(Stream& stream, Stream::Work work, bool host_knows) {
    const Point end = submit_checked(stream, std::move(work), Stream::Runner::caller);
    end.wait();
    if (host_knows) end.know();
    return settle();
}

void Context::drain() {
    std::vector<std::shared_ptr<Stream>> streams;
    std::vector<std::pair<Stream::Kind, Point>> retired;
    {
        const std::lock_guard lock(streams_mutex_);
        streams = streams_;
        retired.swap(retired_);
    }
    for (const auto& stream : streams)
        stream->drain();
    for (const auto& [kind, end] : retired)
        end.know();
}

std::size_t Context::limit(CUlimit which) const noexcept {
    return limits_[which].load();
}

CUresult Context::set_limit(CUlimit which, std::size_t value) noexcept {
    const LimitRow* row = find_limit(which);
    if (row == nullptr) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    if (which == CU_LIMIT_STACK_SIZE && value > row->most) return CUDA_ERROR_INVALID_VALUE;
    std::size_t most = row->most;
    if (which == CU_LIMIT_PERSISTING_L2_CACHE_SIZE)
        most = static_cast<std::size_t>(device_.profile.persisting_l2_bytes());
    limits_[which] = std::min(value, most);
    return CUDA_SUCCESS;
}

bool Context::has_limit(CUlimit which) noexcept {
    return find_limit(which) != nullptr;
}

bool Context::enable_peer(const Context& peer) {
    const std::lock_guard lock(streams_mutex_);
    return peers_.insert(peer.id()).second;
}

bool Context::disable_peer(const Context& peer) {
    const std::lock_guard lock(streams_mutex_);
    return peers_.erase(peer.id()) > 0;
}

void Context::reset_limits() noexcept {
    for (const LimitRow& row : limit_rows)
        limits_[row.limit] = row.initial;
}

namespace current {
namespace {

/// State of one thread. Its default streams close when the thread ends.
struct ThreadState {
    std::uint64_t generation = 0;
    std::vector<ContextUse> stack;
    std::vector<std::shared_ptr<Stream>> streams;

    ~ThreadState() { forget(); }

    void forget() {
        for (const auto& stream : streams)
            stream->close(CUDA_ERROR_INVALID_HANDLE);
        streams.clear();
        stack.clear();
    }
};

ThreadState& thread_state() {
    thread_local ThreadState state;
    if (state.generation != driver_generation()) {
        state.forget();
        state.generation = driver_generation();
    }
    return state;
}

}  // namespace

Context* top() {
    const auto& stack = thread_state().stack;
    return stack.empty() ? nullptr : stack.back().context.get();
}

ContextUse use() {
    const auto& stack = thread_state().stack;
    return stack.empty() ? ContextUse() : stack.back();
}

void push(ContextUse use) {
    thread_state().stack.push_back(std::move(use));
}

ContextUse pop() {
    auto& stack = thread_state().stack;
    if (stack.empty()) return {};
    auto use = std::move(stack.back());
    stack.pop_back();
    return use;
}

void set(ContextUse use) {
    pop();
    if (use.context != nullptr) push(std::move(use));
}

CUresult open_context(Context*& context) {
    const auto& stack = thread_state().stack;
    context = top();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    const auto& green = stack.back().green;
    return context->is_open() && (green == nullptr || !green->is_closed())
               ? CUDA_SUCCESS
               : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

std::shared_ptr<Stream> thread_stream(Context& context) {
    auto& streams = thread_state().streams;
    std::erase_if(streams, [](const auto& stream) { return stream->closed(); });
    for (const auto& stream : streams)
        if (&stream->context() == &context) return stream;
    return streams.emplace_back(context.create_stream(Stream::Kind::blocking, 0));
}

}  // namespace current

}  // namespace lode::emulator::driver
