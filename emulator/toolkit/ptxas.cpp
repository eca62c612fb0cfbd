// Stands in for ptxas inside `lode emulate`: checks a PTX file as the software device does, and
// writes the PTX where a cubin is asked for. The software device loads it like any other PTX.
#include "base/file.hpp"
#include "base/ptx_scan.hpp"
#include "emulator/decode/module.hpp"
#include "emulator/decode/ptx/link.hpp"
#include "emulator/decode/ptx/link_input.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace {

using namespace lode;

constexpr int exit_wrong = 255;  // As ptxas does.

struct PtxasOptions {
    std::vector<std::string> inputs;
    std::string output = "elf.o";  // As ptxas does.
    std::string arch;
    bool shows_version = false;
};

/// Options that take their value from the next word.
constexpr std::string_view with_values[] = {"--maxrregcount",
                                            "-maxrregcount",
                                            "--opt-level",
                                            "--fmad",
                                            "-fmad",
                                            "-O",
                                            "--machine",
                                            "-m",
                                            "--entry",
                                            "-e",
                                            "--compile-only",
                                            "--warn-on-local-memory-usage-limit",
                                            "--def-load-cache",
                                            "-dlcm",
                                            "--def-store-cache",
                                            "-dscm"};

int complain(std::string_view text) {
    fmt::print(stderr, "lode-ptxas: {}\n", text);
    return exit_wrong;
}

/// The value of an option written "name=value" or "name value"; moves `at` to its last word.
bool takes_value(std::string_view name, std::span<char*> words, std::size_t& at,
                 std::string& value) {
    const std::string_view word = words[at];
    if (word == name && at + 1 < words.size()) {
        value = words[++at];
        return true;
    }
    if (!word.starts_with(name) || word.size() <= name.size() || word[name.size()] != '=')
        return false;
    value = word.substr(name.size() + 1);
    return true;
}

PtxasOptions read_words(std::span<char*> words) {
    PtxasOptions options;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        if (takes_value("-o", words, i, options.output) ||
            takes_value("--output-file", words, i, options.output) ||
            takes_value("-arch", words, i, options.arch) ||
            takes_value("--gpu-name", words, i, options.arch))
            continue;
        if (word == "--version" || word == "-V") {
            options.shows_version = true;
        } else if (std::ranges::find(with_values, word) != std::end(with_values)) {
            ++i;
        } else if (!word.starts_with('-')) {
            options.inputs.emplace_back(word);
        }
    }
    return options;
}

int assemble(const PtxasOptions& options) {
    if (options.inputs.size() != 1)
        return complain(
            fmt::format("One PTX file is needed, and there are {}.", options.inputs.size()));
    const auto arch = Arch::parse(options.arch.empty() ? "sm_75" : options.arch);
    if (!arch) return complain(arch.error().message);
    const std::string& path = options.inputs.front();
    const auto bytes = read_text(path);
    if (!bytes) return complain(bytes.error().message);
    const auto text = emulator::ptx::ptx_of_link_input(*bytes, arch->cc(), path);
    if (!text) return complain(text.error().message);
    emulator::ptx::Link link(emulator::LoadOptions().newest_ptx);
    if (const std::string error = link.add(*text, path); !error.empty()) return complain(error);
    const auto target = ptx_target_of(*text);
    if (target && !target->runs_on(arch->cc())) {
        return complain(fmt::format("'{}' is for {}, which doesn't run on {}.", path,
                                    target->to_string(), arch->to_string()));
    }
    // With the NUL, for programs that pass the file's bytes to the driver as they are.
    const auto written = write_atomic(options.output, *text + '\0');
    return written ? 0 : complain(written.error().message);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const PtxasOptions options =
            read_words(std::span(argv, static_cast<std::size_t>(argc)).subspan(argc > 0 ? 1 : 0));
        if (options.shows_version) {
            std::puts(
                "ptxas: lode's stand-in, which keeps PTX for the software device\n"
                "Cuda compilation tools, release 13.0, V13.0.0");
            return 0;
        }
        return assemble(options);
    } catch (const std::exception& error) {
        return complain(error.what());
    }
}
