#include "jit/cache/source_store.hpp"

#include "base/file.hpp"
#include "base/try.hpp"
#include "jit/files/file_state.hpp"
#include "jit/request/bytes.hpp"
#include "jit/store/disk_tier.hpp"
#include "jit/store/source_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
namespace {

constexpr std::size_t most_known = 10'000;
constexpr std::size_t folder_digits = 32;
constexpr std::int64_t stamp_precision_ns = 3600 * ns_per_second;

/// Whether a path means the same to a file system, in a #line directive and in a message.
bool is_plain(std::string_view path) noexcept {
    return std::ranges::none_of(path, [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\' || c == 0x7F;
    });
}

/// Whether line information can name a file: PTX has no way to write a double quote.
bool can_be_named(const std::string& file) {
    std::error_code problem;
    return std::filesystem::absolute(file, problem).string().find('"') == std::string::npos;
}

/// The last part of a source's name; a usual name if it can't be that of a file.
std::string leaf_of(const Source& source) {
    constexpr std::size_t longest_name = 255;  // NAME_MAX
    std::string name = std::filesystem::path(source.name()).filename().string();
    const bool is_usable = !name.empty() && name != "." && name != ".." &&
                           name.size() <= longest_name && is_plain(name);
    return is_usable ? name : "source.cu";
}

}  // namespace

SourceFiles SourceStore::make(const CompileRequest& request) {
    const auto& [source, arch, options, names, limits] = request;
    SourceFiles files;
    if (!options.source_files || !(options.line_info || options.debug) ||
        source.language() != Source::Language::cuda)
        return files;
    DiskTier* const disk = storage_.tiers().disk();
    if (disk == nullptr || !is_plain(disk->folder().path().string())) return files;
    if (!source.is_file() || !can_be_named(source.name())) {
        const std::string name = leaf_of(source);
        if (const auto folder = folder_of(*disk, {{name, source.code()}}); !folder.empty())
            files.source = fmt::format("{}/{}", folder, name);
    }
    Texts headers;
    for (const auto& [path, header] : headers_by_path(options.headers))
        headers.emplace(path, header->text);
    if (!headers.empty()) files.headers = folder_of(*disk, headers);
    return files;
}

std::string SourceStore::folder_of(DiskTier& disk, const Texts& texts) {
    Hasher hasher;
    for (const auto& [path, text] : texts) {
        if (path.empty() || !is_plain(path)) return {};
        hasher.field(path).field(text);
    }
    const std::string folder =
        fmt::format("{}/{}", sources_folder, hasher.finish().to_hex().substr(0, folder_digits));
    for (const auto& [path, text] : texts) {
        const std::string name = fmt::format("{}/{}", folder, path);
        const auto there = is_there(disk, name, text);
        if (there && *there) continue;
        if (!disk.writable()) return {};
        const auto written =
            disk.folder()
                .replace(name, temporary_folder, as_bytes(text))
                .and_then([&disk, size = text.size()] { return disk.note_growth(size); });
        if (written) continue;
        if (!has_warned_.exchange(true)) {
            storage_.options().log.write(
                LogLevel::warning,
                fmt::format("Code in memory isn't written to files, so that debuggers and "
                            "profilers don't find its lines. {}",
                            written.error().message));
        }
        return {};
    }
    return (disk.folder().path() / folder).string();
}

Result<bool> SourceStore::is_there(const DiskTier& disk, const std::string& name,
                                   std::string_view text) {
    LODE_TRY_ASSIGN(const Descriptor file, disk.folder().open_trusted(name));
    os::FileAttributes attributes;
    if (!file || !os::attributes_of(file.get(), attributes)) return false;
    const FileIdentity now = identity_of(attributes);
    const std::int64_t age = os::file_clock_now() - now.modified_ns;
    {
        const std::lock_guard guard(mutex_);
        const auto known = known_.find(name);
        if (known != known_.end() && known->second == now && age < stamp_precision_ns) return true;
    }
    LODE_TRY_ASSIGN(const auto read, disk.folder().read(name, disk.writable()));
    if (read.state != TrustedFolder::Read::State::present || as_text(read.record.bytes) != text)
        return false;
    const std::lock_guard guard(mutex_);
    if (known_.size() >= most_known) known_.clear();
    known_[name] = read.record.identity;
    return true;
}

}  // namespace LODE_NAMESPACE::cache
