#include "emulator/decode/waits.hpp"

#include <algorithm>
#include <string_view>

namespace lode::emulator::decode {

bool may_wait(const ptx::Function& function) {
    return std::ranges::any_of(function.instructions, [](const ptx::Instruction& each) {
        const std::string_view opcode = each.opcode;
        const auto has = [&](std::string_view word) { return opcode.find(word) != opcode.npos; };
        if (has(".shared::cta") || has(".shared.") || has(".local")) return false;
        if (opcode.starts_with("ld."))
            return has(".volatile") || has(".relaxed") || has(".acquire") || has(".mmio") ||
                   has(".cg.") || has(".cv.");
        return opcode.starts_with("atom.") || opcode.starts_with("nanosleep") ||
               opcode.starts_with("multimem.ld_reduce") ||
               opcode.starts_with("clusterlaunchcontrol");
    });
}

}  // namespace lode::emulator::decode
