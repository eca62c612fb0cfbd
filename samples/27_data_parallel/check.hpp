// Ends the sample as failed unless something holds.
#pragma once

#include <stdexcept>
#include <string>

namespace sample {

inline void check(bool holds, const std::string& what) {
    if (!holds) throw std::runtime_error("failed: " + what);
}

}  // namespace sample
