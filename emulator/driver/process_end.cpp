// What is still allocated, or was never loaded, when the process ends.
#include "emulator/driver/code/machine_code.hpp"
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/log.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace lode::emulator::driver {
namespace {

constexpr std::size_t most_last_lines = 32;

/// Runs after the destructors of the program's objects, which may free memory.
[[gnu::destructor]] void report_at_end() noexcept {
    if (gate::forked() || !is_initialised()) return;
    (void)gate::guarded([]() -> CUresult {
        machine_code::report_missing();
        const std::vector<std::string> living = driver().allocations.describe_living();
        for (std::size_t k = 0; k < std::min(living.size(), most_last_lines); ++k)
            log::show_last(fmt::format("The process ends while {} is still alive.", living[k]));
        if (living.size() > most_last_lines) {
            log::show_last(
                fmt::format("The process ends while {} more allocations are still alive.",
                            living.size() - most_last_lines));
        }
        return CUDA_SUCCESS;
    });
}

}  // namespace
}  // namespace lode::emulator::driver
