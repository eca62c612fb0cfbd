#pragma once

#include "tests/tools/process.hpp"

namespace lode::test {

/// The environment of a machine with the scripted driver.
inline const Environment scripted = {{"LODE_DRIVER", LODE_SCRIPTED_DRIVER}};

}  // namespace lode::test
