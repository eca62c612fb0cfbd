// DebugFrontEnd: what talks to `lode debug`: an editor, or a user at a terminal.
#pragma once

#include "base/os/descriptor.hpp"
#include "tools/lode/child_process.hpp"

#include <lode/base/error.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace lode::tool {

/// Lives as long as the process: one of its threads may wait for input at the end.
class DebugFrontEnd {
public:
    virtual ~DebugFrontEnd() = default;
    /// Listens at `socket`, and waits until the program is to start; false if it isn't to start at
    /// all. An editor may change the command.
    [[nodiscard]] virtual Result<bool> begin(const std::filesystem::path& socket,
                                             std::vector<std::string>& command) = 0;
    /// The program has ended. `notes` is what `lode emulate` would say.
    virtual void end(int exit_code, const std::string& notes) = 0;
};

/// Speaks the Debug Adapter Protocol. What the program writes to stdout and stderr comes through
/// `program_output`.
[[nodiscard]] DebugFrontEnd& make_debug_adapter(Descriptor input, Descriptor output,
                                                Descriptor program_output);
/// Reads commands, a line each, from `input`, and writes to stdout.
[[nodiscard]] DebugFrontEnd& make_debug_terminal(Descriptor input, bool is_interactive);

}  // namespace lode::tool
