// The modules of this folder, and the libraries that compile them.
#pragma once

#include "tests/ir/direct.hpp"

#include <lode/jit/compiler.hpp>
#include <lode/jit/linker.hpp>
#include <lode/jit/source.hpp>

#include <optional>
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

/// The same as LLVM IR.
inline Source llvm_module(const std::string& name, Dialect dialect) {
    return Source::llvm_ir(text_of(module_path(name, dialect)), name + ".ll");
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

/// The version of the libLLVM in use, or nothing without it or nvJitLink; says so then.
inline std::optional<CompilerInfo> llvm_here() {
    const auto llvm = Compiler().info(Source::Language::llvm_ir);
    if (!llvm) MESSAGE("not tested here: ", llvm.error().message);
    const auto linker = Linker().info();
    if (!linker) MESSAGE("not tested here: ", linker.error().message);
    if (!llvm || !linker) return std::nullopt;
    return *llvm;
}
/// What a version of LLVM reads.
inline Dialect dialect_of(const CompilerInfo& llvm) {
    return llvm.version_major < 15 ? Dialect::typed : Dialect::opaque;
}

}  // namespace lode::test
