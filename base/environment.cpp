#include "base/foreign_environment.hpp"
#include "base/message_text.hpp"
#include "base/os/process.hpp"
#include "base/quantity.hpp"

#include <lode/base/environment.hpp>

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <iterator>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

constexpr EnvironmentVariable table[] = {
    {"CONDA_PREFIX", "The active conda environment, searched for NVIDIA's wheels.", "not searched"},
    {"CUDA_HOME", "A CUDA toolkit folder, searched for NVRTC and headers.", "not searched"},
    {"CUDA_PATH", "The same as CUDA_HOME, searched after it.", "not searched"},
    {"HOME", "The user's home folder; if it exists, the cache falls back to .cache/lode in it.",
     "no cache folder"},
    {"LD_LIBRARY_PATH", "The loader's search path; part of how the cache recognises a compiler.",
     "empty"},
    {"LODE_CACHE",
     "Whether compiled code is kept on disk: on, read-only (reads but never writes) or off.", "on",
     "on, read-only, off"},
    {"LODE_CACHED_REPORT",
     "A file to which each process adds how its compilations were answered; lode cached --stats "
     "sets it.",
     "not written"},
    {"LODE_CACHE_DIR", "The folder of the cache and of tuned choices.",
     "XDG_CACHE_HOME/lode, else HOME/.cache/lode"},
    {"LODE_CACHE_KEYS",
     "Files or folders of public keys whose signatures the cache trusts, separated by colons.",
     "none"},
    {"LODE_CACHE_MAX_BYTES", "The cache's size limit, such as 4GiB or a number of bytes.", "2GiB"},
    {"LODE_CACHE_PACKS", "Pack files to search after the cache's folder, separated by colons.",
     "none"},
    {"LODE_CACHE_REMOTE",
     "A cache that machines share, searched after the folder: http(s)://… or redis://…; with "
     ",read-only at "
     "the end nothing is written to it.",
     "none"},
    {"LODE_CACHE_REMOTE_CA", "Certificates to trust for the remote cache, as a PEM file.",
     "the system's"},
    {"LODE_CACHE_REMOTE_CERT", "The client's certificate for the remote cache, as a PEM file.",
     "none"},
    {"LODE_CACHE_REMOTE_KEY", "The private key of that certificate, as a PEM file.", "none"},
    {"LODE_CACHE_REMOTE_PASSWORD",
     "The password for the remote cache; never printed.",
     "none",
     {},
     true},
    {"LODE_CACHE_REMOTE_TOKEN",
     "The bearer token for the remote cache; never printed.",
     "none",
     {},
     true},
    {"LODE_CACHE_REMOTE_USER", "The user for the remote cache; never printed.", "none", {}, true},
    {"LODE_CACHE_SIGN_WITH",
     "A file with the secret key that signs what the cache stores; implies "
     "LODE_CACHE_TRUST=signed.",
     "not signed"},
    {"LODE_CACHE_TRUST",
     "Which stored records the cache takes: any, or only those that a trusted key has signed.",
     "any", "any, signed"},
    {"LODE_COMPILE_MEMORY",
     "The memory, such as 4GiB or a number of bytes, at which a worker that compiles is ended, and "
     "beyond which the kernel gives it none.",
     "no limit"},
    {"LODE_COMPILE_TIMEOUT",
     "The time, such as 30s or a number of milliseconds, after which a worker that compiles is "
     "ended.",
     "no limit"},
    {"LODE_DRIVER", "The CUDA driver library to open; \"emulator\" is lode's software device.",
     "libcuda.so.1, then libcuda.so"},
    {"LODE_EMULATOR", "The software device's library, or the folder that holds it.",
     "beside the program, then lode's private library folder"},
    {"LODE_EMULATOR_CHECK",
     "What the software device checks: memory, race, init, sync, streams, separated by commas; "
     "all, or none.",
     "memory"},
    {"LODE_EMULATOR_DEBUG",
     "A socket at which lode debug waits for the processes that it debugs; lode debug sets it.",
     "not debugged"},
    {"LODE_EMULATOR_DEVICES",
     "The devices that the software device shows, e.g. sm_75,sm_90, or none.", "sm_90"},
    {"LODE_EMULATOR_FINDINGS",
     "Whether a finding is an error at the next sync (fail) or a log line (log).", "fail",
     "fail, log"},
    {"LODE_EMULATOR_LOG",
     "stderr prints the software device's log; summary leaves the facts about findings to lode "
     "emulate, which sets it.",
     "kept for the program to fetch", "stderr, summary"},
    {"LODE_EMULATOR_REPORT",
     "A file to which each process adds what the software device finds; lode emulate sets it.",
     "not written"},
    {"LODE_EMULATOR_SEED",
     "A number other than 0 shuffles the order in which the software device runs warps and blocks.",
     "0"},
    {"LODE_EMULATOR_TIMEOUT",
     "The time, such as 10s or a number of milliseconds, after which the software device ends a "
     "kernel; 0: never.",
     "0; 10min where LODE_EMULATOR_REPORT is set, as under lode emulate"},
    {"LODE_EMULATOR_WORKERS",
     "Threads that run a kernel on the software device; 1 is deterministic.", "one per processor"},
    {"LODE_FORCE_PTX",
     "1 loads PTX even where machine code would do, to prove forward compatibility.", "0", "0, 1"},
    {"LODE_FORCE_VARIANT", "Kernel variants to take: family:row, several separated by commas.",
     "the best row that the device can run"},
    {"LODE_JIT",
     "What happens if a kernel isn't in the cache and must be compiled: allow, warn or forbid.",
     "allow", "allow, warn, forbid"},
    {"LODE_LLVM", "The libLLVM library to open, or the folder that holds it.",
     "searched in the usual places"},
    {"LODE_NVFATBIN", "The nvFatbin library to open, or the folder that holds it.",
     "searched in the usual places"},
    {"LODE_NVJITLINK", "The nvJitLink library to open, or the folder that holds it.",
     "searched in the usual places"},
    {"LODE_NVRTC", "The NVRTC library to open, or the folder that holds it.",
     "searched in the usual places"},
    {"LODE_NVVM", "The libNVVM library to open, or the folder that holds it.",
     "searched in the usual places"},
    {"LODE_PCH_MAX_BYTES",
     "The size limit of the precompiled headers that workers make, such as 2GiB or a number of "
     "bytes; 0 makes none.",
     "1GiB"},
    {"LODE_PTX",
     "What compiles PTX that is loaded on a GPU: driver, at every load; assemble, nvJitLink once, "
     "into the cache.",
     "driver", "driver, assemble"},
    {"LODE_RECORD", "A file to which every request for compiled code is added, for lode warm.",
     "not recorded"},
    {"LODE_SYNC_LAUNCHES", "1 waits after every launch and reports its error there.", "0", "0, 1"},
    {"LODE_WORKER", "The program lode-worker, which compiles in a process of its own.",
     "searched beside this program and where lode was installed"},
    {"LODE_WORKERS", R"("auto", "off", or the most processes in which all compilations run.)",
     "auto: asynchronous requests, those with a limit, with an earlier one's large headers, with "
     "debug code or with flags that lode doesn't know run in as many as there are processors"},
    {"TERM", "The kind of terminal; a dumb one shows no progress of `lode`.", "dumb"},
    {"VIRTUAL_ENV", "The active Python environment, searched for NVIDIA's wheels.", "not searched"},
    {"XDG_CACHE_HOME",
     "The user's cache folder; without LODE_CACHE_DIR the cache is its subfolder lode.",
     "HOME/.cache"},
};

}  // namespace

std::span<const EnvironmentVariable> environment_table() noexcept {
    return table;
}

std::optional<std::string> foreign_environment(std::string_view name) {
    const char* value = std::getenv(std::string(name).c_str());
    if (value == nullptr) return std::nullopt;
    return value;
}

std::vector<std::string> environment_names(std::string_view prefix) {
    std::vector<std::string> names;
    for (const std::string& line : os::environment_lines())
        if (line.starts_with(prefix)) names.push_back(line.substr(0, line.find('=')));
    return names;
}

std::optional<std::string> environment(std::string_view name) {
    assert(std::ranges::any_of(table, [&](const auto& row) { return row.name == name; }) &&
           "every variable that lode reads is in the table");
    auto value = foreign_environment(name);
    if (value && value->empty()) value.reset();
    return value;
}

namespace {

/// "a, b" as a list.
std::vector<std::string> list_of(std::string_view words) {
    constexpr std::string_view comma = ", ";
    std::vector<std::string> list;
    while (!words.empty()) {
        const auto end = std::min(words.find(comma), words.size());
        list.emplace_back(words.substr(0, end));
        words.remove_prefix(std::min(end + comma.size(), words.size()));
    }
    return list;
}

tl::unexpected<Error> wrong(std::string_view name, std::string_view value, std::string_view allowed,
                            std::span<const std::string> words = {}) {
    return fail(Errc::invalid_argument, fmt::format("{} is '{}'; it must be {}.{}", name, value,
                                                    allowed, did_you_mean(closest(value, words))));
}

/// How a variable's number is written, as the end of its name says.
struct Unit {
    Quantity (*parse)(std::string_view);
    std::string_view meaning;
};

Unit unit_of(std::string_view name) {
    if (name.ends_with("_BYTES") || name.ends_with("_MEMORY"))
        return {parse_bytes, "a number of bytes, such as 512MB"};
    if (name.ends_with("_TIMEOUT"))
        return {parse_milliseconds, "a time, such as 10s, or a number of milliseconds"};
    return {parse_count, "a whole number"};
}

}  // namespace

Result<std::optional<std::string>> environment_word(std::string_view name) {
    auto value = environment(name);
    const auto* const row = std::ranges::find(table, name, &EnvironmentVariable::name);
    assert(row != std::end(table) && !row->allowed.empty() && "the table says what is allowed");
    if (!value) return value;
    const std::vector<std::string> words = list_of(row->allowed);
    if (std::ranges::count(words, *value) == 0) {
        return wrong(name, *value,
                     words.size() == 1 ? words.front() : fmt::format("one of {}", row->allowed),
                     words);
    }
    return value;
}

Result<bool> environment_flag(std::string_view name) {
    return environment_word(name).map([](const auto& value) { return value == "1"; });
}

Result<std::optional<std::uint64_t>> environment_number(std::string_view name, std::uint64_t least,
                                                        std::uint64_t most) {
    const auto value = environment(name);
    if (!value) return std::nullopt;
    const Unit unit = unit_of(name);
    const Quantity number = unit.parse(*value);
    if (number && *number >= least && *number <= most) return *number;
    const auto bounds = most != ~std::uint64_t{0} ? fmt::format(", from {} to {}", least, most)
                        : least > 0               ? fmt::format(", at least {}", least)
                                                  : "";
    return wrong(name, *value, fmt::format("{}{}", unit.meaning, bounds));
}

Status check_environment() {
    for (const auto& row : table) {
        if (row.allowed.empty() || row.name.starts_with("LODE_EMULATOR_")) continue;
        if (auto word = environment_word(row.name); !word)
            return tl::unexpected<Error>(std::move(word).error());
    }
    return {};
}

}  // namespace LODE_NAMESPACE
