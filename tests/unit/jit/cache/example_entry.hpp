// A small entry with every field filled in, for tests.
#pragma once

#include "jit/store/entry_format.hpp"

#include <string>

namespace LODE_NAMESPACE::cache {

/// An entry for sm_90a whose code depends on `seed`, with a matching key text.
inline Entry example_entry(int seed = 0, std::size_t code_bytes = 100) {
    Entry entry;
    entry.header_list = "include 0 util.h 0123\n";
    entry.image.name = "saxpy.cu";
    entry.image.arch = *Arch::parse("sm_90a");
    entry.image.compiler = "NVRTC 13.0.88";
    for (std::size_t i = 0; i < code_bytes; ++i)
        entry.image.cubin.push_back(
            static_cast<std::byte>(i * 31 + static_cast<std::size_t>(seed)));
    entry.image.ptx = "// seed " + std::to_string(seed) + "\n.version 9.0\n.target sm_90a\n";
    entry.image.lowered_names = {{"scale<float>", "_Z5scaleIfEvPf"}, {"saxpy", "_Z5saxpyv"}};
    KernelParameter pointer{KernelParameter::Kind::pointer, 0, 8, 8};
    KernelParameter number{KernelParameter::Kind::floating_point, 8, 4, 4};
    entry.image.kernels = {{"_Z5scaleIfEvPf", {pointer, number}}, {"_Z5saxpyv", {}}};
    entry.image.resources = {{"_Z5scaleIfEvPf", 32, 1024, 360, 16, 4, 8, 1}};
    entry.image.log = "saxpy.cu(3): warning #177-D: variable \"y\" was declared but never used\n";
    entry.image.diagnostics = {{Diagnostic::Severity::warning, "saxpy.cu", 3, 7, "177-D",
                                "variable \"y\" was declared but never used"}};
    entry.compile_ms = 14.25;
    entry.key_text = KeyWriter()
                         .field("compiler", entry.image.compiler)
                         .field("arch", entry.image.arch.to_string())
                         .field("seed", std::to_string(seed))
                         .field("headers.sha256", sha256(entry.header_list).to_hex())
                         .finish()
                         .text;
    return entry;
}

/// The key of the entry.
inline Key key_of(const Entry& entry) {
    return Key{entry.key_text, sha256(entry.key_text)};
}

}  // namespace LODE_NAMESPACE::cache
