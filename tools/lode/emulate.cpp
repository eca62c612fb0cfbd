// `lode emulate`: runs a program with the software device as its CUDA driver, and collects what the
// device finds wrong in it and in its child processes.
#include "base/file.hpp"
#include "base/try.hpp"
#include "tools/lode/commands.hpp"
#include "tools/lode/emulation_folder.hpp"
#include "tools/lode/emulation_report.hpp"
#include "tools/lode/output.hpp"
#include "tools/lode/sarif.hpp"
#include "tools/lode/suggestion.hpp"

#include <lode/runtime/driver.hpp>

#include <cstdlib>
#include <memory>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

namespace lode::tool {
namespace {

struct EmulateCommand {
    std::vector<std::string> command;
    std::string devices;
    std::string checks;
    std::string json;
    std::string findings;
};

/// An error about the variables that stand for options, in terms of the options.
Error in_options(Error error, const EmulateCommand& values) {
    const auto replace = [&](std::string_view variable, std::string_view option) {
        const auto at = error.message.find(variable);
        if (at != std::string::npos) error.message.replace(at, variable.size(), option);
        return at != std::string::npos;
    };
    if (!values.checks.empty()) replace("LODE_EMULATOR_CHECK", "--check");
    if (values.devices.empty() || !replace("LODE_EMULATOR_DEVICES", "--devices")) return error;
    std::istringstream devices(values.devices);
    for (std::string device; std::getline(devices, device, ',');) {
        const auto meant = suggested_arch(device);
        if (meant.empty() || meant == device) continue;
        error.message += did_you_mean(meant);
        break;
    }
    return error;
}

/// The library of the software device. Opening it here reports wrong devices and checks before the
/// program starts.
Result<std::filesystem::path> find_device(const EmulateCommand& values) {
    if (!values.devices.empty()) ::setenv("LODE_EMULATOR_DEVICES", values.devices.c_str(), 1);
    if (!values.checks.empty()) ::setenv("LODE_EMULATOR_CHECK", values.checks.c_str(), 1);
    ::unsetenv("LODE_EMULATOR_REPORT");  // It is the program's, not this command's.
    const auto driver = Driver::open({.emulator = true});
    if (!driver) return tl::unexpected(in_options(driver.error(), values));
    return std::filesystem::path(driver->origin());
}

Error start_failure(const std::string& program, int problem) {
    return {Errc::file_failed,
            fmt::format("The program '{}' can't be started: {}.", program,
                        std::generic_category().message(problem)),
            native_from_errno(problem)};
}

Json report_json(const EmulateCommand& values, const EmulationReport& report,
                 const Answer& answer) {
    Answer named = answer;
    named.fields = {{"program", values.command}, {"exit_code", answer.exit_code.value_or(0)}};
    named.fields.update(report.json());
    Json json = answer_json("emulate", named, warnings());
    json["ok"] = answer.exit_code == exit_fine;
    return json;
}

Result<Answer> emulate(const EmulateCommand& values, const std::filesystem::path& device) {
    const HeldSignals signals;
    LODE_TRY_ASSIGN(const auto folder, EmulationFolder::create(device));
    write_stderr(fmt::format(
        "lode: The software device ({}) is the CUDA driver of '{}' and its child processes.\n",
        device.string(), values.command.front()));
    const ChildEnd end = run_child(values.command, folder.environment());

    Answer answer;
    answer.exit_code = end.exit_code;
    EmulationReport report;
    if (end.start_error != 0) {
        answer.failure = start_failure(values.command.front(), end.start_error);
    } else {
        report = EmulationReport::read(read_text(folder.journal()).value_or(""));
        answer.notes = report.text();
        if (report.has_failures()) answer.exit_code = exit_failed;
    }
    if (!values.json.empty())
        LODE_TRY(write_atomic(values.json, dump(report_json(values, report, answer))));
    if (!values.findings.empty()) {
        const Json sarif = sarif_of(report, LODE_VERSION, std::filesystem::current_path());
        LODE_TRY(write_atomic(values.findings, dump(sarif)));
    }
    return answer;
}

}  // namespace

Command declare_emulate(CLI::App& app) {
    auto* command =
        app.add_subcommand("emulate", "Run a program with the software device as its CUDA driver");
    const auto values = std::make_shared<EmulateCommand>();
    command->add_option("COMMAND", values->command, "The program and its arguments, after --")
        ->required()
        ->type_name("");
    command
        ->add_option("--devices", values->devices,
                     "The devices to show, e.g. sm_90,sm_120; otherwise LODE_EMULATOR_DEVICES")
        ->type_name("ARCH,...");
    command
        ->add_option("--check", values->checks,
                     "What to check in kernels, as in LODE_EMULATOR_CHECK")
        ->type_name("CHECK,...");
    command->add_option("--json", values->json, "Write the report to a file, as JSON")
        ->type_name("FILE");
    command->add_option("--findings", values->findings, "Write the findings to a file, as SARIF")
        ->type_name("FILE");
    return {command,
            [values]() -> Result<Work> {
                const auto device = find_device(*values);
                // Only a wrong value is an error of the command line.
                if (!device && device.error().code == Errc::invalid_argument)
                    return tl::unexpected(device.error());
                return [values, device]() -> Result<Answer> {
                    if (!device) return tl::unexpected(device.error());
                    return emulate(*values, *device);
                };
            },
            false};
}

}  // namespace lode::tool
