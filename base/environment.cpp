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
    {"HOME", "The user's folder; .cache/lode in it is the last place for the cache.",
     "no cache folder"},
    {"LD_LIBRARY_PATH", "The loader's search path; part of how the cache recognises a compiler.",
     "empty"},
    {"LODE_CACHE", "on, read-only or off: what becomes of compiled code on disk.", "on"},
    {"LODE_CACHE_DIR", "The folder of the cache and of tuned choices.",
     "XDG_CACHE_HOME/lode, else HOME/.cache/lode"},
    {"LODE_CACHE_MAX_BYTES", "The cache's bound in bytes.", "2147483648"},
    {"LODE_CACHE_PACKS", "Pack files to read behind the cache's folder, separated by colons.",
     "none"},
    {"LODE_DRIVER", "The CUDA driver library to open; \"emulator\" is lode's software device.",
     "libcuda.so.1, then libcuda.so"},
    {"LODE_EMULATOR", "The emulator's library, or the folder that holds it.",
     "beside the program, then lode's private library folder"},
    {"LODE_EMULATOR_CHECK",
     "What the emulator checks in kernels: memory, race, init, joined by commas, or none.",
     "memory"},
    {"LODE_EMULATOR_DEVICES", "The devices that the emulator shows, e.g. sm_75,sm_90, or none.",
     "sm_90"},
    {"LODE_EMULATOR_LOG", "stderr prints the emulator's log.", "kept for the program to fetch"},
    {"LODE_EMULATOR_SEED",
     "A number other than 0 shuffles the order in which the emulator runs warps and blocks.", "0"},
    {"LODE_EMULATOR_WORKERS", "Threads that run a kernel on the emulator; 1 is deterministic.",
     "one a processor"},
    {"LODE_FORCE_PTX", "1 takes PTX although machine code would do: proves forward compatibility.",
     "0"},
    {"LODE_FORCE_VARIANT", "Kernel variants to take: family:row, several separated by commas.",
     "the best row that the device can run"},
    {"LODE_JIT", "allow, warn or forbid: what a compilation that the cache can't spare leads to.",
     "allow"},
    {"LODE_NVJITLINK", "The nvJitLink library to open, or the folder that holds it.",
     "searched in the usual places"},
    {"LODE_NVRTC", "The NVRTC library to open, or the folder that holds it.",
     "searched in the usual places"},
    {"LODE_SYNC_LAUNCHES", "1 waits after every launch and reports its error there.", "0"},
    {"TMPDIR", "The folder for scratch files.", "/tmp"},
    {"VIRTUAL_ENV", "The active Python environment, searched for NVIDIA's wheels.", "not searched"},
    {"XDG_CACHE_HOME", "The user's cache folder; lode in it when LODE_CACHE_DIR is unset.",
     "HOME/.cache"},
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
