#include "jit/worker/once.hpp"

#include "base/try.hpp"
#include "jit/worker/jail.hpp"
#include "jit/worker/process.hpp"
#include "jit/worker/program.hpp"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::worker {

namespace {

std::string working_folder() {
    std::error_code problem;
    const auto folder = std::filesystem::current_path(problem);
    return problem ? "/" : folder.native();
}

}  // namespace

Request link_request(const LinkerSearch& search, std::span<const LinkInput> inputs,
                     const Arch& target, const LinkOptions& options) {
    std::string name;
    for (const auto& input : inputs)
        name += (name.empty() ? "" : " + ") + input.name;
    return {.nvrtc = {},
            .working_folder = working_folder(),
            .environment = worker_environment(false),
            .source = Source::text({}, std::move(name)),
            .arch = target,
            .options = {},
            .name_expressions = {},
            .task = Task::link,
            .link = {search, {inputs.begin(), inputs.end()}, options}};
}

Request compile_request(const NvrtcSearchEnvironment& search, const Source& source,
                        const Arch& arch, const CompileOptions& options,
                        std::span<const std::string> names) {
    return {.nvrtc = search,
            .working_folder = working_folder(),
            .environment = worker_environment(false),
            .source = source,
            .arch = arch,
            .options = options,
            .name_expressions = {names.begin(), names.end()}};
}

Result<Answer> run_once(const Request& request, std::string_view reason) {
    auto program = find_program({});
    if (!program) {
        Error error = std::move(program).error();
        error.message =
            fmt::format("{}, so this takes a process of its own. {}", reason, error.message);
        return tl::unexpected<Error>(std::move(error));
    }
    LODE_TRY_ASSIGN(const auto process, Process::start(*program));
    return process->run(request, {});
}

}  // namespace LODE_NAMESPACE::worker
