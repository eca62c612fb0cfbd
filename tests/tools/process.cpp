#include "tests/tools/process.hpp"

#include "base/shared_library.hpp"
#include "tests/support/scratch.hpp"

#include <cstdlib>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lode::test {
namespace {

/// The command as it was built; beside the tests where the build folder has moved.
std::filesystem::path command_path() {
    const std::filesystem::path built = LODE_COMMAND;
    if (std::filesystem::exists(built)) return built;
    return executable_folder() / "../../tools/lode/lode";
}

/// In the child: everything between fork and exec.
[[noreturn]] void become(const std::filesystem::path& command, std::vector<char*>& arguments,
                         const Environment& environment, const std::filesystem::path& out,
                         const std::filesystem::path& err) {
    constexpr mode_t mode = 0600;
    constexpr int exec_failed = 127;
    ::dup2(::open(out.c_str(), O_CREAT | O_WRONLY | O_TRUNC, mode), STDOUT_FILENO);
    ::dup2(::open(err.c_str(), O_CREAT | O_WRONLY | O_TRUNC, mode), STDERR_FILENO);
    for (const auto& [name, value] : environment)
        ::setenv(name.c_str(), value.c_str(), 1);
    ::execv(command.c_str(), arguments.data());
    ::_exit(exec_failed);
}

}  // namespace

nlohmann::json Outcome::json() const {
    auto value = nlohmann::json::parse(out, nullptr, false);
    REQUIRE_MESSAGE(!value.is_discarded(), "stdout is JSON: " << out);
    return value;
}

Outcome lode(const std::vector<std::string>& arguments, const Environment& environment,
             const std::filesystem::path& given_out) {
    const auto scratch = make_scratch();
    const auto out = given_out.empty() ? scratch.path() / "out" : given_out;
    const auto err = scratch.path() / "err";
    const auto command = command_path();

    std::vector<std::string> texts = {command.string()};
    texts.insert(texts.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (auto& text : texts)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);

    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) become(command, pointers, environment, out, err);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);

    Outcome outcome;
    outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (given_out.empty()) outcome.out = read_text(out).value();
    outcome.err = read_text(err).value();
    return outcome;
}

}  // namespace lode::test
