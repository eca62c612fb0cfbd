// Compiles every kernel of the families for every architecture that the compiler supports. The
// tests of the samples do the same for theirs.
#include "tests/unit/jit/support.hpp"

#include <lode/jit/compiler.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

std::vector<std::filesystem::path> kernel_files() {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(
             std::filesystem::path(LODE_SOURCE_DIR) / "kernels_src")) {
        if (entry.path().extension() == ".cu") files.push_back(entry.path());
    }
    std::ranges::sort(files);
    return files;
}

/// The targets of a file. A name that ends in _sm80 selects 8.0 and newer; one that ends in _sm90a
/// or _sm100f selects exactly that target.
std::vector<lode::Arch> targets_of(const std::filesystem::path& file,
                                   const std::vector<lode::ComputeCapability>& supported) {
    const auto stem = file.stem().string();
    const auto at = stem.rfind("_sm");
    lode::Result<lode::Arch> from = lode::Arch(supported.front());
    if (at != std::string::npos) from = lode::Arch::parse("sm_" + stem.substr(at + 3));
    REQUIRE_MESSAGE(from, file.string());
    if (from->suffix() != lode::ArchSuffix::none) return {*from};
    std::vector<lode::Arch> targets;
    for (const auto cc : supported) {
        if (cc >= from->cc()) targets.emplace_back(cc);
    }
    return targets;
}

}  // namespace

TEST_CASE("kernels: every kernel of the families compiles for all its architectures, silently") {
    const lode::Compiler compiler;
    const auto info = compiler.info();
    REQUIRE_MESSAGE(info, info.error().describe());
    const auto files = kernel_files();
    REQUIRE(files.size() >= 4);
    for (const auto& file : files) {
        CAPTURE(file.string());
        for (const auto& arch : targets_of(file, info->supported)) {
            CAPTURE(arch.to_string());
            const auto image = compiler.compile(lode::Source::file(file), arch);
            REQUIRE_MESSAGE(image, image.error().describe());
            // NVRTC's remarks about the architecture itself name no file.
            for (const auto& diagnostic : image->diagnostics)
                CHECK_MESSAGE(diagnostic.file.empty(), diagnostic.to_string());
            // A file with only templates has no kernel until a name expression instantiates one.
            CHECK(image->kernels.size() == image->resources.size());
            CHECK_FALSE(image->cubin.empty());
        }
    }
}
