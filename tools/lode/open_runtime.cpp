#include "base/try.hpp"
#include "jit/worker/program.hpp"
#include "tools/lode/commands.hpp"
#include "tools/lode/output.hpp"

#include <lode/base/environment.hpp>

#include <utility>

namespace lode::tool {

Result<CacheOptions> options_to_compile(std::optional<int> jobs) {
    LODE_TRY_ASSIGN(auto cache, CacheOptions::from_environment());
    cache.log = warning_log();
    auto& workers = cache.workers;
    const bool is_chosen = environment("LODE_WORKERS").has_value();
    if (jobs.value_or(1) > 1 || (!is_chosen && worker::find_program({})))
        workers.policy = WorkerPolicy::always;
    if (jobs || !is_chosen) workers.max_processes = jobs.value_or(1);
    return cache;
}

Result<Runtime> open_runtime(NoDevice no_device, CompileEventHook events) {
    LODE_TRY_ASSIGN(auto cache, options_to_compile({}));
    cache.events = std::move(events);
    // If NVRTC can't be opened, the command's answer says so as an error. A warning would repeat
    // it.
    const Log nothing([](LogLevel /*level*/, std::string_view /*line*/) {});
    return Runtime::open(
        {.driver = {.emulator_fallback = no_device != NoDevice::fail},
         .compiler = {.nvrtc = {}, .log = nothing},
         .cache = std::move(cache),
         .log = no_device == NoDevice::take_software_device_silently ? nothing : warning_log()});
}

}  // namespace lode::tool
