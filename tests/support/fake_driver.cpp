#include "tests/support/fake_driver.hpp"

#include "tests/support/fake_driver_state.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <unistd.h>

namespace lode::test {
namespace {

constexpr std::size_t slots = 4;
std::array<std::atomic<FakeDriver::State*>, slots> in_slot{};

/// A plain function that calls one method of the fake in one slot; the resolver returns these.
template <std::size_t Slot, Row Which, auto Method>
struct Trampoline;

template <std::size_t Slot, Row Which, class... Parameters,
          CUresult (FakeDriver::State::*Method)(Parameters...)>
struct Trampoline<Slot, Which, Method> {
    static inline const char* name = nullptr;
    static CUresult CUDAAPI call(Parameters... parameters) {
        FakeDriver::State* const state = in_slot[Slot];
        if (state == nullptr) return CUDA_ERROR_DEINITIALIZED;
        const std::lock_guard guard(state->mutex);
        const CUresult early = state->enter(Which, name);
        return state->log_failure(name,
                                  early != CUDA_SUCCESS ? early : (state->*Method)(parameters...));
    }
};

struct Entry {
    const char* name;
    int abi;
    std::array<void*, slots> functions;
};

template <Row Which, auto Method, class Expected>
Entry make_entry(const char* name, int abi) {
    static_assert(std::is_same_v<decltype(&Trampoline<0, Which, Method>::call), Expected>,
                  "a fake entry point has the same signature as the driver's");
    const auto for_each_slot = [&]<std::size_t... Slot>(std::index_sequence<Slot...>) {
        ((Trampoline<Slot, Which, Method>::name = name), ...);
        return std::array{reinterpret_cast<void*>(&Trampoline<Slot, Which, Method>::call)...};
    };
    return {name, abi, for_each_slot(std::make_index_sequence<slots>{})};
}

/// The rows that the fake has a method for; a driver may lack the others, which are optional.
const std::vector<Entry>& entries() {
    static const std::vector<Entry> all = [] {
        std::vector<Entry> found;
#define X(symbol, version, need)                                                                  \
    [&]<class S>(S*) {                                                                            \
        if constexpr (requires { &S::symbol; })                                                   \
            found.push_back(make_entry<Row::symbol##_row, &S::symbol, PFN_##symbol##_v##version>( \
                #symbol, version));                                                               \
    }(static_cast<FakeDriver::State*>(nullptr));
#include "runtime/driver/symbols.def"
#undef X
        return found;
    }();
    return all;
}

std::atomic<std::size_t> next_generation{1};

}  // namespace

FakeDriver::State::State(Options given, FakeDriver& owner)
    : facade(owner), options(std::move(given)), process(::getpid()), generation(next_generation++) {
    for (std::size_t i = 0; i < options.devices.size(); ++i) {
        contexts.push_back(std::make_unique<FakeContext>());
        contexts.back()->ordinal = static_cast<int>(i);
    }
    for (std::size_t i = 0; i < slots && slot < 0; ++i) {
        State* none = nullptr;
        if (in_slot[i].compare_exchange_strong(none, this)) slot = static_cast<int>(i);
    }
    if (slot < 0) throw std::logic_error("too many fake drivers exist at a time");
}

FakeDriver::State::~State() {
    in_slot[static_cast<std::size_t>(slot)] = nullptr;
}

CUresult FakeDriver::State::enter(Row row, const char* name) {
    if (row == Row::cuGetErrorName_row || row == Row::cuGetErrorString_row) return CUDA_SUCCESS;
    ++call_count;
    ++calls_by_name[name];
    const bool needs_init = row != Row::cuInit_row && row != Row::cuDriverGetVersion_row;
    if (::getpid() != process || (needs_init && !initialised)) return CUDA_ERROR_NOT_INITIALIZED;
    if (call_count == fail_at) {
        struck = name;
        return fail_code;
    }
    const auto found = always.find(name);
    return found == always.end() ? CUDA_SUCCESS : found->second;
}

CUresult FakeDriver::State::log_failure(const char* name, CUresult result) {
    if (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY) return result;
    std::vector<std::string> lines = std::exchange(facade.failure_lines, {});
    if (!lines.empty())
        lines.push_back("Returning " + std::to_string(result) + " (A_NAME) from " + name);
    for (const auto& [handle, callback] : log_callbacks) {
        for (std::string& line : lines)
            callback.function(callback.data, CU_LOG_LEVEL_ERROR, line.data(), line.size());
    }
    return result;
}

CUresult FakeDriver::State::cuLogsRegisterCallback(CUlogsCallback function, void* data,
                                                   CUlogsCallbackHandle* handle) {
    *handle = reinterpret_cast<CUlogsCallbackHandle>(++last_log_callback);
    log_callbacks[*handle] = {function, data};
    return CUDA_SUCCESS;
}

CUresult FakeDriver::State::cuLogsUnregisterCallback(CUlogsCallbackHandle handle) {
    return log_callbacks.erase(handle) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

std::vector<CUcontext>& FakeDriver::State::stack() const {
    thread_local std::map<std::size_t, std::vector<CUcontext>> stacks;
    return stacks[generation];
}

FakeContext* FakeDriver::State::context_of(CUcontext context) const {
    for (const auto& known : contexts) {
        if (reinterpret_cast<CUcontext>(known.get()) == context && known->retained > 0)
            return known.get();
    }
    return nullptr;
}

FakeContext* FakeDriver::State::current() const {
    return stack().empty() ? nullptr : context_of(stack().back());
}

CUresult FakeDriver::State::check_current() const {
    const auto* context = current();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (!context->is_active) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    const auto found = broken.find(context->ordinal);
    return found == broken.end() ? CUDA_SUCCESS : found->second;
}

CUresult FakeDriver::State::check_stream(CUstream stream) const {
    if (stream == nullptr) return check_current();
    const auto found = streams.find(stream);
    if (found == streams.end()) return CUDA_ERROR_INVALID_HANDLE;
    const auto sick = broken.find(found->second->ordinal);
    return sick == broken.end() ? CUDA_SUCCESS : sick->second;
}

FakeDriver::FakeDriver() : FakeDriver(Options{}) {}
FakeDriver::FakeDriver(Options options)
    : state_(std::make_unique<State>(std::move(options), *this)) {}
FakeDriver::~FakeDriver() = default;

DriverResolver FakeDriver::resolver() {
    return [this](const char* name, int abi) -> void* {
        if (state_->options.hidden.contains(name)) return nullptr;
        for (const auto& entry : entries()) {
            if (std::string_view(entry.name) != name || entry.abi != abi) continue;
            return abi > state_->options.version
                       ? nullptr
                       : entry.functions.at(static_cast<std::size_t>(state_->slot));
        }
        return nullptr;
    };
}

Result<Driver> FakeDriver::open(Log log) {
    return Driver::from_resolver(resolver(), "the fake driver", std::move(log));
}

void FakeDriver::fail_call(std::size_t n, CUresult code) {
    const std::lock_guard guard(state_->mutex);
    state_->fail_at = state_->call_count + n;
    state_->fail_code = code;
    state_->struck.clear();
}

void FakeDriver::fail_always(const std::string& name, CUresult code) {
    const std::lock_guard guard(state_->mutex);
    if (code == CUDA_SUCCESS) {
        state_->always.erase(name);
    } else {
        state_->always[name] = code;
    }
}

void FakeDriver::break_device(int ordinal, CUresult code) {
    const std::lock_guard guard(state_->mutex);
    state_->broken[ordinal] = code;
}

void FakeDriver::reset_device(int ordinal) {
    const std::lock_guard guard(state_->mutex);
    const auto ours = [&](const auto& entry) { return entry.second->ordinal == ordinal; };
    std::erase_if(state_->streams, ours);
    std::erase_if(state_->events, ours);
    std::erase_if(state_->memory,
                  [&](const auto& entry) { return entry.second.ordinal == ordinal; });
    state_->contexts.at(static_cast<std::size_t>(ordinal))->is_active = false;
}

void FakeDriver::set_capturing(CUstream stream, bool capturing) {
    const std::lock_guard guard(state_->mutex);
    state_->streams.at(stream)->capturing = capturing;
}

std::size_t FakeDriver::calls() const {
    const std::lock_guard guard(state_->mutex);
    return state_->call_count;
}

std::size_t FakeDriver::calls(const std::string& name) const {
    const std::lock_guard guard(state_->mutex);
    const auto found = state_->calls_by_name.find(name);
    return found == state_->calls_by_name.end() ? 0 : found->second;
}

std::string FakeDriver::failed_call() const {
    return state_->struck;
}

std::size_t FakeDriver::live_handles() const {
    const std::lock_guard guard(state_->mutex);
    const auto retained = std::ranges::count_if(
        state_->contexts, [](const auto& context) { return context->retained > 0; });
    return static_cast<std::size_t>(retained) + state_->streams.size() + state_->events.size() +
           state_->memory.size() + state_->pinned.size() + state_->libraries.size();
}

std::size_t FakeDriver::log_listeners() const {
    const std::lock_guard guard(state_->mutex);
    return state_->log_callbacks.size();
}

const std::vector<FakeLaunch>& FakeDriver::launches() const {
    return state_->launch_log;
}

int FakeDriver::attribute(const std::string& symbol, CUfunction_attribute attribute) const {
    for (const auto& [handle, library] : state_->libraries) {
        for (const auto& kernel : library->kernels) {
            if (kernel->signature.kernel == symbol) return kernel->attributes.at(attribute);
        }
    }
    return -1;
}

const std::map<CUjit_option, std::uintptr_t>& FakeDriver::jit_options() const {
    return state_->last_jit_options;
}

std::vector<CUcontext> FakeDriver::context_stack() const {
    return state_->stack();
}

CUcontext FakeDriver::retain(int ordinal) {
    CUcontext context = nullptr;
    state_->cuDevicePrimaryCtxRetain(&context, ordinal);
    return context;
}

void FakeDriver::release(int ordinal) {
    state_->cuDevicePrimaryCtxRelease(ordinal);
}

void FakeDriver::push(CUcontext context) {
    state_->cuCtxPushCurrent(context);
}

void FakeDriver::pop() {
    CUcontext popped = nullptr;
    state_->cuCtxPopCurrent(&popped);
}

}  // namespace lode::test
