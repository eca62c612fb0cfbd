#include "jit/pch/record.hpp"

#include "base/foreign_environment.hpp"
#include "base/try.hpp"
#include "jit/store/sealed_file.hpp"

#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::pch {
namespace {

using Kind = FileAnswer::Kind;
using cache::SealedFile;
using cache::SealedWriter;
using cache::VariableRecord;

enum RecordSection : std::uint32_t { key_part = 1, file_part, conditions_part };

void write(ByteWriter& out, const FileStamp& stamp) {
    out.number(stamp.device);
    out.number(stamp.inode);
    out.number(stamp.size);
    out.number(stamp.modified_ns);
    out.number(stamp.changed_ns);
}
FileStamp read_stamp(ByteReader& in) {
    FileStamp stamp;
    stamp.device = in.number<std::uint64_t>();
    stamp.inode = in.number<std::uint64_t>();
    stamp.size = in.number<std::uint64_t>();
    stamp.modified_ns = in.number<std::int64_t>();
    stamp.changed_ns = in.number<std::int64_t>();
    return stamp;
}

void write(ByteWriter& out, const Digest& digest) {
    out.raw(std::as_bytes(std::span(digest.bytes())));
}
Digest read_content_digest(ByteReader& in) {
    std::array<std::uint8_t, Digest::size> digest{};
    const auto raw = in.raw(digest.size());
    if (!raw.empty()) std::memcpy(digest.data(), raw.data(), raw.size());
    return Digest(digest);
}

void write(ByteWriter& out, const PathCondition& path) {
    out.text(path.path);
    out.number(static_cast<std::uint8_t>(path.kind));
    if (path.kind != Kind::file) return;
    out.flag(path.is_read);
    write(out, path.stamp);
    out.flag(path.is_settled);
    write(out, path.content);
}
PathCondition read_condition(ByteReader& in) {
    PathCondition path;
    path.path = in.text();
    path.kind = in.enumerator(Kind::folder);
    if (path.kind != Kind::file) return path;
    path.is_read = in.flag();
    path.stamp = read_stamp(in);
    path.is_settled = in.flag();
    path.content = read_content_digest(in);
    return path;
}

tl::unexpected<Error> unsuitable(std::string why) {
    return fail(Errc::not_supported, std::move(why));
}

/// Whether a file still has the content of a condition.
bool has_content(const FileContent& now, const PathCondition& then) {
    if (then.is_settled && now.settled && now.stamp == then.stamp) return true;
    return now.text.size() == then.stamp.size && sha256(now.text) == then.content;
}

}  // namespace

Result<Conditions> Conditions::of(const FileAccesses& accesses, const std::string& program) {
    Conditions conditions;
    if (!accesses.unforeseen().empty()) return unsuitable(accesses.unforeseen());
    const std::string source = cleaned_path(program);
    for (const auto& [path, answer] : accesses.answers()) {
        if (path == source) {
            // NVRTC looks for it; only an include reads it, with what follows the head.
            if (answer.consumed) return unsuitable(fmt::format("'{}' includes itself", path));
            continue;
        }
        if (answer.kind == Kind::refused || answer.kind == Kind::irregular)
            return unsuitable(fmt::format("'{}' can't be read", path));
        PathCondition condition;
        condition.path = path;
        condition.kind = answer.kind;
        if (answer.kind == Kind::file) {
            condition.is_read = answer.content != nullptr && answer.consumed;
            condition.stamp = stamp_of(answer.attributes);
            if (condition.is_read) {
                condition.stamp = answer.content->stamp;
                condition.is_settled = answer.content->settled;
                condition.content = sha256(answer.content->text);
            }
        }
        conditions.paths.push_back(std::move(condition));
    }
    for (const auto& [name, value] : accesses.variables())
        conditions.variables.push_back(VariableRecord::of(name, value ? value->c_str() : nullptr));
    return conditions;
}

bool Conditions::hold(FileAccesses& accesses) const {
    for (const auto& variable : variables) {
        const auto value = foreign_environment(variable.name);
        accesses.note_variable(variable.name, value ? value->c_str() : nullptr);
        if (VariableRecord::of(variable.name, value ? value->c_str() : nullptr) != variable)
            return false;
    }
    for (const auto& then : paths) {
        FileAnswer& now = accesses.ask(then.path, then.is_read);
        if (now.kind != then.kind) return false;
        if (then.kind != Kind::file) continue;
        if (then.is_read) {
            if (now.content == nullptr || !has_content(*now.content, then)) return false;
            now.consumed = true;
        } else if (!same_file(stamp_of(now.attributes), then.stamp)) {
            return false;
        }
    }
    return accesses.unforeseen().empty();
}

Bytes format_record(const PchRecord& record) {
    ByteWriter file;
    file.number(record.size);
    write(file, record.content);
    write(file, record.verified.stamp);
    file.text(record.verified.boot);
    ByteWriter conditions;
    conditions.list(record.conditions.paths, [&](const auto& path) { write(conditions, path); });
    write(conditions, record.conditions.variables);
    SealedWriter out(cache::FileKind::pch);
    out.section(key_part, as_bytes(record.key_text), SealedWriter::Effort::usual);
    out.section(file_part, file.bytes(), SealedWriter::Effort::none);
    out.section(conditions_part, conditions.bytes(), SealedWriter::Effort::usual);
    return out.seal();
}

Result<PchRecord> parse_record(std::span<const std::byte> bytes) {
    LODE_TRY_ASSIGN(const auto sealed, SealedFile::parse(bytes, cache::FileKind::pch));
    PchRecord record;
    LODE_TRY_ASSIGN(record.key_text, sealed.text(key_part));
    LODE_TRY_ASSIGN(const Bytes file, sealed.section(file_part));
    ByteReader in(file);
    record.size = in.number<std::uint64_t>();
    record.content = read_content_digest(in);
    record.verified.stamp = read_stamp(in);
    record.verified.boot = in.text();
    if (!in.ended()) return cache::damaged("its state can't be parsed");
    LODE_TRY_ASSIGN(const Bytes conditions, sealed.section(conditions_part));
    ByteReader rest(conditions);
    record.conditions.paths = rest.list([&] { return read_condition(rest); });
    record.conditions.variables = cache::read_variables(rest);
    if (!rest.ended()) return cache::damaged("its conditions can't be parsed");
    return record;
}

}  // namespace LODE_NAMESPACE::pch
