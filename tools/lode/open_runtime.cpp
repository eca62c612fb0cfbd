#include "tools/lode/commands.hpp"
#include "tools/lode/output.hpp"

namespace lode::tool {

Result<Runtime> open_runtime(NoDevice no_device) {
    // Why NVRTC can't be opened is an error, which reaches the user as the command's answer: as a
    // warning too, it would be said twice.
    const Log nothing([](LogLevel /*level*/, std::string_view /*line*/) {});
    return Runtime::open(
        {.driver = {.emulator_fallback = no_device == NoDevice::take_software_device},
         .compiler = {.nvrtc = {}, .log = nothing},
         .log = warning_log()});
}

}  // namespace lode::tool
