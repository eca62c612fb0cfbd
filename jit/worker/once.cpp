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

Request request_here(CompileRequest compilation, bool is_jailed) {
    std::error_code problem;
    const auto folder = std::filesystem::current_path(problem);
    return {.nvrtc = {},
            .working_folder = problem ? std::filesystem::path("/") : folder,
            .environment = worker_environment(is_jailed),
            .compilation = std::move(compilation)};
}

Request link_request(const LinkerSearch& search, std::span<const LinkInput> inputs,
                     const Arch& target, const LinkOptions& options) {
    std::string name;
    for (const auto& input : inputs)
        name += (name.empty() ? "" : " + ") + input.name;
    auto request = request_here({Source::text({}, std::move(name)), target});
    request.task = Task::link;
    request.link = {search, {inputs.begin(), inputs.end()}, options};
    return request;
}

tl::unexpected<Error> fail_without_worker(std::string_view reason, std::string_view what,
                                          Error missing) {
    missing.message =
        fmt::format("{}, so {} takes a process of its own. {}", reason, what, missing.message);
    return tl::unexpected<Error>(std::move(missing));
}

Result<Answer> run_once(const Request& request, std::string_view reason) {
    auto program = find_program({});
    if (!program) return fail_without_worker(reason, "this", std::move(program).error());
    LODE_TRY_ASSIGN(const auto process, Process::start(*program));
    return process->run(request, {});
}

}  // namespace LODE_NAMESPACE::worker
