#include "tools/lode/emulation_folder.hpp"

#include "base/file.hpp"
#include "base/foreign_environment.hpp"
#include "base/try.hpp"

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <link.h>

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
    {"bin/ptxas", "lode-ptxas"},
};

/// The folder of libraries that auditwheel puts beside a Python package, if this command has loaded
/// one from there; else empty.
fs::path bundled_libraries() {
    fs::path folder;
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* found) {
            const fs::path parent = fs::path(info->dlpi_name).parent_path();
            if (parent.extension() != ".libs") return 0;  // As auditwheel names it.
            *static_cast<fs::path*>(found) = parent;
            return 1;
        },
        &folder);
    return folder;
}

Status link_to(const fs::path& target, const fs::path& link) {
    std::error_code problem;
    fs::create_symlink(target, link, problem);
    if (problem) return fail_from_errno("Making a link", link, problem.value());
    return {};
}

/// The system's temporary folder, if LD_LIBRARY_PATH can name it.
Result<fs::path> temporary_folder() {
    std::error_code problem;
    const auto found = fs::temp_directory_path(problem);
    if (problem) {
        return fail_from_errno("Finding the temporary folder",
                               foreign_environment("TMPDIR").value_or("/tmp"), problem.value());
    }
    auto root = fs::absolute(found, problem);  // The program may run in another folder.
    if (problem) return fail_from_errno("Finding the temporary folder", found, problem.value());
    if (root.native().find_first_of(":;$") != std::string::npos) {
        return fail(Errc::invalid_argument,
                    fmt::format("The path of the temporary folder, '{}', contains one of \":;$\", "
                                "which LD_LIBRARY_PATH can't. Set TMPDIR to another folder.",
                                root.string()));
    }
    return root;
}

/// `folder`, followed by the folders that a variable has already.
std::string in_front_of(const fs::path& folder, const std::optional<std::string>& before) {
    return before && !before->empty() ? fmt::format("{}:{}", folder.string(), *before)
                                      : folder.string();
}

/// With LD_AUDIT the loader reserves the thread-local memory of a program's own libraries before it
/// knows them. This asks for enough; a program that needs more, such as one with ThreadSanitizer,
/// says so itself.
std::string tunables() {
    constexpr std::string_view name = "glibc.rtld.optional_static_tls";
    std::string before = foreign_environment("GLIBC_TUNABLES").value_or("");
    if (before.find(name) != std::string::npos) return before;
    return fmt::format("{}{}{}=8192", before, before.empty() ? "" : ":", name);
}

}  // namespace

Result<EmulationFolder> EmulationFolder::create(const fs::path& device) {
    std::error_code problem;
    LODE_TRY_ASSIGN(const auto root, temporary_folder());
    std::string pattern = (root / "lode-emulate.XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
        return fail_from_errno("Making a temporary folder", pattern, errno);
    EmulationFolder folder(pattern);
    folder.device_ = fs::absolute(device);
    for (const char* name : driver_names)
        LODE_TRY(link_to(folder.device_, folder.path_ / name));
    fs::create_directory(folder.path_ / "bin", problem);
    if (problem) return fail_from_errno("Making a folder", folder.path_ / "bin", problem.value());
    for (const auto& [name, file] : stand_ins) {
        const auto target = folder.device_.parent_path() / file;
        if (!fs::exists(target, problem)) {
            return fail(Errc::not_found,
                        fmt::format("'{}' isn't beside the software device ({}). The installation "
                                    "or the build is incomplete; scripts/test builds all of lode.",
                                    file, folder.device_.string()));
        }
        LODE_TRY(link_to(target, folder.path_ / name));
    }
    // The loader searches for them relative to the links above, not to the files.
    if (const auto bundled = bundled_libraries(); !bundled.empty()) {
        for (const auto& library : fs::directory_iterator(bundled, problem))
            LODE_TRY(
                link_to(fs::absolute(library.path()), folder.path_ / library.path().filename()));
        if (problem) return fail_from_errno("Reading", bundled, problem.value());
    }
    return folder;
}

EmulationFolder::EmulationFolder(EmulationFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), device_(std::move(other.device_)) {}

EmulationFolder::~EmulationFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
}

ChildEnvironment EmulationFolder::environment() const {
    return {{"LD_AUDIT", in_front_of(path_ / redirection, foreign_environment("LD_AUDIT"))},
            {"GLIBC_TUNABLES", tunables()},
            {"LD_LIBRARY_PATH", in_front_of(path_, foreign_environment("LD_LIBRARY_PATH"))},
            {"PATH", in_front_of(path_ / "bin", foreign_environment("PATH"))},
            {"TRITON_PTXAS_PATH", (path_ / "bin/ptxas").string()},
            {"TRITON_PTXAS_BLACKWELL_PATH", (path_ / "bin/ptxas").string()},
            {"LODE_DRIVER", "emulator"},
            {"LODE_EMULATOR", device_.string()},
            {"LODE_EMULATOR_REPORT", journal().string()}};
}

}  // namespace lode::tool
