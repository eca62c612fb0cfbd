#include "jit/remote/action_result.hpp"

#include "base/try.hpp"
#include "jit/store/tier.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
namespace {

constexpr std::size_t longest_path = 128;

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, delimited = 2, fixed32 = 5 };

constexpr std::uint64_t output_files_field = 2;
constexpr std::uint64_t path_field = 1;
constexpr std::uint64_t digest_field = 2;
constexpr std::uint64_t contents_field = 5;
constexpr std::uint64_t hash_field = 1;
constexpr std::uint64_t size_field = 2;

tl::unexpected<Error> bad_message(std::string_view why) {
    return fail(Errc::invalid_image, fmt::format("It isn't a valid ActionResult: {}.", why));
}

void put_varint(Bytes& out, std::uint64_t value) {
    constexpr std::uint64_t low = 0x7f;
    for (; value > low; value >>= 7)
        out.push_back(static_cast<std::byte>((value & low) | (low + 1)));
    out.push_back(static_cast<std::byte>(value));
}

void put_tag(Bytes& out, std::uint64_t field, WireType type) {
    put_varint(out, field << 3 | static_cast<std::uint64_t>(type));
}

void put_delimited(Bytes& out, std::uint64_t field, std::span<const std::byte> value) {
    put_tag(out, field, WireType::delimited);
    put_varint(out, value.size());
    out.insert(out.end(), value.begin(), value.end());
}

/// One field of a message.
struct Field {
    std::uint64_t number = 0;
    WireType type = WireType::varint;
    std::uint64_t value = 0;           ///< A varint's value.
    std::span<const std::byte> bytes;  ///< A delimited field's bytes.

    [[nodiscard]] bool is(std::uint64_t wanted) const noexcept { return number == wanted; }
    [[nodiscard]] bool is_delimited() const noexcept { return type == WireType::delimited; }
};

/// Reads the fields of one message.
class MessageReader {
public:
    explicit MessageReader(std::span<const std::byte> bytes) noexcept : in_(bytes) {}

    [[nodiscard]] bool at_end() const noexcept { return in_.rest().empty(); }

    [[nodiscard]] Result<Field> next() {
        constexpr std::uint64_t largest_field = (std::uint64_t{1} << 29) - 1;
        const auto tag = varint();
        Field field;
        if (!tag) return bad_message("a field has no number");
        field.number = *tag >> 3;
        field.type = static_cast<WireType>(*tag & 7);
        if (field.number == 0 || field.number > largest_field)
            return bad_message("a field's number is out of range");
        std::optional<std::uint64_t> length;
        switch (field.type) {
            case WireType::varint:
                if (const auto value = varint()) {
                    field.value = *value;
                    return field;
                }
                return bad_message("a number is incomplete");
            case WireType::fixed64:
                in_.raw(sizeof(std::uint64_t));
                break;
            case WireType::fixed32:
                in_.raw(sizeof(std::uint32_t));
                break;
            case WireType::delimited:
                length = varint();
                if (!length) return bad_message("a length is incomplete");
                field.bytes = in_.raw(*length);
                break;
            default:
                return bad_message("a field has an unknown wire type");
        }
        if (!in_.ok()) return bad_message("a field is longer than the message");
        return field;
    }

private:
    std::optional<std::uint64_t> varint() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const auto byte = in_.number<std::uint8_t>();
            // The tenth byte has room for one bit.
            if (!in_.ok() || (shift == 63 && byte > 1)) return std::nullopt;
            value |= std::uint64_t{byte & 0x7fU} << shift;
            if (byte < 0x80) return value;
        }
        return std::nullopt;
    }

    ByteReader in_;
};

bool is_valid_path(std::string_view path) {
    return !path.empty() && path.size() <= longest_path && path.front() != '/' &&
           std::ranges::all_of(path, [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '/' || c == '_';
           });
}

Status read_digest_message(std::span<const std::byte> bytes, OutputFile& file) {
    MessageReader in(bytes);
    std::optional<Digest> hash;
    while (!in.at_end()) {
        LODE_TRY_ASSIGN(const Field field, in.next());
        if (field.is(hash_field)) {
            if (!field.is_delimited()) return bad_message("a hash isn't text");
            hash = digest_from_hex(as_text(field.bytes));
            if (!hash) return bad_message("a hash isn't 64 hexadecimal digits");
        } else if (field.is(size_field)) {
            if (field.type != WireType::varint) return bad_message("a size isn't a number");
            if (field.value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
                return bad_message("a size is negative");
            file.size = field.value;
        }
    }
    if (!hash) return bad_message("a digest has no hash");
    file.digest = *hash;
    return {};
}

Result<OutputFile> read_output_file(std::span<const std::byte> bytes) {
    MessageReader in(bytes);
    OutputFile file;
    bool has_digest = false;
    while (!in.at_end()) {
        LODE_TRY_ASSIGN(const Field field, in.next());
        const bool is_known =
            field.is(path_field) || field.is(digest_field) || field.is(contents_field);
        if (!is_known) continue;
        if (!field.is_delimited()) return bad_message("a file's field has the wrong type");
        if (field.is(path_field)) {
            if (!is_valid_path(as_text(field.bytes))) return bad_message("a path is invalid");
            file.path = as_text(field.bytes);
        } else if (field.is(digest_field)) {
            if (std::exchange(has_digest, true)) return bad_message("a file has two digests");
            LODE_TRY(read_digest_message(field.bytes, file));
        } else {
            if (!file.contents.empty()) return bad_message("a file has two contents");
            file.contents.assign(field.bytes.begin(), field.bytes.end());
        }
    }
    if (file.path.empty()) return bad_message("a file has no path");
    if (!has_digest) return bad_message("a file has no digest");
    if (!file.contents.empty() &&
        (file.contents.size() != file.size || sha256(file.contents) != file.digest)) {
        return bad_message("a file's contents don't match its digest");
    }
    return file;
}

}  // namespace

OutputFile OutputFile::inlined(std::string path, std::span<const std::byte> content) {
    OutputFile file = stored(std::move(path), content);
    file.contents.assign(content.begin(), content.end());
    return file;
}

OutputFile OutputFile::stored(std::string path, std::span<const std::byte> content) {
    return {std::move(path), sha256(content), content.size(), {}};
}

Bytes format_action_result(std::span<const OutputFile> files) {
    Bytes out;
    for (const auto& file : files) {
        Bytes digest;
        put_delimited(digest, hash_field, as_bytes(file.digest.to_hex()));
        put_tag(digest, size_field, WireType::varint);
        put_varint(digest, file.size);
        Bytes message;
        put_delimited(message, path_field, as_bytes(file.path));
        put_delimited(message, digest_field, digest);
        if (!file.contents.empty()) put_delimited(message, contents_field, file.contents);
        put_delimited(out, output_files_field, message);
    }
    return out;
}

Result<std::vector<OutputFile>> parse_action_result(std::span<const std::byte> bytes) {
    MessageReader in(bytes);
    std::vector<OutputFile> files;
    while (!in.at_end()) {
        LODE_TRY_ASSIGN(const Field field, in.next());
        if (!field.is(output_files_field)) continue;
        if (!field.is_delimited()) return bad_message("a file isn't a message");
        if (files.size() == most_action_files) return bad_message("it has more than 8 files");
        LODE_TRY_ASSIGN(OutputFile file, read_output_file(field.bytes));
        files.push_back(std::move(file));
    }
    if (files.empty()) return bad_message("it has no file");
    return files;
}

}  // namespace LODE_NAMESPACE::cache
