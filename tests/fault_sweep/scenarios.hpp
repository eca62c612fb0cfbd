// The programs that the fault sweep runs besides its main one. Each calls entry points of one
// subject, and returns the first error.
#pragma once

#include "tests/unit/runtime/support.hpp"

namespace lode::test {

/// Limits, stream attributes, cluster occupancy and prepared launches.
Status launch_scenario(FakeDriver& fake, const Log& log);

}  // namespace lode::test
