#include "emulator/driver/control.h"

#include "emulator/driver/code/symbols.hpp"
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/launch/call_hook.hpp"
#include "emulator/driver/launch/print_hook.hpp"
#include "emulator/driver/log.hpp"
#include "emulator/driver/version.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <string>

namespace lode::emulator::driver {
namespace {

long size_of(std::size_t count) noexcept {
    return static_cast<long>(count);
}

long primary_references(Driver& state) {
    long references = 0;
    for (const auto& device : state.devices) {
        const std::lock_guard lock(device->primary_mutex);
        references += device->primary_references;
    }
    return references;
}

long own_modules(Driver& state) {
    long modules = 0;
    state.modules.for_each([&](const LoadedModule& module) {
        if (!module.in_library()) ++modules;
    });
    return modules;
}

long own_arrays(Driver& state) {
    long arrays = size_of(state.mipmapped_arrays.size());
    state.arrays.for_each([&](const Array& array) {
        if (!array.is_level()) ++arrays;
    });
    return arrays;
}

struct KindRow {
    const char* name;
    long (*count)(Driver& state);
};

/// Indexed by lode_emulator_kind.
constexpr KindRow kinds[] = {
    {"primary context references", primary_references},
    {"contexts", [](Driver& state) { return state.created_contexts.load(); }},
    {"streams", [](Driver& state) { return size_of(state.streams.size()); }},
    {"events", [](Driver& state) { return size_of(state.events.size()); }},
    {"libraries", [](Driver& state) { return size_of(state.libraries.size()); }},
    {"modules", own_modules},
    {"device allocations",
     [](Driver& state) {
         return state.allocations.count({MemoryKind::device, MemoryKind::managed});
     }},
    {"host allocations",
     [](Driver& state) { return state.allocations.count({MemoryKind::pinned}); }},
    {"host registrations",
     [](Driver& state) { return state.allocations.count({MemoryKind::registered}); }},
    {"memory pools",
     [](Driver& state) {
         return size_of(state.pools.size()) - size_of(state.devices.size()) -
                size_of(state.pool_places.size());
     }},
    {"address ranges", [](Driver& state) { return size_of(state.virtual_memory.ranges()); }},
    {"physical memory", [](Driver& state) { return size_of(state.physical_memory.size()); }},
    {"graphs", [](Driver& state) { return state.graph_tables.own_graphs(); }},
    {"executable graphs", [](Driver& state) { return size_of(state.graph_tables.execs.size()); }},
    {"user objects", [](Driver& state) { return size_of(state.graph_tables.objects.size()); }},
    {"arrays", own_arrays},
    {"texture and surface objects", [](Driver& state) { return size_of(state.images.size()); }},
    {"green contexts", [](Driver& state) { return size_of(state.green_contexts.size()); }},
    {"links", [](Driver& state) { return size_of(state.links.size()); }},
    {"imported memory", [](Driver& state) { return size_of(state.imports.count()); }},
    {"external memory and semaphores",
     [](Driver& state) {
         return size_of(state.external_memory.size() + state.external_semaphores.size());
     }},
    {"leaks", [](Driver& state) { return state.leaks.load(); }},
};
static_assert(std::size(kinds) == LODE_EMULATOR_KINDS);

bool is_kind(int kind) noexcept {
    return kind >= 0 && kind < LODE_EMULATOR_KINDS;
}

}  // namespace
}  // namespace lode::emulator::driver

namespace lode::emulator::driver::print_hook {
namespace {

/// Never destroyed: kernels may print while the process ends.
struct PrintHook {
    std::mutex mutex;
    lode_emulator_print_hook hook = nullptr;
    void* user = nullptr;
};

PrintHook& current_hook() {
    static auto& current = *new PrintHook;
    return current;
}

}  // namespace

bool call(std::string_view text) {
    PrintHook& current = current_hook();
    const std::lock_guard lock(current.mutex);
    if (current.hook == nullptr) return false;
    current.hook(current.user, text.data(), text.size());
    return true;
}

}  // namespace lode::emulator::driver::print_hook

namespace lode::emulator::driver::call_hook {
namespace {

/// Never destroyed: a driver call may come as late as the process ends.
struct CallHook {
    std::atomic<bool> is_set{false};  ///< So that calls without a hook take no lock.
    std::mutex mutex;
    lode_emulator_call_hook hook = nullptr;
    void* user = nullptr;
};

CallHook& current_call_hook() {
    static auto& current = *new CallHook;
    return current;
}

}  // namespace

int ask(const char* symbol) noexcept {
    CallHook& current = current_call_hook();
    if (!current.is_set.load(std::memory_order_acquire)) [[likely]]
        return CUDA_SUCCESS;
    return gate::guarded([&] {
        const std::lock_guard lock(current.mutex);
        if (current.hook == nullptr) return CUDA_SUCCESS;
        const std::string entry(symbols::unversioned(symbol));
        return static_cast<CUresult>(current.hook(current.user, entry.c_str()));
    });
}

}  // namespace lode::emulator::driver::call_hook

using lode::emulator::parse_devices;
using lode::emulator::Profile;
using namespace lode::emulator::driver;

int lode_emulator_reset(const char* devices) {
    const CUresult result = gate::guarded([&]() -> CUresult {
        std::optional<std::vector<const Profile*>> machine;
        if (devices != nullptr) {
            auto parsed = parse_devices(devices);
            if (!parsed) {
                log::write(log::Level::error, parsed.error().message);
                return CUDA_ERROR_INVALID_VALUE;
            }
            machine = *std::move(parsed);
        }
        replace_driver(std::move(machine));
        gate::clear();
        log::clear();
        override_version(0);
        return CUDA_SUCCESS;
    });
    return result == CUDA_SUCCESS ? 0 : -1;
}

void lode_emulator_show_all(void) {
    (void)gate::guarded([]() -> CUresult {
        driver().shows_all = true;
        return CUDA_SUCCESS;
    });
}

void lode_emulator_set_default_timeout(unsigned long milliseconds) {
    set_default_timeout(milliseconds);
}

void lode_emulator_refuse(const char* name) {
    (void)gate::refuse(name);
}

void lode_emulator_set_driver_version(int version) {
    override_version(version);
}

void lode_emulator_fail_call(unsigned long n, int result) {
    gate::order(n, static_cast<CUresult>(result));
}

void lode_emulator_set_calls(lode_emulator_call_hook hook, void* user) {
    auto& current = call_hook::current_call_hook();
    const std::lock_guard lock(current.mutex);
    current.hook = hook;
    current.user = user;
    current.is_set.store(hook != nullptr, std::memory_order_release);
}

unsigned long lode_emulator_call_count(void) {
    return gate::calls();
}

const char* lode_emulator_failed_call(void) {
    thread_local std::string name;
    name = gate::hit();
    return name.empty() ? nullptr : name.c_str();
}

long lode_emulator_live(int kind) {
    return is_kind(kind) ? kinds[kind].count(driver()) : -1;
}

const char* lode_emulator_kind_name(int kind) {
    return is_kind(kind) ? kinds[kind].name : nullptr;
}

void lode_emulator_set_log(lode_emulator_log_hook hook, void* user) {
    log::set_hook(hook, user);
}

void lode_emulator_set_print(lode_emulator_print_hook hook, void* user) {
    auto& current = print_hook::current_hook();
    const std::lock_guard lock(current.mutex);
    if (hook == nullptr && current.user != user) return;
    current.hook = hook;
    current.user = hook == nullptr ? nullptr : user;
}

int lode_emulator_set_lines(void* library, lode_emulator_lines_hook hook, void* user) {
    using lode::emulator::LineSource;
    const auto found = driver().libraries.find(static_cast<CUlibrary>(library));
    if (found == nullptr) return -1;
    if (hook == nullptr) {
        found->lines()->set({});
        return 0;
    }
    found->lines()->set([hook, user](const LineSource::Take& take) {
        const auto give = [](void* to, const char* ptx, std::size_t length) {
            (void)gate::guarded([&] {
                (*static_cast<const LineSource::Take*>(to))({ptx, length});
                return CUDA_SUCCESS;
            });
        };
        hook(user, give, const_cast<LineSource::Take*>(&take));
    });
    return 0;
}

size_t lode_emulator_take_report(char* text, size_t room) {
    const std::string report = log::take_report();
    if (text != nullptr && room > 0) {
        const std::size_t length = std::min(report.size(), room - 1);
        std::memcpy(text, report.data(), length);
        text[length] = '\0';
    }
    return report.size();
}
