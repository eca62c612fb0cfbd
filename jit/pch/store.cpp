#include "jit/pch/store.hpp"

#include "base/file.hpp"
#include "base/os/process.hpp"
#include "base/try.hpp"
#include "jit/store/disk_tier.hpp"
#include "jit/store/sealed_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace LODE_NAMESPACE::pch {
namespace {

using cache::FileIdentity;
using cache::Key;
using cache::pch_folder;
using cache::TrustedFolder;

constexpr std::int64_t refusal_ns = 3600 * ns_per_second;
constexpr std::string_view record_suffix = ".record";

std::string file_of(const Key& key) {
    return fmt::format("{}/{}", pch_folder, key.digest.to_hex());
}
std::string record_of(const Key& key) {
    return file_of(key).append(record_suffix);
}

/// Identifies the start of the system; empty if it isn't known.
const std::string& boot() {
    // Never destroyed: other threads may use it while the process ends.
    static const auto& identity = *new std::string(os::boot_id());
    return identity;
}

std::optional<FileStamp> stamp_of_open(int file) {
    os::FileAttributes attributes;
    if (!os::attributes_of(file, attributes)) return std::nullopt;
    return stamp_of(attributes);
}

/// All files of one precompiled header.
struct Group {
    std::uint64_t bytes = 0;
    std::int64_t last_use_ns = 0;
    std::vector<std::string> names;
};

}  // namespace

Result<PchStore> PchStore::open(const Settings& settings) {
    LODE_TRY_ASSIGN(auto folder, TrustedFolder::open(settings.folder, settings.is_writable));
    return PchStore(std::move(folder), settings);
}

PchStore::Found PchStore::find(const Key& key) const {
    const auto read = folder_.read(record_of(key), false);
    if (!read || read->state == TrustedFolder::Read::State::absent) return {};
    auto record = read->state == TrustedFolder::Read::State::present
                      ? parse_record(read->record.bytes)
                      : cache::damaged("it can't be trusted");
    if (record && record->key_text == key.text) {
        if (record->size == 0) {
            const auto age = os::file_clock_now() - read->record.identity.modified_ns;
            return {std::nullopt, age >= 0 && age < refusal_ns};
        }
        auto file = folder_.open_trusted(file_of(key));
        if (file && *file && is_intact(*file, key, *record)) {
            if (is_writable()) folder_.touch(record_of(key));
            return {StoredHeader{*std::move(file), *std::move(record)}, false};
        }
    }
    if (is_writable()) remove(key);
    return {};
}

bool PchStore::is_intact(const Descriptor& file, const Key& key, PchRecord& record) const {
    const auto stamp = stamp_of_open(file.get());
    if (!stamp || stamp->size != record.size) return false;
    const bool is_trusted = !boot().empty() && os::keeps_stamps(file.get());
    const VerifiedState now{*stamp, is_trusted ? boot() : std::string()};
    if (is_trusted && record.verified == now) return true;
    if (digest_of_open_file(file.get()) != record.content) return false;
    record.verified = now;
    if (is_writable()) write_record(key, record);
    return true;
}

Result<std::string> PchStore::make_temporary() const {
    auto name = fmt::format("{}/{}.tmp", cache::temporary_folder, cache::random_name());
    LODE_TRY(folder_.open_shared(name));
    return name;
}

Status PchStore::publish(const Key& key, const std::string& temporary,
                         Conditions conditions) const {
    LODE_TRY_ASSIGN(const Descriptor file, folder_.open_shared(temporary));
    const auto before = stamp_of_open(file.get());
    if (!before || before->size == 0)
        return fail(Errc::file_failed, "The compiler wrote no precompiled header.");
    if (before->size > settings_.max_bytes) {
        return fail(Errc::not_supported,
                    fmt::format("A precompiled header of {} bytes exceeds the limit for all ({}).",
                                before->size, settings_.max_bytes));
    }
    const auto content = digest_of_open_file(file.get());
    if (!content) return fail_from_errno("Reading the cache", path_of(temporary).string(), errno);
    LODE_TRY(folder_.adopt(temporary, file_of(key)));
    // Renaming changes the stamp.
    const auto stamp = stamp_of_open(file.get());
    const bool is_trusted = stamp && os::keeps_stamps(file.get());
    write_record(key, {key.text,
                       before->size,
                       *content,
                       {stamp.value_or(FileStamp{}), is_trusted ? boot() : std::string()},
                       std::move(conditions)});
    sweep(key);
    return {};
}

void PchStore::write_record(const Key& key, const PchRecord& record) const {
    // Without its record the file isn't used, and the next sweep removes it.
    (void)folder_.replace(record_of(key), cache::temporary_folder, format_record(record));
}

void PchStore::refuse(const Key& key) const {
    PchRecord record;
    record.key_text = key.text;
    if (is_writable()) write_record(key, record);
}

void PchStore::remove(const Key& key) const {
    (void)folder_.remove(record_of(key));
    (void)folder_.remove(file_of(key));
}

void PchStore::sweep(const Key& kept) const {
    std::map<std::string, Group> groups;
    std::uint64_t total = 0;
    const auto add = [&](const std::string& name, const FileIdentity& identity) {
        Group& group = groups[name.substr(0, name.find('.'))];
        group.bytes += identity.size;
        // The newer of both: a file whose record is still to be written isn't old.
        group.last_use_ns = std::max(group.last_use_ns, identity.modified_ns);
        group.names.push_back(name);
        total += identity.size;
    };
    if (!folder_.list(pch_folder, add)) return;
    groups.erase(kept.digest.to_hex());
    std::vector<const Group*> oldest;
    for (const auto& [name, group] : groups)
        oldest.push_back(&group);
    std::ranges::sort(oldest, {}, &Group::last_use_ns);
    for (const auto* group : oldest) {
        if (total <= settings_.max_bytes) return;
        for (const auto& name : group->names)
            (void)folder_.remove(fmt::format("{}/{}", pch_folder, name));
        total -= group->bytes;
    }
}

}  // namespace LODE_NAMESPACE::pch
