#include <lode/base/environment.hpp>

#include <algorithm>
#include <cassert>
#include <cstdlib>

namespace lode {
namespace {

constexpr EnvironmentVariable table[] = {
    {"CONDA_PREFIX", "The active conda environment, searched for NVIDIA's wheels.", "not searched"},
    {"CUDA_HOME", "A CUDA toolkit folder, searched for NVRTC and headers.", "not searched"},
    {"CUDA_PATH", "The same as CUDA_HOME, searched after it.", "not searched"},
    {"HOME", "Holds .cache/lode, the cache's folder where XDG_CACHE_HOME isn't set.", "none"},
    {"LD_LIBRARY_PATH", "The loader's search path; part of how the cache recognises a compiler.",
     "empty"},
    {"LODE_CACHE", "on, read-only or off: what becomes of compiled code on disk.", "on"},
    {"LODE_CACHE_DIR", "The cache's folder.", "$XDG_CACHE_HOME/lode, else ~/.cache/lode"},
    {"LODE_CACHE_MAX_BYTES", "The cache's bound in bytes.", "2147483648"},
    {"LODE_CACHE_PACKS", "Pack files to read behind the cache's folder, separated by colons.",
     "none"},
    {"LODE_DRIVER", "The CUDA driver library to open.", "libcuda.so.1, then libcuda.so"},
    {"LODE_JIT", "allow, warn or forbid: what a compilation that the cache can't spare leads to.",
     "allow"},
    {"LODE_NVRTC", "The NVRTC library to open, or the folder that holds it.",
     "searched in the usual places"},
    {"LODE_SYNC_LAUNCHES", "1 waits after every launch and reports its error there.", "0"},
    {"TMPDIR", "The folder for scratch files.", "/tmp"},
    {"VIRTUAL_ENV", "The active Python environment, searched for NVIDIA's wheels.", "not searched"},
    {"XDG_CACHE_HOME", "Holds lode, the cache's folder, unless LODE_CACHE_DIR names it.",
     "~/.cache"},
};

}  // namespace

std::span<const EnvironmentVariable> environment_table() noexcept {
    return table;
}

std::optional<std::string> environment(std::string_view name) {
    assert(std::ranges::any_of(table, [&](const auto& row) { return row.name == name; }) &&
           "every variable that lode reads is in the table");
    const char* value = std::getenv(std::string(name).c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
}

}  // namespace lode
