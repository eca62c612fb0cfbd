// LLVM's programs, opt and llc: the judge of what lode makes of LLVM IR with the same version.
#pragma once

#include "tests/ir/direct.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace lode::test {

/// In Debian's folder. Each call is a process of each program.
class LlvmPrograms {
public:
    /// Those of a version, "19.1.7"; `scratch` is for their files.
    LlvmPrograms(const std::string& build, std::filesystem::path scratch)
        : folder_("/usr/lib/llvm-" + build.substr(0, build.find('.')) + "/bin/"),
          scratch_(std::move(scratch)) {}

    [[nodiscard]] bool are_there() const {
        return std::filesystem::exists(folder_ + "llc") && std::filesystem::exists(folder_ + "opt");
    }
    [[nodiscard]] bool know(const std::string& processor) const {
        const auto list = scratch_ / "processors";
        const std::string command =
            "'" + folder_ + "llc' -march=nvptx64 -mcpu=help 2>'" + list.string() + "' </dev/null";
        (void)std::system(command.c_str());
        return text_of(list).find("  " + processor + " ") != std::string::npos;
    }
    /// Bitcode of text; empty if LLVM can't read it.
    [[nodiscard]] std::string bitcode(const std::string& code) const {
        const auto in = input(code);
        return run("opt -passes='verify'", in + " -o '" + output("bc") + "'")
                   ? text_of(output("bc"))
                   : std::string();
    }
    /// The PTX of a module, or nothing. `flags` are of both programs, `own` of opt alone. libdevice
    /// is a file, or nothing.
    [[nodiscard]] std::string compile(const std::string& code, const std::string& libdevice,
                                      char level, std::vector<std::string> flags,
                                      const std::string& own) const {
        std::string all;
        for (const auto& flag : flags)
            all += " '" + flag + "'";
        std::string in = input(code);
        if (!libdevice.empty()) {
            if (!run("llvm-link",
                     in + " --internalize '" + libdevice + "' -o '" + output("linked.bc") + "'"))
                return {};
            in = "'" + output("linked.bc") + "'";
        }
        const std::string number(1, level);
        if (!run("opt " + own + " -passes='default<O" + number + ">'" + all,
                 in + " -o '" + output("bc") + "'") ||
            !run("llc --asm-verbose=0 --dwarf-directory=0 -O" + number + all,
                 "'" + output("bc") + "' -o '" + output("ptx") + "'"))
            return {};
        return text_of(output("ptx"));
    }

private:
    [[nodiscard]] std::string output(const std::string& kind) const {
        return (scratch_ / ("made." + kind)).string();
    }
    [[nodiscard]] std::string input(const std::string& code) const {
        const auto file = scratch_ / "module.ll";
        std::ofstream(file, std::ios::binary) << code;
        return "'" + file.string() + "'";
    }
    [[nodiscard]] bool run(const std::string& command, const std::string& rest) const {
        return std::system(("'" + folder_ + command.substr(0, command.find(' ')) + "'" +
                            command.substr(std::min(command.find(' '), command.size())) + " " +
                            rest + " >/dev/null 2>&1 </dev/null")
                               .c_str()) == 0;
    }

    std::string folder_;
    std::filesystem::path scratch_;
};

}  // namespace lode::test
