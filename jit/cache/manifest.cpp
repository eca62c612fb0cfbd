#include "jit/cache/manifest.hpp"

#include "base/try.hpp"
#include "jit/cache/sealed_file.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace lode::cache {
namespace {

enum SectionId : std::uint32_t { key_section = 1, sets_section };

void write(ByteWriter& out, const HeaderPath& path) {
    out.number(static_cast<std::uint8_t>(path.root));
    out.number(path.index);
    out.text(path.path);
}

HeaderPath read_path(ByteReader& in) {
    HeaderPath path;
    path.root = in.enumerator(HeaderPath::Root::toolkit);
    path.index = in.number<std::uint32_t>();
    path.path = in.text();
    return path;
}

void write(ByteWriter& out, const HeaderRecord& record) {
    write(out, record.path);
    out.text(record.absolute);
    out.number(record.stamp.size);
    out.number(record.stamp.modified_ns);
    out.number(record.stamp.changed_ns);
    out.raw(std::as_bytes(std::span(record.content.bytes())));
}

Digest read_digest(ByteReader& in) {
    std::array<std::uint8_t, Digest::size> digest{};
    const auto raw = in.raw(digest.size());
    if (!raw.empty()) std::memcpy(digest.data(), raw.data(), raw.size());
    return Digest(digest);
}

HeaderRecord read_record(ByteReader& in) {
    HeaderRecord record;
    record.path = read_path(in);
    record.absolute = in.text();
    record.stamp.size = in.number<std::uint64_t>();
    record.stamp.modified_ns = in.number<std::int64_t>();
    record.stamp.changed_ns = in.number<std::int64_t>();
    record.content = read_digest(in);
    return record;
}

HeaderSet read_set(ByteReader& in) {
    HeaderSet set;
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left)
        set.headers.push_back(read_record(in));
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left)
        set.answers.push_back(in.text());
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
        HeaderProbe probe;
        probe.path = read_path(in);
        probe.exists = in.number<std::uint8_t>() != 0;
        set.probes.push_back(std::move(probe));
    }
    return set;
}

/// The i-th folder of a list; empty if there is none.
std::filesystem::path at(const std::vector<std::filesystem::path>& folders, std::uint32_t index) {
    return index < folders.size() ? folders[index] : std::filesystem::path();
}

}  // namespace

std::filesystem::path HeaderPath::resolve(const SearchFolders& folders) const {
    std::filesystem::path folder;
    switch (root) {
        case Root::absolute:
            return path;
        case Root::source:
            folder = folders.source;
            break;
        case Root::include:
            folder = at(folders.include, index);
            break;
        case Root::toolkit:
            folder = at(folders.toolkit, index);
            break;
    }
    if (folder.empty() || path.empty()) return folder;
    return folder / path;
}

std::string HeaderPath::to_string() const {
    switch (root) {
        case Root::absolute:
            return path;
        case Root::source:
            return "source " + path;
        case Root::include:
            return fmt::format("include {} {}", index, path);
        case Root::toolkit:
            return fmt::format("toolkit {} {}", index, path);
    }
    return path;
}

std::string HeaderSet::key_list() const {
    std::string list;
    for (const auto& header : headers) {
        list += header.absolute.empty() ? header.path.to_string() : header.absolute;
        list += ' ';
        list += header.content.to_hex();
        list += '\n';
    }
    for (const auto& answer : answers)
        list += answer + "\n";
    return list;
}

std::size_t HeaderSet::approximate_bytes() const {
    constexpr std::size_t text = 64;  // A path is about that long.
    return sizeof(HeaderSet) + headers.size() * (sizeof(HeaderRecord) + text) +
           answers.size() * (sizeof(std::string) + text) +
           probes.size() * (sizeof(HeaderProbe) + text);
}

std::size_t Manifest::approximate_bytes() const {
    std::size_t bytes = sizeof(Manifest) + key_text.size();
    for (const auto& known : sets)
        bytes += known.set.approximate_bytes() + sizeof(Digest);
    return bytes;
}

void Manifest::add(HeaderSet set) {
    const Digest list = sha256(set.key_list());
    std::erase_if(sets, [&](const KnownSet& old) { return old.list == list; });
    sets.insert(sets.begin(), {std::move(set), list});
    if (sets.size() > max_sets) sets.resize(max_sets);
}

Bytes format_manifest(const Manifest& manifest) {
    ByteWriter sets;
    sets.count(manifest.sets.size());
    for (const auto& [set, list] : manifest.sets) {
        sets.raw(std::as_bytes(std::span(list.bytes())));
        sets.count(set.headers.size());
        for (const auto& header : set.headers)
            write(sets, header);
        sets.count(set.answers.size());
        for (const auto& answer : set.answers)
            sets.text(answer);
        sets.count(set.probes.size());
        for (const auto& probe : set.probes) {
            write(sets, probe.path);
            sets.number(static_cast<std::uint8_t>(probe.exists));
        }
    }
    SealedWriter out(FileKind::manifest);
    out.section(key_section, as_bytes(manifest.key_text), true);
    out.section(sets_section, sets.bytes(), true);
    return out.seal();
}

Result<Manifest> parse_manifest(std::span<const std::byte> bytes) {
    LODE_TRY_ASSIGN(const auto file, SealedFile::parse(bytes, FileKind::manifest));
    Manifest manifest;
    LODE_TRY_ASSIGN(manifest.key_text, file.text(key_section));
    LODE_TRY_ASSIGN(const Bytes sets, file.section(sets_section));
    ByteReader in(sets);
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
        const Digest list = read_digest(in);
        manifest.sets.push_back({read_set(in), list});
    }
    if (!in.ended()) return damaged("its header sets don't parse");
    return manifest;
}

Status check_lists(const Manifest& manifest) {
    for (const auto& [set, list] : manifest.sets) {
        if (sha256(set.key_list()) != list) return damaged("a header set isn't that of its digest");
    }
    return {};
}

Result<Manifest> parse_manifest_for(std::span<const std::byte> bytes, const Key& request) {
    LODE_TRY_ASSIGN(Manifest manifest, parse_manifest(bytes));
    if (manifest.key_text != request.text) return damaged("it answers another request");
    return manifest;
}

}  // namespace lode::cache
