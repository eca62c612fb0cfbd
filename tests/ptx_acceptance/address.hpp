// Operands from the grammar of addresses, right and wrong ones.
#pragma once

#include "random.hpp"

#include <string>

namespace lode::ptx_acceptance {

/// Such as "[garr+4]", "garr[%u32_7+-1]" or "[(%u64_7)-2*4]". `base` is what the address is of; a
/// random one if it is empty.
[[nodiscard]] std::string random_address(Random& random, const std::string& base);

}  // namespace lode::ptx_acceptance
