#include "jit/headers/manifest.hpp"

#include "base/foreign_environment.hpp"
#include "base/try.hpp"
#include "jit/store/sealed_file.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
namespace {

enum ManifestSection : std::uint32_t { key_section = 1, sets_section };

void write(ByteWriter& out, const HeaderPath& path) {
    out.number(static_cast<std::uint8_t>(path.root));
    out.number(path.index);
    out.text(path.path);
}

HeaderPath read_path(ByteReader& in) {
    HeaderPath path;
    path.root = in.enumerator(HeaderPath::Root::working);
    path.index = in.number<std::uint32_t>();
    path.path = in.text();
    return path;
}

void write(ByteWriter& out, const HeaderRecord& record) {
    write(out, record.path);
    out.number(record.stamp.device);
    out.number(record.stamp.inode);
    out.number(record.stamp.size);
    out.number(record.stamp.modified_ns);
    out.number(record.stamp.changed_ns);
    out.number(static_cast<std::uint8_t>(record.settled));
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
    record.stamp.device = in.number<std::uint64_t>();
    record.stamp.inode = in.number<std::uint64_t>();
    record.stamp.size = in.number<std::uint64_t>();
    record.stamp.modified_ns = in.number<std::int64_t>();
    record.stamp.changed_ns = in.number<std::int64_t>();
    record.settled = in.number<std::uint8_t>() != 0;
    record.content = read_digest(in);
    return record;
}

void write(ByteWriter& out, const HeaderProbe& probe) {
    write(out, probe.path);
    out.number(static_cast<std::uint8_t>(probe.kind));
    out.number(probe.file.device);
    out.number(probe.file.inode);
}

HeaderProbe read_probe(ByteReader& in) {
    HeaderProbe probe;
    probe.path = read_path(in);
    probe.kind = in.enumerator(HeaderProbe::Kind::folder);
    probe.file.device = in.number<std::uint64_t>();
    probe.file.inode = in.number<std::uint64_t>();
    return probe;
}

void write(ByteWriter& out, const HeaderSet& set) {
    out.list(set.headers, [&](const auto& header) { write(out, header); });
    out.list(set.probes, [&](const auto& probe) { write(out, probe); });
    write(out, set.variables);
    out.count(set.calculations.size());
    for (const auto& [calculation, result] : set.calculations) {
        out.number(calculation.function);
        out.number(calculation.x);
        out.number(calculation.y);
        out.number(result);
    }
    out.text(set.bound_to);
}

HeaderSet read_set(ByteReader& in) {
    HeaderSet set;
    set.headers = in.list([&] { return read_record(in); });
    set.probes = in.list([&] { return read_probe(in); });
    set.variables = read_variables(in);
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
        Calculation calculation;
        calculation.function = in.number<std::uint8_t>();
        calculation.x = in.number<std::uint64_t>();
        calculation.y = in.number<std::uint64_t>();
        set.calculations.emplace_back(calculation, in.number<std::uint64_t>());
    }
    set.bound_to = in.text();
    return set;
}

}  // namespace

void write(ByteWriter& out, const std::vector<VariableRecord>& variables) {
    out.list(variables, [&](const VariableRecord& variable) {
        out.text(variable.name);
        out.text(variable.value);
    });
}

std::vector<VariableRecord> read_variables(ByteReader& in) {
    return in.list([&] { return VariableRecord{in.text(), in.text()}; });
}

VariableRecord VariableRecord::of(std::string name, const char* value) {
    return {std::move(name), value == nullptr ? "unset" : sha256(value).to_hex()};
}

VariableRecord VariableRecord::now(const std::string& name) {
    const auto value = foreign_environment(name);
    return of(name, value ? value->c_str() : nullptr);
}

std::string HeaderSet::key_list() const {
    std::string list;
    for (const auto& header : headers) {
        list += header.path.to_string();
        list += ' ';
        list += header.content.to_hex();
        list += '\n';
    }
    for (const auto& probe : probes) {
        if (probe.kind == HeaderProbe::Kind::absent) continue;
        list += probe.path.to_string();
        list += probe.kind == HeaderProbe::Kind::file ? " is a file\n" : " is a folder\n";
    }
    for (const auto& [name, value] : variables)
        list += fmt::format("variable {} {}\n", name, value);
    for (const auto& [calculation, result] : calculations)
        list += fmt::format("{} is {:x}\n", to_string(calculation), result);
    if (!bound_to.empty()) list += "bound to " + sha256(bound_to).to_hex() + "\n";
    return list;
}

bool HeaderSet::is_empty() const noexcept {
    return headers.empty() && probes.empty() && variables.empty() && calculations.empty() &&
           bound_to.empty();
}

std::size_t HeaderSet::approximate_bytes() const {
    constexpr std::size_t text = 64;  // A typical path length.
    return sizeof(HeaderSet) + headers.size() * (sizeof(HeaderRecord) + text) +
           variables.size() * sizeof(VariableRecord) +
           calculations.size() * sizeof(calculations[0]) +
           probes.size() * (sizeof(HeaderProbe) + text) + bound_to.size();
}

std::size_t Manifest::approximate_bytes() const {
    std::size_t bytes = sizeof(Manifest) + key_text.size();
    for (const auto& known : sets)
        bytes += known.set.approximate_bytes() + sizeof(Digest);
    return bytes;
}

void Manifest::add(HeaderSet set) {
    const Digest list = sha256(set.key_list());
    add(KnownSet{std::move(set), list});
}

void Manifest::add(KnownSet known) {
    std::erase_if(sets, [&](const KnownSet& old) { return old.list == known.list; });
    sets.insert(sets.begin(), std::move(known));
    if (sets.size() > max_sets) sets.resize(max_sets);
}

void Manifest::forget_stamps() noexcept {
    for (auto& known : sets) {
        for (auto& header : known.set.headers)
            header.settled = false;
    }
}

Bytes format_manifest(const Manifest& manifest) {
    ByteWriter sets;
    sets.count(manifest.sets.size());
    for (const auto& [set, list] : manifest.sets) {
        sets.raw(std::as_bytes(std::span(list.bytes())));
        write(sets, set);
    }
    SealedWriter out(FileKind::manifest);
    out.section(key_section, as_bytes(manifest.key_text), SealedWriter::Effort::usual);
    out.section(sets_section, sets.bytes(), SealedWriter::Effort::quick);
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
    if (!in.ended()) return damaged("its header sets can't be parsed");
    return manifest;
}

Status check_lists(const Manifest& manifest) {
    for (const auto& [set, list] : manifest.sets) {
        if (sha256(set.key_list()) != list) return damaged("a header set doesn't match its digest");
    }
    return {};
}

Result<Manifest> parse_manifest_for(std::span<const std::byte> bytes, const Key& request) {
    LODE_TRY_ASSIGN(Manifest manifest, parse_manifest(bytes));
    if (manifest.key_text != request.text) return damaged("it belongs to another request");
    return manifest;
}

}  // namespace LODE_NAMESPACE::cache
