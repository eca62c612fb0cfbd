// In builds without the compiled tier, all kernels are interpreted.
#include "emulator/isa/regions.hpp"

namespace lode::emulator::exec {

std::shared_ptr<Regions> find_regions(Code&) {
    return nullptr;
}

}  // namespace lode::emulator::exec
