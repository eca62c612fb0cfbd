// A hook of the test interface that sees every driver call and may fail it.
#pragma once

namespace lode::emulator::driver::call_hook {

/// The result that the hook wants a call to return; 0 if the call shall be carried out, or if there
/// is no hook. `symbol` may have a version.
int ask(const char* symbol) noexcept;

}  // namespace lode::emulator::driver::call_hook
