// A request as a host sends it to its worker.
#pragma once

#include "jit/worker/message.hpp"
#include "tests/unit/jit/support.hpp"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace lode::test {

inline worker::Request request_of(const Source& source, const CompileOptions& options = {},
                                  std::vector<std::string> names = {}) {
    std::vector<std::string> variables;
    for (char** variable = environ; *variable != nullptr; ++variable)
        variables.emplace_back(*variable);
    return {NvrtcSearchEnvironment::of_process({}),
            std::filesystem::current_path().native(),
            std::move(variables),
            {source, sm(80), options, std::move(names)}};
}

}  // namespace lode::test
