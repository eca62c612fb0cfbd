// In builds without the compiled tier, all kernels are interpreted.
#include "emulator/exec/compiled/region.hpp"

namespace lode::emulator::exec {

std::shared_ptr<Regions> find_regions(Code&) {
    return nullptr;
}

}  // namespace lode::emulator::exec
