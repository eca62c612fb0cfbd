#include "jit/worker/program.hpp"

#include "base/os/file.hpp"
#include "base/shared_library.hpp"

#include <lode/base/environment.hpp>

#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace LODE_NAMESPACE::worker {
namespace {

constexpr const char* program_name = "lode-worker";

bool is_program(const std::filesystem::path& path) {
    std::error_code problem;
    return std::filesystem::is_regular_file(path, problem) && os::may_execute(path);
}

tl::unexpected<Error> missing(const std::string& tried) {
    return fail(Errc::compiler_missing,
                fmt::format("The program {}, which compiles in processes of its own, can't be "
                            "found. Set LODE_WORKER to it. Places tried: {}.",
                            program_name, tried));
}

}  // namespace

Result<std::filesystem::path> find_program(const std::filesystem::path& chosen) {
    if (!chosen.empty()) {
        if (is_program(chosen)) return chosen;
        return missing(fmt::format("{} (chosen)", chosen.string()));
    }
    if (const auto variable = environment("LODE_WORKER"); variable) {
        if (is_program(*variable)) return std::filesystem::path(*variable);
        return missing(fmt::format("{} (LODE_WORKER)", *variable));
    }
    std::vector<std::string> tried;
    const auto beside = executable_folder();
    auto own = folder_of_this_code();
    if (own == beside) own.clear();
    const auto installed = beside.empty() ? beside : beside / LODE_WORKER_FOLDER;
    const auto from_library = own.empty() ? own : own / LODE_WORKER_FROM_LIBRARY;
    // The stand-ins of `lode cached` lie in lode's private folder, one below the library's.
    const auto from_stand_in = own.empty() ? own : own.parent_path() / LODE_WORKER_FROM_LIBRARY;
    const auto package = package_programs_folder();
    const auto from_package =
        package.empty() ? package : (package / LODE_WORKER_FOLDER).lexically_normal();
    const auto tree = build_tree();
    const auto built = tree.empty() ? tree : tree / "tools/lode";
    for (const auto& folder :
         {beside, own, installed, from_library, from_stand_in, from_package, built}) {
        if (folder.empty()) continue;
        const auto candidate = folder / program_name;
        if (is_program(candidate)) return candidate;
        tried.push_back(candidate.string());
    }
    return missing(fmt::format("{}", fmt::join(tried, ", ")));
}

}  // namespace LODE_NAMESPACE::worker
