// A compiler that takes microseconds, and whose machine code is the text that it read.
#pragma once

#include "jit/cache/backend.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace lode::oracle {

/// Accesses the file system only through the task's FileAccesses, as a watched NVRTC does. Not
/// thread-safe.
class FakeNvrtc final : public cache::CompilerBackend {
public:
    /// `toolkit` is the folder of the compiler's own headers.
    explicit FakeNvrtc(std::filesystem::path toolkit) : toolkit_(std::move(toolkit)) {}

    /// Called before each file system query of a compilation.
    std::function<void()> before_question;
    std::uint64_t compilations = 0;

    Digest fingerprint() override { return sha256("the oracle's compiler"); }
    bool covers(const std::filesystem::path&) override { return true; }
    std::vector<std::filesystem::path> include_folders(const std::filesystem::path&) override {
        return {toolkit_};
    }
    Result<CompilerProperties> properties() override;
    Result<Image> compile(const cache::CompileTask& task) override;

private:
    std::filesystem::path toolkit_;
};

}  // namespace lode::oracle
