#include "c/handles.hpp"

#include <algorithm>
#include <string>
#include <string_view>

using lode::c::guarded;
using lode::c::read_struct;
using lode::c::require;
using lode::c::write_struct;

namespace {

std::string text_or_empty(const char* text) {
    return text == nullptr ? std::string() : std::string(text);
}

lode::Result<lode::RuntimeOptions> to_options(const lode_runtime_options& given) {
    lode::RuntimeOptions options;
    options.driver.library = text_or_empty(given.driver);
    options.driver.emulator = given.emulator != 0;
    options.driver.emulator_fallback = given.emulator_fallback != 0;
    options.compiler.nvrtc = text_or_empty(given.compiler);
    options.sync_launches = given.sync_launches != 0;
    if (given.log != nullptr) {
        options.log = lode::Log(
            [hook = given.log, user = given.log_user](lode::LogLevel level, std::string_view line) {
                hook(user, static_cast<int32_t>(level), std::string(line).c_str());
            });
    }
    if (given.cache_folder != nullptr) {
        LODE_TRY_ASSIGN(auto cache, lode::CacheOptions::from_environment());
        cache.folder = given.cache_folder;
        options.cache = std::move(cache);
    }
    return options;
}

}  // namespace

lode_status lode_runtime_open(const lode_runtime_options* options, lode_runtime** runtime) {
    return guarded([&]() -> lode::Status {
        LODE_TRY(require({{"runtime", runtime}}));
        LODE_TRY_ASSIGN(const auto given, read_struct("lode_runtime_options", options));
        LODE_TRY_ASSIGN(const auto opening, to_options(given));
        LODE_TRY_ASSIGN(auto opened, lode::Runtime::open(opening));
        *runtime = new lode_runtime{std::move(opened)};
        return {};
    });
}

void lode_runtime_free(lode_runtime* runtime) {
    delete runtime;
}

lode_status lode_runtime_quiesce(const lode_runtime* runtime) {
    return guarded([&]() -> lode::Status {
        LODE_TRY(require({{"runtime", runtime}}));
        return runtime->runtime.quiesce();
    });
}

void lode_runtime_resume(const lode_runtime* runtime) {
    if (runtime != nullptr) runtime->runtime.resume();
}

lode_status lode_runtime_device_count(const lode_runtime* runtime, int32_t* count) {
    return guarded([&]() -> lode::Status {
        LODE_TRY(require({{"runtime", runtime}, {"count", count}}));
        *count = runtime->runtime.device_count();
        return {};
    });
}

lode_status lode_device_open(const lode_runtime* runtime, int32_t ordinal, lode_device** device) {
    return guarded([&]() -> lode::Status {
        LODE_TRY(require({{"runtime", runtime}, {"device", device}}));
        LODE_TRY_ASSIGN(auto opened, runtime->runtime.device(ordinal));
        *device = new lode_device{std::move(opened)};
        return {};
    });
}

void lode_device_free(lode_device* device) {
    delete device;
}

lode_status lode_device_get_properties(const lode_device* device,
                                       lode_device_properties* properties) {
    return guarded([&]() -> lode::Status {
        LODE_TRY(require({{"device", device}, {"properties", properties}}));
        const lode::DeviceProperties& from = device->device.properties();
        lode_device_properties to{};
        from.name.copy(to.name, sizeof to.name - 1);
        to.ordinal = from.ordinal;
        to.cc_major = from.cc.cc_major();
        to.cc_minor = from.cc.cc_minor();
        to.multiprocessors = from.multiprocessors;
        to.warp_size = from.warp_size;
        to.max_threads_per_block = from.max_threads_per_block;
        to.total_memory = from.total_memory_bytes;
        to.shared_per_block = from.shared_bytes_per_block_optin;
        return write_struct("lode_device_properties", to, properties);
    });
}

lode_status lode_device_sync(const lode_device* device) {
    return guarded([&]() -> lode::Status {
        LODE_TRY(require({{"device", device}}));
        return device->device.sync();
    });
}
