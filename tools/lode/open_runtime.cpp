#include "base/try.hpp"
#include "tools/lode/commands.hpp"
#include "tools/lode/output.hpp"

#include <utility>

namespace lode::tool {

Result<Runtime> open_runtime(NoDevice no_device, CompileEventHook events) {
    LODE_TRY_ASSIGN(auto cache, CacheOptions::from_environment());
    cache.events = std::move(events);
    // If NVRTC can't be opened, the command's answer says so as an error. A warning would repeat
    // it.
    const Log nothing([](LogLevel /*level*/, std::string_view /*line*/) {});
    return Runtime::open(
        {.driver = {.emulator_fallback = no_device == NoDevice::take_software_device},
         .compiler = {.nvrtc = {}, .log = nothing},
         .cache = std::move(cache),
         .log = warning_log()});
}

}  // namespace lode::tool
