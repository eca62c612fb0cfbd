#include "jit/store/disk_tier.hpp"

#include "base/align_up.hpp"
#include "base/try.hpp"
#include "jit/files/file_state.hpp"
#include "jit/store/source_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <limits>
#include <vector>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
namespace {

constexpr const char* growth_file = "v6/growth";
constexpr const char* sweep_lock_file = "v6/sweep.lock";
constexpr const char* tag_file = "CACHEDIR.TAG";
constexpr std::string_view tag_text =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This folder is lode's cache of compiled kernels; it can be removed at any time.\n";
constexpr std::uint64_t block = 4096;
constexpr std::uint64_t sweeps_per_bound = 16;
constexpr std::int64_t hour_ns = 3600 * ns_per_second;

std::int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

std::uint64_t blocks(std::uint64_t bytes) noexcept {
    return divide_up(bytes, block);
}

std::optional<int> hex_value(char digit) noexcept {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    return std::nullopt;
}

/// What a sweep may remove: a record, or a folder of sources.
struct Candidate {
    RecordKey key;
    FileIdentity identity;
    std::int64_t last_use_ns;
    std::uint64_t bytes;
    std::string sources = {};  ///< Empty for a record.
};

}  // namespace

std::optional<Digest> digest_from_hex(std::string_view hex) {
    if (hex.size() != 2 * Digest::size) return std::nullopt;
    std::array<std::uint8_t, Digest::size> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const auto high = hex_value(hex[2 * i]);
        const auto low = hex_value(hex[2 * i + 1]);
        if (!high || !low) return std::nullopt;
        bytes[i] = static_cast<std::uint8_t>(*high * 16 + *low);
    }
    return Digest(bytes);
}

std::string_view folder_name(RecordKind kind) noexcept {
    switch (kind) {
        case RecordKind::entry:
            return "entries";
        case RecordKind::manifest:
            return "manifests";
        case RecordKind::toolchain:
            return "toolchains";
    }
    return "unknown";
}

std::string record_path(const RecordKey& key) {
    const std::string hex = key.digest.to_hex();
    const std::string_view digits = hex;
    return fmt::format("{}/{}/{}/{}", version_folder, folder_name(key.kind), digits.substr(0, 2),
                       digits.substr(2));
}

Result<std::unique_ptr<DiskTier>> DiskTier::open(const std::filesystem::path& path, bool writable,
                                                 std::uint64_t max_bytes,
                                                 const os::FileOperations& operations) {
    LODE_TRY_ASSIGN(TrustedFolder folder, TrustedFolder::open(path, writable, operations));
    return std::unique_ptr<DiskTier>(new DiskTier(std::move(folder), writable, max_bytes));
}

Result<std::optional<Record>> DiskTier::get(const RecordKey& key) {
    const std::string path = record_path(key);
    LODE_TRY_ASSIGN(TrustedFolder::Read read, folder_.read(path, writable_));
    switch (read.state) {
        case TrustedFolder::Read::State::present:
            return std::move(read.record);
        case TrustedFolder::Read::State::untrusted:
            // A record that can't be removed stays a miss.
            if (writable_) (void)folder_.remove(path);
            return std::nullopt;
        case TrustedFolder::Read::State::absent:
            return std::nullopt;
    }
    return std::nullopt;
}

Result<std::optional<Record>> DiskTier::peek(const RecordKey& key) const {
    LODE_TRY_ASSIGN(TrustedFolder::Read read, folder_.read(record_path(key), false));
    if (read.state != TrustedFolder::Read::State::present) return std::nullopt;
    return std::move(read.record);
}

Status DiskTier::put(const RecordKey& key, std::span<const std::byte> bytes) {
    if (!writable_) return {};
    LODE_TRY(folder_.replace(record_path(key), temporary_folder, bytes));
    return note_growth(bytes.size());
}

Status DiskTier::remove(const RecordKey& key, const FileIdentity* only) {
    if (!writable_) return {};
    const std::string path = record_path(key);
    return only != nullptr ? folder_.remove_if(path, *only, temporary_folder)
                           : folder_.remove(path);
}

Status DiskTier::note_growth(std::uint64_t bytes) const {
    LODE_TRY_ASSIGN(const Descriptor growth, folder_.open_shared(growth_file, os::Open::append));
    const std::string marks(static_cast<std::size_t>(blocks(bytes)), '+');
    os::FileAttributes attributes;
    // A lost mark only delays the next sweep.
    const os::FileOperations& operations = folder_.operations();
    if (operations.write(growth.get(), as_bytes(marks)) < 0 ||
        operations.attributes(growth.get(), attributes) != 0) {
        return {};
    }
    const std::uint64_t grown_blocks = attributes.size;
    if (grown_blocks == marks.size()) {
        // The first put since a sweep, or the first ever.
        LODE_TRY_ASSIGN(const auto tag, folder_.read(tag_file, false));
        if (tag.state == TrustedFolder::Read::State::absent) {
            LODE_TRY(folder_.replace(tag_file, temporary_folder, as_bytes(tag_text)));
        }
    }
    if (grown_blocks * block < max_bytes_ / sweeps_per_bound) return {};
    LODE_TRY(sweep(max_bytes_ - max_bytes_ / 8));
    return {};
}

Status DiskTier::for_each(
    RecordKind kind,
    const std::function<void(const RecordKey&, const FileIdentity&)>& visit) const {
    const std::string parent = fmt::format("{}/{}", version_folder, folder_name(kind));
    LODE_TRY_ASSIGN(const auto fans, folder_.folders(parent));
    for (const auto& fan : fans) {
        LODE_TRY(folder_.list(fmt::format("{}/{}", parent, fan),
                              [&](const std::string& name, const FileIdentity& identity) {
                                  if (const auto digest = digest_from_hex(fan + name)) {
                                      visit({kind, *digest}, identity);
                                  }
                              }));
    }
    return {};
}

Result<std::optional<SweepReport>> DiskTier::sweep(std::uint64_t target_bytes) const {
    LODE_TRY_ASSIGN(const Descriptor lock, folder_.open_shared(sweep_lock_file));
    // Two concurrent sweeps are harmless but do the work twice; that is acceptable where locks
    // fail.
    if (folder_.operations().lock_file(lock.get()) != 0 && errno == EWOULDBLOCK)
        return std::nullopt;

    SweepReport report;
    const std::int64_t now = now_ns();
    LODE_TRY(
        folder_.list(temporary_folder, [&](const std::string& name, const FileIdentity& identity) {
            const std::int64_t age = now - identity.modified_ns;
            if (age < hour_ns && age > -hour_ns) return;
            if (folder_.remove(fmt::format("{}/{}", temporary_folder, name))) {
                ++report.removed_temporaries;
            }
        }));

    std::vector<Candidate> candidates;
    for (const RecordKind kind : record_kinds) {
        LODE_TRY(for_each(kind, [&](const RecordKey& key, const FileIdentity& identity) {
            // A stamp from the future means that the clock was set back, not that the record is in
            // use. The next hit corrects it; until then it must not outlive all other records.
            const bool future = identity.modified_ns > now + hour_ns;
            candidates.push_back(
                {key, identity, future ? 0 : identity.modified_ns, blocks(identity.size) * block});
        }));
    }
    report.records = candidates.size();
    LODE_TRY_ASSIGN(auto groups, source_groups(folder_, block));
    for (auto& group : groups) {
        const bool future = group.last_use_ns > now + hour_ns;
        candidates.push_back(
            {{}, {}, future ? 0 : group.last_use_ns, group.block_bytes, std::move(group.path)});
    }
    for (const auto& candidate : candidates)
        report.bytes += candidate.bytes;
    std::ranges::sort(candidates, {}, &Candidate::last_use_ns);
    for (const auto& candidate : candidates) {
        if (report.bytes - report.removed_bytes <= target_bytes) break;
        report.removed_bytes += candidate.bytes;
        if (!candidate.sources.empty()) {
            LODE_TRY(remove_tree(folder_, candidate.sources));
            continue;
        }
        LODE_TRY(
            folder_.remove_if(record_path(candidate.key), candidate.identity, temporary_folder));
        ++report.removed_records;
    }
    LODE_TRY_ASSIGN(const Descriptor growth, folder_.open_shared(growth_file, os::Open::truncate));
    return report;
}

Status DiskTier::clear() const {
    Status outcome;
    for (const RecordKind kind : record_kinds) {
        LODE_TRY(for_each(kind, [&](const RecordKey& key, const FileIdentity&) {
            if (Status removed = folder_.remove(record_path(key)); !removed) outcome = removed;
        }));
    }
    LODE_TRY(folder_.list(pch_folder, [&](const std::string& name, const FileIdentity&) {
        if (Status removed = folder_.remove(fmt::format("{}/{}", pch_folder, name)); !removed)
            outcome = removed;
    }));
    LODE_TRY(outcome);
    LODE_TRY(remove_tree(folder_, sources_folder));
    LODE_TRY(folder_.remove(traffic_file));
    LODE_TRY(sweep(std::numeric_limits<std::uint64_t>::max()));
    return {};
}

}  // namespace LODE_NAMESPACE::cache
