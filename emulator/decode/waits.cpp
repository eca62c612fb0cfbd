#include "emulator/decode/waits.hpp"

#include <algorithm>

namespace lode::emulator::decode {

bool may_wait(const ptx::Function& function) {
    return std::ranges::any_of(function.instructions, [](const ptx::Instruction& each) {
        const ptx::Reading& reading = *each.reading;
        const auto has = [&](ptx::Word word) { return reading.has(word); };
        if (has("shared") || has("shared::cta") || has("local")) return false;
        const ptx::Word name = reading.name();
        if (name == "ld")
            return has("volatile") || has("relaxed") || has("acquire") || has("cg") || has("cv");
        return name == "atom" || name == "nanosleep" || name == "clusterlaunchcontrol" ||
               (name == "multimem" && has("ld_reduce"));
    });
}

}  // namespace lode::emulator::decode
