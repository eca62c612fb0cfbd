#include "tools/lode/commands.hpp"
#include "tools/lode/output.hpp"

namespace lode::tool {

Result<Runtime> open_runtime(NoDevice no_device) {
    // If NVRTC can't be opened, the command's answer says so as an error. A warning would repeat
    // it.
    const Log nothing([](LogLevel /*level*/, std::string_view /*line*/) {});
    return Runtime::open(
        {.driver = {.emulator_fallback = no_device == NoDevice::take_software_device},
         .compiler = {.nvrtc = {}, .log = nothing},
         .log = warning_log()});
}

}  // namespace lode::tool
