/// \file
/// Source: kernel code before compilation, from a file or from memory.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// Kernel source: CUDA C++, NVVM IR or LLVM IR to compile, or PTX to load or to assemble. A plain
/// value. A file is read when the code is needed, so a missing file is reported by the call that
/// needs it.
class Source {
public:
    /// The language of the code.
    enum class Language : std::uint8_t {
        cuda,     ///< CUDA C++, to be compiled by NVRTC.
        ptx,      ///< PTX, to be loaded unchanged or assembled by nvJitLink.
        nvvm_ir,  ///< NVVM IR, to be compiled by libNVVM.
        llvm_ir   ///< LLVM IR, to be compiled by LLVM.
    };

    /// The language of a file of this name: PTX if it ends in ".ptx", NVVM IR if it ends in ".ll"
    /// or ".bc", CUDA C++ otherwise.
    [[nodiscard]] static Language language_of(std::string_view name);

    /// A file, of the language that its name tells. Quoted includes are searched in its folder
    /// first.
    static Source file(const std::filesystem::path& path);
    /// A file of this language, whatever its name is.
    static Source file(const std::filesystem::path& path, Language language);

    /// CUDA C++ in memory. `name` appears in diagnostics, `__FILE__` and assert (but see
    /// CompileOptions::source_files); a file of that name needn't exist.
    static Source text(std::string code, std::string name = "source.cu");

    /// PTX in memory; `name` appears in messages.
    static Source ptx(std::string code, std::string name = "source.ptx");

    /// NVVM IR in memory, as text or bitcode; `name` appears in messages. libNVVM reads the IR of
    /// LLVM 7, with typed pointers, for targets before sm_100, and newer IR, with opaque pointers,
    /// for the others.
    static Source nvvm_ir(std::string code, std::string name = "source.ll");

    /// LLVM IR for nvptx64 in memory, as text or bitcode that the libLLVM in use reads; `name`
    /// appears in messages.
    static Source llvm_ir(std::string code, std::string name = "source.ll");

    /// Code in memory, of a language.
    static Source of(Language language, std::string code, std::string name);

    /// Code in memory, of the language that its name tells as for file().
    static Source named(std::string code, std::string name);

    /// The language of the code.
    [[nodiscard]] Language language() const noexcept { return language_; }

    /// The file's path as given, or the name of the code in memory.
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    /// Whether it was made by file().
    [[nodiscard]] bool is_file() const noexcept { return is_file_; }

    /// Whether it has its code: in memory, or pinned.
    [[nodiscard]] bool is_read() const noexcept { return is_read_; }

    /// The code if is_read(); otherwise empty.
    [[nodiscard]] const std::string& code() const noexcept { return code_; }

    /// The folder for quoted includes; empty for code in memory.
    [[nodiscard]] std::filesystem::path folder() const;

    /// The code; reads the file, of at most 1 GiB, unless the code is in memory.
    /// Errors: not_found or file_failed, with the path.
    [[nodiscard]] Result<std::string> read() const;

    /// The same source, pinned to code that was read from it: read() returns `code` without reading
    /// the file again, so that several steps see the same state. Name and folder stay the same.
    [[nodiscard]] Source pinned(std::string code) const;

    /// Compares every member: a file that isn't pinned by its path alone.
    friend bool operator==(const Source&, const Source&) = default;

private:
    Source(Language language, std::string name, std::string code, bool is_file)
        : language_(language), is_file_(is_file), name_(std::move(name)), code_(std::move(code)) {}

    Language language_;
    bool is_file_;
    bool is_read_ = !is_file_;  ///< code_ holds the code.
    std::string name_;
    std::string code_;
};

/// "CUDA C++", "PTX", "NVVM IR" or "LLVM IR".
[[nodiscard]] std::string_view to_string(Source::Language language) noexcept;

}  // namespace LODE_NAMESPACE

LODE_API_END
