// `lode debug`: stops kernels on the software device, for a user at a terminal or for an editor.
#include "base/os/descriptor.hpp"
#include "base/os/file.hpp"
#include "base/try.hpp"
#include "tools/lode/commands.hpp"
#include "tools/lode/debug_front_end.hpp"
#include "tools/lode/emulate.hpp"

#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace lode::tool {
namespace {

struct DebugCommand {
    Emulation emulation;
    bool is_adapter = false;
};

/// Makes `file` another open file.
Status replace(int file, const Descriptor& with) {
    if (::dup2(with.get(), file) >= 0) return {};
    return fail_from_errno("Redirecting", std::filesystem::path("a standard file"), errno);
}

Result<DebugFrontEnd*> make_front_end(bool is_adapter) {
    Descriptor input = os::duplicate(STDIN_FILENO);
    const bool is_interactive = ::isatty(STDIN_FILENO) == 1;
    // A script is this command's, not the program's.
    if (is_adapter || !is_interactive)
        LODE_TRY(replace(STDIN_FILENO, Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC))));
    if (!is_adapter) return &make_debug_terminal(std::move(input), is_interactive);
    Descriptor output = os::duplicate(STDOUT_FILENO);
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0)
        return fail_from_errno("Making", std::filesystem::path("a pipe"), errno);
    Descriptor program_output(pipe[0]);
    const Descriptor write_end(pipe[1]);
    LODE_TRY(replace(STDOUT_FILENO, write_end));
    return &make_debug_adapter(std::move(input), std::move(output), std::move(program_output));
}

Result<Answer> debug(DebugCommand& values) {
    values.emulation.allow_unused = true;  // A user sees that nothing stops.
    LODE_TRY_ASSIGN(const auto device, find_device(values.emulation));
    LODE_TRY_ASSIGN(DebugFrontEnd* const front_end, make_front_end(values.is_adapter));
    values.emulation.begin = [&](const std::filesystem::path& folder,
                                 ChildEnvironment& environment) {
        const auto socket = folder / "debug";
        environment.emplace_back("LODE_EMULATOR_DEBUG", socket.string());
        return front_end->begin(socket, values.emulation.command);
    };
    LODE_TRY_ASSIGN(Answer answer, emulate(values.emulation, device));
    if (values.is_adapter) LODE_TRY(replace(STDOUT_FILENO, os::duplicate(STDERR_FILENO)));
    front_end->end(answer.exit_code.value_or(exit_fine), answer.notes);
    answer.notes.clear();
    return answer;
}

}  // namespace

Command declare_debug(CLI::App& app) {
    auto* command = app.add_subcommand("debug", "Debug the kernels of a program without a GPU");
    const auto values = std::make_shared<DebugCommand>();
    command
        ->add_option("COMMAND", values->emulation.command,
                     "The program and its arguments, after --")
        ->type_name("");
    command->add_flag("--dap", values->is_adapter,
                      "Speak the Debug Adapter Protocol on stdin and stdout, for an editor");
    command
        ->add_option("--devices", values->emulation.devices,
                     "The devices to show, e.g. sm_90,sm_120; otherwise LODE_EMULATOR_DEVICES, or "
                     "sm_90")
        ->type_name("ARCH,...");
    command
        ->add_option("--check", values->emulation.checks,
                     "What to check: memory, race, init, sync, streams, all or none; otherwise "
                     "LODE_EMULATOR_CHECK, or memory")
        ->type_name("CHECK,...");
    return {command,
            [values]() -> Result<Work> {
                if (values->emulation.command.empty() && !values->is_adapter) {
                    return fail(Errc::invalid_argument,
                                "COMMAND is missing: the program to debug, after --.");
                }
                return [values] { return debug(*values); };
            },
            false};
}

}  // namespace lode::tool
