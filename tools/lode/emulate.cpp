// `lode emulate`: runs a program with the software device as its CUDA driver, and collects what the
// device finds wrong in it and in its child processes.
#include "tools/lode/emulate.hpp"

#include "base/file.hpp"
#include "base/foreign_environment.hpp"
#include "base/try.hpp"
#include "tools/lode/commands.hpp"
#include "tools/lode/emulation_folder.hpp"
#include "tools/lode/emulation_report.hpp"
#include "tools/lode/misspelt_variables.hpp"
#include "tools/lode/output.hpp"
#include "tools/lode/sarif.hpp"

#include <lode/runtime/driver.hpp>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

namespace lode::tool {

Result<std::filesystem::path> find_device(const Emulation& values) {
    if (!values.devices.empty()) ::setenv("LODE_EMULATOR_DEVICES", values.devices.c_str(), 1);
    if (!values.checks.empty()) ::setenv("LODE_EMULATOR_CHECK", values.checks.c_str(), 1);
    ::unsetenv("LODE_EMULATOR_REPORT");  // It is the program's, not this command's.
    const auto driver = Driver::open({.emulator = true});
    if (!driver) {
        Error error = driver.error();
        if (!values.checks.empty()) error = in_option(error, "LODE_EMULATOR_CHECK", "--check");
        if (!values.devices.empty()) error = in_option(error, "LODE_EMULATOR_DEVICES", "--devices");
        return tl::unexpected(std::move(error));
    }
    return std::filesystem::path(driver->origin());
}

Result<Answer> emulate(const Emulation& values, const std::filesystem::path& device) {
    const HeldSignals signals;
    LODE_TRY_ASSIGN(const auto folder, EmulationFolder::create(device));
    ChildEnvironment environment = folder.environment();
    if (values.begin) {
        LODE_TRY_ASSIGN(const bool begins, values.begin(folder.path(), environment));
        if (!begins) return Answer{};
    }
    write_stderr(message_text(
        fmt::format(
            "lode: The software device ({}) is the CUDA driver of '{}' and its child processes.\n",
            device.string(), values.command.front()),
        text_width(STDERR_FILENO)));
    for (const auto& [name, meant] : misspelt_variables())
        write_stderr(fmt::format(
            "lode: {} is set, but lode has no such variable. {} may be meant.\n", name, meant));
    const ChildEnd end = run_child(values.command, environment, values.output);

    Answer answer;
    EmulationReport report;
    int exit_code = end.exit_code;
    if (end.start_error != 0) {
        answer.failure = start_failure(values.command.front(), end.start_error);
    } else {
        report = EmulationReport::read(read_text(folder.journal()).value_or(""));
        answer.notes = report.text(!log_is_on_stderr());
        const auto visible = foreign_environment("CUDA_VISIBLE_DEVICES");
        if (report.is_unused() && visible) {
            answer.notes += fmt::format(
                "lode: CUDA_VISIBLE_DEVICES is '{}', which also hides devices of the software "
                "device.\n",
                *visible);
        }
        if (report.has_failures()) exit_code = exit_failed;
        if (report.is_unused() && !values.allow_unused && exit_code == exit_fine) {
            answer.notes +=
                "lode: Nothing was checked, so this fails; --allow-unused accepts it.\n";
            exit_code = exit_failed;
        }
    }
    if (!values.findings.empty()) {
        const Json sarif = sarif_of(report, LODE_VERSION, std::filesystem::current_path());
        LODE_TRY(write_result(values.findings, dump(sarif)));
    }
    answer.notes = message_text(answer.notes, text_width(STDERR_FILENO));
    answer.exit_code = exit_code;
    answer.fields = {
        {"ok", exit_code == exit_fine}, {"program", values.command}, {"exit_code", exit_code}};
    answer.fields.update(report.json());
    return answer;
}

Command declare_emulate(CLI::App& app) {
    auto* command =
        app.add_subcommand("emulate", "Run a program with the software device as its CUDA driver");
    const auto values = std::make_shared<Emulation>();
    command->add_option("COMMAND", values->command, "The program and its arguments, after --")
        ->required()
        ->type_name("");
    command
        ->add_option("--devices", values->devices,
                     "The devices to show, e.g. sm_90,sm_120; otherwise LODE_EMULATOR_DEVICES, or "
                     "sm_90")
        ->type_name("ARCH,...");
    command
        ->add_option("--check", values->checks,
                     "What to check: memory, race, init, sync, streams, all or none; otherwise "
                     "LODE_EMULATOR_CHECK, or memory")
        ->type_name("CHECK,...");
    const auto* findings =
        command
            ->add_option("--findings", values->findings, "Write the findings to a file, as SARIF")
            ->type_name("FILE");
    command->add_flag("--allow-unused", values->allow_unused,
                      "Succeed even if no process uses the software device");
    command->footer(
        "With --json, what the program writes to stdout goes to stderr: stdout has the report. "
        "With "
        "--json=FILE the program's stdout is its own.");
    return {command,
            [command, values]() -> Result<Work> {
                const auto& json = command->get_option("--json")->results();
                if (json == std::vector<std::string>{json_to_stdout})
                    values->output = ChildOutput::to_stderr;
                return [values]() -> Result<Answer> {
                    LODE_TRY_ASSIGN(const auto device, find_device(*values));
                    return emulate(*values, device);
                };
            },
            true,
            false,
            {},
            {findings}};
}

}  // namespace lode::tool
