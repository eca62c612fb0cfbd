// Where the text of device printf goes.
#pragma once

#include <string_view>

namespace lode::emulator::driver::print_hook {

/// Passes the text to the hook of the test interface; false if there is none.
bool call(std::string_view text);

}  // namespace lode::emulator::driver::print_hook
