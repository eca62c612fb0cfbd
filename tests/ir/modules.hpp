// The modules of this folder, and the libraries that compile them.
#pragma once

#include "tests/ir/direct.hpp"

#include <lode/jit/compiler.hpp>
#include <lode/jit/linker.hpp>
#include <lode/jit/source.hpp>

#include <string>
#include <string_view>

#include <doctest/doctest.h>

namespace lode::test {

enum class Dialect { typed, opaque };

inline std::string module_path(const std::string& name, Dialect dialect = Dialect::typed) {
    return std::string(LODE_SOURCE_DIR "/tests/ir/") + name +
           (dialect == Dialect::typed ? ".typed.ll" : ".opaque.ll");
}
inline Source module_in_memory(const std::string& name, Dialect dialect = Dialect::typed) {
    return Source::nvvm_ir(text_of(module_path(name, dialect)), name + ".ll");
}

inline Arch sm(int number) {
    return Arch(ComputeCapability::from_number(number));
}

/// A log that counts the openings of a compiler.
struct Openings {
    std::string product;
    int count = 0;
    [[nodiscard]] Log log() {
        return Log([this](LogLevel, std::string_view line) {
            if (line.starts_with("Opened " + product + " (")) ++count;
        });
    }
};

/// Whether this machine has libNVVM and nvJitLink; says so if not.
inline bool has_nvvm() {
    const auto nvvm = Compiler().info(Source::Language::nvvm_ir);
    if (!nvvm) MESSAGE("not tested here: ", nvvm.error().message);
    const auto linker = Linker().info();
    if (!linker) MESSAGE("not tested here: ", linker.error().message);
    return nvvm && linker;
}

}  // namespace lode::test
