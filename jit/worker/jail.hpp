// A worker's jail, as the host knows it. The worker's part is tools/worker/enter_jail.hpp.
//
// A jailed worker is started for its jail (an argument of the program), opens the compiler, gives
// up its rights for good and only then reads its request. It serves no other one.
#pragma once

#include "jit/worker/message.hpp"

#include <lode/base/error.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE::worker {

/// A setup as one argument of the program, and back. Errors: invalid_image.
[[nodiscard]] std::string to_argument(const JailSetup& setup);
[[nodiscard]] Result<JailSetup> setup_of_argument(std::string_view argument);

/// The variables of this process, as "NAME=value"; only those of the compiler and the loader for a
/// jail.
[[nodiscard]] std::vector<std::string> worker_environment(bool is_jailed);

}  // namespace LODE_NAMESPACE::worker
