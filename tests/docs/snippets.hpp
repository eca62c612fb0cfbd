// The environment of a document's code; see extract.py.
#pragma once

#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace snippets {

using Section = lode::Status (*)(const lode::Runtime&, const lode::Device&, const lode::Stream&);
using Program = int (*)();

/// A section of a document or a whole program in it, and its heading.
struct Run {
    const char* heading;
    std::variant<Section, Program> body;
};

/// Throws, which fails the document's section, unless `holds`.
inline void check(bool holds, const char* what = "a check of the document") {
    if (!holds) throw std::runtime_error(std::string(what) + " fails");
}

/// Runs one section with its own runtime, device and stream.
inline void run(Section section) {
    const auto runtime = lode::unwrap(lode::Runtime::open());
    const auto device = lode::unwrap(runtime.device());
    const auto stream = lode::unwrap(device.create_stream());
    lode::unwrap(section(runtime, device, stream));
}
inline void run(Program program) {
    check(program() == 0, "the program");
}

/// Runs all in the document's order; returns 1 if one fails.
inline int run(std::initializer_list<Run> runs) {
    for (const auto& [heading, body] : runs) {
        std::printf("-- %s\n", heading);
        std::fflush(stdout);
        try {
            std::visit([](auto code) { run(code); }, body);
        } catch (const std::exception& failure) {
            std::fprintf(stderr, "'%s' fails: %s\n", heading, failure.what());
            return EXIT_FAILURE;
        }
    }
    return EXIT_SUCCESS;
}

}  // namespace snippets
