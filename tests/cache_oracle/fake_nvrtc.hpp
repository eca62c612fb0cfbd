// A compiler that takes microseconds, and whose machine code is the text that it read.
#pragma once

#include "jit/cache/backend.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lode::oracle {

/// Accesses the file system only through the context's FileAccesses, as a watched NVRTC does. Not
/// thread-safe.
class FakeNvrtc final : public cache::CompilerBackend {
public:
    /// The files that a process has mapped: what they say, and their stamps.
    struct Mapped {
        std::string code;
        std::vector<CompilerFile> files;
    };

    /// `toolkit` is the folder of the compiler's own headers, `library` that of its files; empty
    /// if it has none.
    explicit FakeNvrtc(std::filesystem::path toolkit, std::filesystem::path library = {})
        : toolkit_(std::move(toolkit)), library_(std::move(library)) {}

    /// The names of the compiler's files.
    static constexpr const char* file_names[] = {"libnvrtc.so.13", "libnvrtc-builtins.so.13.0"};

    /// Called before each file system query of a compilation.
    std::function<void()> before_question;
    /// Called by a compilation that is the first to use the compiler.
    std::function<void()> before_mapping;
    std::uint64_t compilations = 0;
    /// From the first use of the compiler on, whatever becomes of its files.
    std::optional<Mapped> mapped;

    /// What a process that begins now would map.
    [[nodiscard]] Mapped map() const;

    Digest fingerprint() override { return sha256("the oracle's compiler"); }
    bool covers(const std::filesystem::path&) override { return true; }
    std::vector<std::filesystem::path> include_folders(const std::filesystem::path&) override {
        return {toolkit_};
    }
    Result<CompilerProperties> properties() override;
    Result<Image> compile(const CompileRequest& request, const CompileContext& context) override;

private:
    std::filesystem::path toolkit_;
    std::filesystem::path library_;
};

}  // namespace lode::oracle
