// A compiler of a few microseconds whose machine code is what it read.
#pragma once

#include "jit/cache/backend.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace lode::oracle {

/// Asks the file system nothing but through the task's FileAccesses, as a watched NVRTC does. One
/// thread at a time.
class FakeNvrtc final : public cache::CompilerBackend {
public:
    /// `toolkit` is the folder of its own headers.
    explicit FakeNvrtc(std::filesystem::path toolkit) : toolkit_(std::move(toolkit)) {}

    /// Called before each question of a compilation.
    std::function<void()> before_question;
    std::uint64_t compilations = 0;

    Digest fingerprint() override { return sha256("the oracle's compiler"); }
    std::vector<std::filesystem::path> include_folders(const std::filesystem::path&) override {
        return {toolkit_};
    }
    Result<CompilerInfo> info() override;
    Result<Image> compile(const cache::CompileTask& task) override;

private:
    std::filesystem::path toolkit_;
};

}  // namespace lode::oracle
