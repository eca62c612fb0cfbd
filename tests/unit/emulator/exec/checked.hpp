// Runs CUDA C++ with the optional checks and collects what they find.
#pragma once

#include "tests/unit/emulator/exec/support.hpp"

#include <lode/jit/compiler.hpp>

#include <regex>
#include <sstream>

namespace lode::emulator::exec::testing {

/// Checks that a report is "file.cu:12: kernel does what" in at most 120 characters, with facts
/// indented below it.
inline void check_form(std::string_view report) {
    static const std::regex headline(R"(([^:]+:\d+|PTX line \d+): \S.* ?\S* [a-z]+s( .*[^.;,])?)");
    std::istringstream lines{std::string(report)};
    std::string line;
    std::getline(lines, line);
    CHECK_MESSAGE(std::regex_match(line, headline), line);
    static const std::regex folder("/[^ ]*/");  // A toolkit's may be long.
    CHECK_MESSAGE(std::regex_replace(line, folder, "").size() <= 120, line);
    while (std::getline(lines, line))
        CHECK_MESSAGE(line.starts_with("  "), line);
}

/// One kernel `k`, compiled by NVRTC with line information.
struct Checked : Rig {
    explicit Checked(const std::string& source, unsigned workers = 1,
                     const char* arch = "compute_90")
        : Rig(workers) {
        static const Compiler compiler;
        CompileOptions compile;
        compile.line_info = true;
        auto image =
            compiler.compile(Source::text(source, "checked.cu"), *Arch::parse(arch), compile);
        if (!image) throw std::runtime_error(image.error().message + "\n" + image.error().log);
        load_options.follows_shuffles = true;
        // Code for an architecture's own features runs on that one only.
        const std::string_view name = arch;
        module = name == "compute_90a"    ? load(image->ptx, 9, 0)
                 : name == "compute_100a" ? load(image->ptx, 10, 0)
                                          : load(image->ptx, 12, 1);
        options.timeout = std::chrono::seconds(30);
        options.finding = [this](std::string_view text) {
            check_form(text);
            findings.emplace_back(text);
        };
    }
    template <class... T>
    LaunchOutcome go(Dim3 grid, Dim3 block, const T&... values) {
        findings.clear();
        return run(*module, "k", grid, block, values...);
    }
    /// The findings of one launch; the fault's report if there is one.
    template <class... T>
    std::string found(Dim3 grid, Dim3 block, const T&... values) {
        const LaunchOutcome outcome = go(grid, block, values...);
        std::string text = outcome.report;
        if (!outcome.place.kind.empty()) check_form(text);
        for (const std::string& finding : findings)
            text += finding + "\n";
        return text;
    }
    std::uint64_t words(std::size_t count, unsigned value = 0) {
        return put(std::vector<unsigned>(count, value));
    }

    std::unique_ptr<Module> module;
    std::vector<std::string> findings;
};

}  // namespace lode::emulator::exec::testing
