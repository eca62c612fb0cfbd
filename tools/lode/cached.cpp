// `lode cached`: runs a program whose NVRTC and nvJitLink answer from lode's cache, or makes a
// folder that gives it to programs without this command.
#include "base/file.hpp"
#include "base/foreign_environment.hpp"
#include "base/shared_library.hpp"
#include "base/stand_in.hpp"
#include "base/try.hpp"
#include "jit/worker/program.hpp"
#include "tools/lode/cached_report.hpp"
#include "tools/lode/child_process.hpp"
#include "tools/lode/commands.hpp"
#include "tools/lode/output.hpp"
#include "tools/lode/private_folder.hpp"

#include <lode/base/environment.hpp>
#include <lode/jit/cache.hpp>
#include <lode/jit/compiler.hpp>
#include <lode/jit/linker.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace lode::tool {
namespace {

struct CachedCommand {
    std::vector<std::string> command;
    std::string drop_in;
    bool shows_summary = false;
    ChildOutput output = ChildOutput::to_stdout;
};

constexpr const char* cached_audit_library = "liblode_redirect_cached.so";
constexpr const char* stand_ins[] = {"liblode_cached_nvrtc12.so", "liblode_cached_nvrtc13.so",
                                     "liblode_cached_nvjitlink12.so",
                                     "liblode_cached_nvjitlink13.so"};

/// The folder with the stand-ins: of an installation, or of the build.
Result<std::filesystem::path> find_cached_folder() {
    const auto program = executable_folder();
    for (const auto& folder :
         {(program / LODE_CACHED_FOLDER).lexically_normal(), build_tree() / "cached"}) {
        std::error_code ignored;
        if (folder.is_absolute() && std::filesystem::exists(folder / cached_audit_library, ignored))
            return folder;
    }
    return fail(Errc::not_found,
                fmt::format("'{}' isn't in lode's private library folder. The installation or the "
                            "build is incomplete; scripts/test builds all of lode.",
                            cached_audit_library));
}

/// Variables with which a program and its child processes get the stand-ins in `folder`.
ChildEnvironment cached_environment(const std::filesystem::path& folder) {
    auto variables = audited_by(folder / cached_audit_library, AuditOrder::last);
    variables.emplace_back("LODE_CACHED_REPORT", (folder / "journal").string());
    // The stand-in can't search beside itself: the loader takes it for the original's file.
    if (const auto worker = worker::find_program({}); worker && !environment("LODE_WORKER"))
        variables.emplace_back("LODE_WORKER", std::filesystem::absolute(*worker).string());
    return variables;
}

Result<Answer> run_cached(const CachedCommand& values) {
    LODE_TRY(CacheOptions::from_environment());
    const HeldSignals signals;
    LODE_TRY_ASSIGN(const auto library_folder, find_cached_folder());
    LODE_TRY_ASSIGN(const auto folder, PrivateFolder::create("lode-cached"));
    LODE_TRY(link_to(library_folder / cached_audit_library, folder.path() / cached_audit_library));
    for (const char* name : stand_ins)
        LODE_TRY(link_to(library_folder / name, folder.path() / name));
    LODE_TRY(link_bundled_libraries(folder.path()));
    const ChildEnd end =
        run_child(values.command, cached_environment(folder.path()), values.output);

    Answer answer;
    answer.exit_code = end.exit_code;
    if (end.start_error != 0)
        answer.failure = start_failure(values.command.front(), end.start_error);
    const auto report = CachedReport::read(read_text(folder.path() / "journal").value_or(""));
    if (values.shows_summary && end.start_error == 0)
        answer.notes = message_text(report.text(), text_width(STDERR_FILENO));
    answer.fields = {{"ok", end.exit_code == exit_fine},
                     {"program", values.command},
                     {"exit_code", end.exit_code}};
    answer.fields.update(report.json());
    return answer;
}

/// Makes a link in a folder of the user's. A link of a former call is replaced, nothing else.
Status renew_link(const std::filesystem::path& target, const std::filesystem::path& link) {
    std::error_code ignored;
    if (std::filesystem::is_symlink(std::filesystem::symlink_status(link, ignored)))
        std::filesystem::remove(link, ignored);
    return link_to(target, link);
}

/// A library that lode finds, and the stand-in for it.
struct DropIn {
    std::string name;
    std::string stand_in;
    std::filesystem::path original;
};

/// nvJitLink is there only if lode finds one beside NVRTC.
std::vector<DropIn> drop_ins(const CompilerInfo& compiler) {
    const int major = compiler.version_major;
    std::vector<DropIn> found{{fmt::format("libnvrtc.so.{}", major),
                               fmt::format("liblode_cached_nvrtc{}.so", major), compiler.path}};
    constexpr int unit = 1000;
    const auto linker =
        Linker({.driver_version = major * unit, .folders = {compiler.path.parent_path()}}).info();
    if (linker) {
        const int release = linker->version / unit;
        found.push_back({fmt::format("libnvJitLink.so.{}", release),
                         fmt::format("liblode_cached_nvjitlink{}.so", release), linker->path});
    }
    return found;
}

/// Makes a folder with the stand-ins for the NVRTC and the nvJitLink that lode finds.
Result<Answer> make_drop_in(const std::filesystem::path& folder) {
    LODE_TRY(CacheOptions::from_environment());
    LODE_TRY_ASSIGN(const auto library_folder, find_cached_folder());
    LODE_TRY_ASSIGN(const auto compiler, Compiler().info());
    if (const int why = make_folders(folder); why != 0)
        return fail_from_errno("Making a folder", folder, why);
    const auto made = drop_ins(compiler);
    for (const auto& [name, stand_in, original] : made) {
        LODE_TRY(renew_link(library_folder / stand_in, folder / name));
        LODE_TRY(renew_link(original, folder / (uncached_prefix + name)));
    }
    // NVRTC searches for it beside itself.
    std::error_code problem;
    const auto companions = compiler.path.parent_path();
    for (const auto& file : std::filesystem::directory_iterator(companions, problem)) {
        const auto beside = file.path().filename();
        if (beside.string().starts_with("libnvrtc-builtins.so"))
            LODE_TRY(renew_link(file.path(), folder / beside));
    }
    if (problem) return fail_from_errno("Reading", companions, problem.value());
    const auto shown = std::filesystem::absolute(folder, problem).lexically_normal().string();
    Answer answer;
    answer.fields = {{"folder", shown}, {"libraries", Json::array()}};
    for (const auto& [name, stand_in, original] : made) {
        answer.text += fmt::format("{}/{} answers for {}.\n", shown, name, original.string());
        answer.fields["libraries"].push_back({{"name", name}, {"library", original.string()}});
    }
    return answer;
}

}  // namespace

Command declare_cached(CLI::App& app) {
    auto* command = app.add_subcommand(
        "cached", "Run a program whose NVRTC and nvJitLink answer from lode's cache");
    const auto values = std::make_shared<CachedCommand>();
    auto* program =
        command->add_option("COMMAND", values->command, "The program and its arguments, after --")
            ->type_name("");
    command->add_flag("--stats", values->shows_summary,
                      "Say at the end what was saved, and what the cache didn't answer");
    command
        ->add_option(
            "--drop-in", values->drop_in,
            "Instead, make a folder with a libnvrtc.so and a libnvJitLink.so that answer from "
            "the cache")
        ->type_name("DIR")
        ->excludes(program);
    command->footer(
        "With --json, what the program writes to stdout goes to stderr: stdout has the report. "
        "With "
        "--json=FILE the program's stdout is its own.");
    return {command,
            [command, values]() -> Result<Work> {
                if (!values->drop_in.empty())
                    return [values] { return make_drop_in(values->drop_in); };
                if (values->command.empty()) {
                    return fail(Errc::invalid_argument,
                                "`lode cached` needs a program to run, after `--`.");
                }
                const auto& json = command->get_option("--json")->results();
                if (json == std::vector<std::string>{json_to_stdout})
                    values->output = ChildOutput::to_stderr;
                return [values] { return run_cached(*values); };
            },
            true,
            false,
            {},
            {}};
}

}  // namespace lode::tool
