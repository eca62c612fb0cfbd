#include "tools/lode/emulation_folder.hpp"

#include "base/file.hpp"
#include "base/foreign_environment.hpp"
#include "base/try.hpp"

#include <lode/base/environment.hpp>

#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace lode::tool {
namespace {

namespace fs = std::filesystem;

/// The names by which programs open the driver. Some search for the one without a number.
constexpr const char* driver_names[] = {"libcuda.so.1", "libcuda.so"};

/// What makes the loader give the stand-ins, wherever a program would find the originals.
constexpr const char* redirection = "liblode_redirect.so";

/// What stands in for parts of the toolkit: the name that programs use, and the file that lies
/// beside the software device's library.
struct StandIn {
    const char* name;
    const char* file;
};
constexpr StandIn stand_ins[] = {
    {"liblode_emulator.so", "liblode_emulator.so"},  // libcudart is linked with it.
    {"libcudart.so.12", "liblode_cudart12.so"},
    {"libcudart.so.13", "liblode_cudart13.so"},
    {"libnvJitLink.so.12", "liblode_nvjitlink12.so"},
    {"libnvJitLink.so.13", "liblode_nvjitlink13.so"},
    // Programs get these through liblode_redirect.so alone: they need the original's file from it.
    {"liblode_nvfatbin12.so", "liblode_nvfatbin12.so"},
    {"liblode_nvfatbin13.so", "liblode_nvfatbin13.so"},
    {"liblode_nvrtc12.so", "liblode_nvrtc12.so"},
    {"liblode_nvrtc13.so", "liblode_nvrtc13.so"},
    {redirection, redirection},
    {"static_runtimes.bin", "static_runtimes.bin"},  // What the one above reads.
    {"bin/ptxas", "lode-ptxas"},
};

}  // namespace

Result<EmulationFolder> EmulationFolder::create(const fs::path& device) {
    std::error_code problem;
    LODE_TRY_ASSIGN(auto made, PrivateFolder::create("lode-emulate"));
    EmulationFolder folder(std::move(made), fs::absolute(device));
    const fs::path& path = folder.path();
    for (const char* name : driver_names)
        LODE_TRY(link_to(folder.device_, path / name));
    fs::create_directory(path / "bin", problem);
    if (problem) return fail_from_errno("Making a folder", path / "bin", problem.value());
    for (const auto& [name, file] : stand_ins) {
        const auto target = folder.device_.parent_path() / file;
        if (!fs::exists(target, problem)) {
            return fail(Errc::not_found,
                        fmt::format("'{}' isn't beside the software device ({}). The installation "
                                    "or the build is incomplete; scripts/test builds all of lode.",
                                    file, folder.device_.string()));
        }
        LODE_TRY(link_to(target, path / name));
    }
    LODE_TRY(link_bundled_libraries(path));
    return folder;
}

bool log_is_on_stderr() {
    return environment_word("LODE_EMULATOR_LOG").value_or(std::nullopt) == "stderr";
}

ChildEnvironment EmulationFolder::environment() const {
    ChildEnvironment variables = audited_by(path() / redirection, AuditOrder::first);
    const ChildEnvironment own = {
        {"LD_LIBRARY_PATH", in_front_of(path(), foreign_environment("LD_LIBRARY_PATH"))},
        {"PATH", in_front_of(path() / "bin", foreign_environment("PATH"))},
        {"TRITON_PTXAS_PATH", (path() / "bin/ptxas").string()},
        {"TRITON_PTXAS_BLACKWELL_PATH", (path() / "bin/ptxas").string()},
        {"LODE_DRIVER", "emulator"},
        {"LODE_EMULATOR", device_.string()},
        {"LODE_EMULATOR_REPORT", journal().string()}};
    variables.insert(variables.end(), own.begin(), own.end());
    if (!log_is_on_stderr()) variables.emplace_back("LODE_EMULATOR_LOG", "summary");
    return variables;
}

}  // namespace lode::tool
