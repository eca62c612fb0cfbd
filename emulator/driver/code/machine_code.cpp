#include "emulator/driver/code/machine_code.hpp"

#include "base/cubin.hpp"
#include "base/elf.hpp"
#include "base/os/library.hpp"
#include "base/os/memory.hpp"
#include "emulator/driver/journal.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <span>

#include <fmt/format.h>

namespace lode::emulator::driver::machine_code {
namespace {

/// The kernels of refused images that no loaded module has, by the image's message.
struct Missing {
    std::mutex mutex;
    std::map<std::string, std::vector<std::string>> images;
};

Missing& missing() {
    static auto& instance = *new Missing;
    return instance;
}

std::string path_of(const void* image, const JitLogs& logs) {
    return logs.file.empty() ? os::path_at(image).string() : std::string(logs.file);
}

std::string message(const void* image, std::string_view what, const JitLogs& logs) {
    const std::string path = path_of(image, logs);
    return fmt::format(
        "{} is {}; the software device runs PTX. {}", place_of(image, logs), what,
        is_packaged(path)
            ? "This Python package can't run here, unless it is built anew with PTX."
            : "Build it with PTX: nvcc -gencode arch=compute_80,code=compute_80, or lode "
              "compile --ptx.");
}

}  // namespace

bool is_packaged(const std::string& path) noexcept {
    return path.find("/site-packages/") != path.npos || path.find("/dist-packages/") != path.npos;
}

std::string place_of(const void* image, const JitLogs& logs) {
    const std::string path = path_of(image, logs);
    if (path.empty()) return "The image";
    const bool is_own = logs.file.empty() && os::is_in_program(image);
    return is_own ? "The program's image" : "The image in " + path;
}

CUresult refuse(const void* image, std::string_view what, std::vector<std::string> kernels,
                const JitLogs& logs) {
    const std::string why = message(image, what, logs);
    {
        const std::lock_guard lock(missing().mutex);
        auto& all = missing().images[why];
        all.insert(all.end(), std::make_move_iterator(kernels.begin()),
                   std::make_move_iterator(kernels.end()));
    }
    return refuse_image(CUDA_ERROR_NO_BINARY_FOR_GPU, why, logs);
}

std::vector<std::string> kernels_at(const void* cubin) {
    elf::Header header;
    if (!os::may_access(cubin, sizeof(header), false)) return {};
    std::memcpy(&header, cubin, sizeof(header));
    constexpr std::uint64_t most = std::uint64_t{1} << 40;
    if (header.sections_at > most || header.segments_at > most) return {};
    const auto bytes =
        std::max(header.sections_at + std::uint64_t{header.sections} * header.section_bytes,
                 header.segments_at + std::uint64_t{header.segments} * header.segment_bytes);
    if (!os::may_access(cubin, bytes, false)) return {};
    return cubin_kernels({static_cast<const std::byte*>(cubin), bytes});
}

void look_for_missing(const Module& module) {
    const std::lock_guard lock(missing().mutex);
    auto& images = missing().images;
    for (auto image = images.begin(); image != images.end();) {
        const auto found = std::erase_if(
            image->second, [&](const auto& name) { return module.kernel(name) != nullptr; });
        image = found > 0 && image->second.empty() ? images.erase(image) : std::next(image);
    }
}

void report_missing() {
    const std::lock_guard lock(missing().mutex);
    for (const auto& [why, kernels] : missing().images)
        journal::add(journal::Kind::unusable, {}, why);
}

}  // namespace lode::emulator::driver::machine_code
