// The part of `lode doctor` that looks at files: the cache, the packs, the toolkit's headers, the
// workers' program.
#include "base/file.hpp"
#include "jit/remote/action_result.hpp"
#include "jit/remote/remote_store.hpp"
#include "jit/request/bytes.hpp"
#include "jit/store/disk_tier.hpp"
#include "jit/store/pack_tier.hpp"
#include "jit/worker/program.hpp"
#include "tools/lode/doctor.hpp"
#include "tools/lode/layout.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace lode::tool {
namespace {

void add_slow_cache(Findings& findings, std::string message, std::string cure) {
    findings.push_back(
        {Effect::slow, "cache", std::move(message), std::move(cure), Errc::file_failed});
}

/// File systems on which the cache can't rely on stamps or locks, or that don't last.
struct RemoteFileSystem {
    std::uint64_t type;
    std::string_view name;
};
constexpr RemoteFileSystem remote_file_systems[] = {
    {0x6969, "NFS"},        {0xFF534D42, "CIFS"}, {0xFE534D42, "SMB"},    {0x517B, "SMB"},
    {0x0BD00BD0, "Lustre"}, {0x47504653, "GPFS"}, {0x00C36400, "Ceph"},   {0x5346414F, "AFS"},
    {0x01021997, "9P"},     {0x65735546, "FUSE"}, {0x19830326, "BeeGFS"},
};
constexpr std::uint64_t tmpfs = 0x01021994;
/// Less than a program with a few hundred kernels writes.
constexpr std::uint64_t least_free_bytes = std::uint64_t{64} << 20;

FileSystem file_system_of(const std::filesystem::path& folder) {
    struct statfs status {};
    if (::statfs(folder.c_str(), &status) != 0) return {.free_bytes = least_free_bytes};
    return {.type = static_cast<std::uint32_t>(status.f_type),
            .free_bytes = static_cast<std::uint64_t>(status.f_bavail) *
                          static_cast<std::uint64_t>(status.f_bsize),
            // Some file systems have no fixed number of files.
            .has_files_left = status.f_files == 0 || status.f_ffree > 0};
}

/// The folder itself, or the nearest one above it that exists.
std::filesystem::path existing_part_of(const std::filesystem::path& folder) {
    std::error_code unknown;
    auto path = std::filesystem::absolute(folder, unknown).lexically_normal();
    while (path.has_relative_path() && !std::filesystem::exists(path, unknown))
        path = path.parent_path();
    return path;
}

/// 0, or errno: makes a folder in `folder` and removes it again.
int try_to_write_in(const std::filesystem::path& folder) {
    std::string name = (folder / ".lode-doctor.XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) return errno;
    ::rmdir(name.c_str());
    return 0;
}

void check_folder(const CacheOptions& options, Findings& findings) {
    constexpr std::string_view elsewhere = "or set LODE_CACHE_DIR to another folder";
    const auto& folder = options.folder;
    const auto existing = existing_part_of(folder);
    std::error_code unknown;
    const bool exists = std::filesystem::exists(folder, unknown);
    if (exists) {
        const bool writable = options.mode == CacheMode::on;
        const auto tier = cache::DiskTier::open(folder, writable, options.max_bytes);
        if (!tier) {
            add_slow_cache(findings,
                           fmt::format("The cache can't be used, so each start compiles every "
                                       "kernel: {}",
                                       tier.error().message),
                           fmt::format("Make the folder a directory of this user that nobody else "
                                       "can write to (chown, chmod go-w), {}.",
                                       elsewhere));
            return;
        }
        std::uint64_t bytes = 0;
        for (const auto kind : cache::record_kinds) {
            const auto listed = (*tier)->for_each(
                kind,
                [&](const auto&, const cache::FileIdentity& identity) { bytes += identity.size; });
            if (!listed) break;  // Reading it fails too, which the cache reports by itself.
        }
        // A sweep leaves seven eighths.
        if (bytes > options.max_bytes / 16 * 15) {
            add_slow_cache(
                findings,
                fmt::format("The cache in {} holds {} of at most {}: kernels that were used long "
                            "ago are removed, and compiled again.",
                            folder.string(), bytes_text(bytes), bytes_text(options.max_bytes)),
                "Raise LODE_CACHE_MAX_BYTES, or ship packs (`lode warm --pack`).");
        }
    }
    if (options.mode == CacheMode::on) {
        if (const int problem = try_to_write_in(existing); problem != 0) {
            add_slow_cache(findings,
                           fmt::format("Nothing can be written to the cache in {}, so each start "
                                       "compiles every kernel: {} ('{}').",
                                       folder.string(), std::generic_category().message(problem),
                                       existing.string()),
                           fmt::format("Give this user write access, {}.", elsewhere));
            return;
        }
    }
    check_file_system(folder, file_system_of(existing), findings);
}

}  // namespace

void check_file_system(const std::filesystem::path& folder, const FileSystem& system,
                       Findings& findings) {
    for (const auto& [type, name] : remote_file_systems) {
        if (system.type != type) continue;
        add_slow_cache(findings,
                       fmt::format("The cache in {} is on {}: each hit reads and compares every "
                                   "header, and processes may compile the same kernel twice.",
                                   folder.string(), name),
                       "Set LODE_CACHE_DIR to a folder on a local disk, or ship packs (`lode warm "
                       "--pack`).");
    }
    if (system.type == tmpfs) {
        add_slow_cache(findings,
                       fmt::format("The cache in {} is in memory (tmpfs): after a restart of the "
                                   "machine every kernel is compiled again.",
                                   folder.string()),
                       "Set LODE_CACHE_DIR to a folder on a disk.");
    }
    if (system.free_bytes < least_free_bytes || !system.has_files_left) {
        add_slow_cache(
            findings,
            system.has_files_left
                ? fmt::format("The disk of the cache in {} is full: {} are left, {} are needed for "
                              "sure.",
                              folder.string(), bytes_text(system.free_bytes),
                              bytes_text(least_free_bytes))
                : fmt::format("The file system of the cache in {} takes no more files.",
                              folder.string()),
            "Free space there, or set LODE_CACHE_DIR to a folder on another disk.");
    }
}

namespace {

/// Whether the remote cache answers, in what time, and takes writes.
void check_remote(const RemoteCacheOptions& options, Findings& findings) {
    if (!options.is_set()) return;
    const auto add = [&](const Error& error) {
        findings.push_back({Effect::slow, "remote cache",
                            fmt::format("The remote cache can't be used, so what other machines "
                                        "have compiled is compiled again: {}",
                                        error.message),
                            "Start the server, or change or unset LODE_CACHE_REMOTE.", error.code});
    };
    const auto store = cache::open_remote_store(options);
    if (!store) return add(store.error());
    if (const Status answer = (*store)->ping(); !answer) return add(answer.error());
    const auto start = std::chrono::steady_clock::now();
    if (const Status answer = (*store)->ping(); !answer) return add(answer.error());
    const std::chrono::duration<double, std::milli> trip = std::chrono::steady_clock::now() - start;
    constexpr double slow_trip_ms = 50;
    if (trip.count() > slow_trip_ms) {
        findings.push_back(
            {Effect::slow, "remote cache",
             fmt::format("A request to the remote cache takes {:.0f} ms.", trip.count()),
             "Use a server that is nearer.", Errc::file_failed});
    }
    if (options.read_only) return;
    const cache::BlobName trial{cache::BlobName::Space::actions, sha256("lode doctor")};
    const auto file = cache::OutputFile::inlined("record", as_bytes("lode doctor"));
    Status written = (*store)->put(trial, cache::format_action_result({&file, 1}));
    if (written) written = (*store)->remove(trial);
    if (written) return;
    findings.push_back({Effect::slow, "remote cache",
                        fmt::format("The remote cache can't be written to, so other machines "
                                    "compile what this one has compiled: {}",
                                    written.error().message),
                        "Give this machine the right to write, or add ,read-only to "
                        "LODE_CACHE_REMOTE.",
                        written.error().code});
}

}  // namespace

void check_cache(const CacheOptions& options, Findings& findings) {
    if (options.mode == CacheMode::off) return;  // The variable's finding says so.
    check_remote(options.remote, findings);
    if (options.folder.empty()) {
        add_slow_cache(
            findings,
            "There is no cache folder, because LODE_CACHE_DIR and XDG_CACHE_HOME are unset "
            "and HOME isn't an existing folder: each start compiles every kernel.",
            "Set LODE_CACHE_DIR to a folder.");
    } else {
        check_folder(options, findings);
    }
    check_packs(options.packs, findings);
}

void check_packs(std::span<const std::filesystem::path> packs, Findings& findings) {
    std::vector<std::string> usable;
    for (const auto& file : packs) {
        const auto pack = cache::PackTier::open(file);
        if (pack) {
            usable.push_back(file.string());
            continue;
        }
        findings.push_back({Effect::slow, "pack",
                            fmt::format("A pack can't be used, so its kernels are compiled: {}",
                                        pack.error().message),
                            "Write the pack anew with `lode warm --pack`, or remove it from "
                            "LODE_CACHE_PACKS.",
                            pack.error().code});
    }
    if (usable.empty() || Compiler().info()) return;
    findings.push_back(
        {Effect::fails, "pack",
         fmt::format("Nothing can be looked up in {}: the compiler is part of each key, and there "
                     "is none here.",
                     fmt::join(usable, ", ")),
         "Install the NVRTC that filled the packs, or ship images, which need no compiler.",
         Errc::compiler_missing});
}

void check_toolkit_headers(std::span<const std::filesystem::path> folders, Findings& findings) {
    std::vector<std::string> missing;
    for (const char* name : {"cuda_fp16.h", "cuda/std/type_traits", "cub/cub.cuh"}) {
        const bool is_there = std::ranges::any_of(folders, [&](const auto& folder) {
            std::error_code unknown;
            return std::filesystem::exists(folder / name, unknown);
        });
        if (!is_there) missing.emplace_back(name);
    }
    if (missing.empty()) return;
    findings.push_back(
        {Effect::may_fail, "headers",
         fmt::format("The toolkit's headers are missing or incomplete: kernels that include {} "
                     "don't compile.",
                     fmt::join(missing, ", ")),
         "Install the toolkit's headers (the wheels nvidia-cuda-runtime and nvidia-cuda-cccl have "
         "them), or set CUDA_HOME to a toolkit.",
         Errc::compile_failed});
}

void check_workers(const CacheOptions& options, Findings& findings) {
    if (options.workers.policy == WorkerPolicy::never) return;
    const auto program = worker::find_program(options.workers.program);
    if (program) return;
    const bool needs_it = options.workers.policy == WorkerPolicy::always;
    findings.push_back(
        {needs_it ? Effect::fails : Effect::may_fail, "workers",
         fmt::format("{}{}", program.error().message,
                     needs_it ? ""
                              : " Without it, compilations wait for each other, and those with a "
                                "limit fail."),
         needs_it ? "Install lode-worker beside the application, or unset LODE_WORKERS."
                  : "Install lode-worker beside the application, or set LODE_WORKERS=off.",
         program.error().code});
}

}  // namespace lode::tool
