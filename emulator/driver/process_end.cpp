// What a process reports when it ends: what is still allocated, what was never loaded, and how many
// launches kernels have made.
#include "emulator/driver/code/machine_code.hpp"
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/journal.hpp"
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
        if (const std::uint64_t children = driver().child_launches; children != 0)
            journal::add(journal::Kind::children, {}, std::to_string(children));
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
