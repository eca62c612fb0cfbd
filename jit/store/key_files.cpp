#include "jit/store/key_files.hpp"

#include "base/file.hpp"
#include "base/os/descriptor.hpp"
#include "base/os/file.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
namespace {

constexpr std::uint64_t largest_key_file = std::uint64_t{1} << 20;
constexpr std::string_view pem_begin = "-----BEGIN PUBLIC KEY-----";
constexpr std::string_view pem_end = "-----END PUBLIC KEY-----";
constexpr std::string_view revoked_word = "revoked ";

std::string_view without_blanks(std::string_view line) noexcept {
    constexpr std::string_view blanks = " \t\r";
    const auto first = line.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return line.substr(first, line.find_last_not_of(blanks) - first + 1);
}

/// Gives out a text's lines, without the blanks around them.
class Lines {
public:
    explicit Lines(std::string_view text) noexcept : rest_(text) {}

    bool next(std::string_view& line) noexcept {
        if (rest_.empty()) return false;
        const auto end = std::min(rest_.find('\n'), rest_.size());
        line = without_blanks(rest_.substr(0, end));
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        ++number_;
        return true;
    }
    [[nodiscard]] std::size_t number() const noexcept { return number_; }

private:
    std::string_view rest_;
    std::size_t number_ = 0;
};

tl::unexpected<Error> fail_in_line(std::size_t line, std::string_view what) {
    return fail(Errc::invalid_argument, fmt::format("Line {} {}.", line, what));
}

/// The rest of a PEM block whose first line has been read.
Result<PublicKey> read_block(Lines& lines) {
    const std::size_t begin = lines.number();
    std::string block(pem_begin);
    for (std::string_view line; lines.next(line);) {
        block += '\n';
        block += line;
        if (line != pem_end) continue;
        block += '\n';
        if (auto key = PublicKey::from_pem(block)) return key;
        break;
    }
    return fail_in_line(begin, "begins no Ed25519 public key");
}

Result<KeyId> read_revocation(std::string_view line, std::size_t number) {
    const auto rest = without_blanks(line.substr(revoked_word.size()));
    const auto word = rest.substr(0, std::min(rest.find_first_of(" \t"), rest.size()));
    if (const auto id = KeyId::from_hex(word)) return *id;
    return fail_in_line(
        number, fmt::format("revokes '{}', which isn't a key's id ({} hexadecimal digits)", word,
                            2 * KeyId::size));
}

/// Whether only root or this user can have written it.
Status check_owner(const os::FileAttributes& file, const std::filesystem::path& path,
                   unsigned forbidden, std::string_view cure) {
    if (file.owner != os::user_id() && file.owner != 0) {
        return fail(Errc::file_failed, fmt::format("'{}' isn't used: it belongs to user {}.",
                                                   path.string(), file.owner));
    }
    if ((file.permissions & forbidden) != 0) {
        return fail(Errc::file_failed, fmt::format("'{}' isn't used: its mode is {:04o}. {}",
                                                   path.string(), file.permissions, cure));
    }
    return {};
}

/// Reads a regular file whose owner and mode are right.
Result<std::string> read_guarded(const std::filesystem::path& file, unsigned forbidden,
                                 std::string_view cure) {
    return read_text_if(file, largest_key_file, [&](const os::FileAttributes& attributes) {
        return check_owner(attributes, file, forbidden, cure);
    });
}

bool holds_public_key(const std::filesystem::path& file) {
    const auto text = read_text(file, largest_key_file);
    return text && text->find(pem_begin) != std::string::npos;
}

Status add_file(const std::filesystem::path& file, KeyRing& ring) {
    LODE_TRY_ASSIGN(const std::string text,
                    read_guarded(file, os::others_may_write,
                                 "Only its owner may write to a file of trusted keys."));
    auto read = parse_keys(text);
    if (!read) {
        return tl::unexpected<Error>(
            std::move(read).error().in(fmt::format("reading the keys of '{}'", file.string())));
    }
    ring.trusted.insert(ring.trusted.end(), read->trusted.begin(), read->trusted.end());
    ring.revoked.insert(ring.revoked.end(), read->revoked.begin(), read->revoked.end());
    return {};
}

/// Writes a file that mustn't exist.
Status write_new(const std::filesystem::path& file, std::string_view text, unsigned mode) {
    using os::Open;
    Descriptor out = os::open_file(file, Open::writing | Open::create | Open::only_new, mode);
    if (!out) return fail_from_errno("Writing a key", file, errno);
    int problem = write_all(out.get(), std::as_bytes(std::span(text)));
    if (problem == 0 && !os::flush_file(out.get())) problem = errno;
    if (problem == 0 && !out.close()) problem = errno;
    if (problem == 0) return {};
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
    return fail_from_errno("Writing a key", file, problem);
}

}  // namespace

const PublicKey* KeyRing::find(const KeyId& id) const noexcept {
    const auto found = std::ranges::find(trusted, id, &PublicKey::id);
    return found == trusted.end() ? nullptr : &*found;
}

bool KeyRing::is_revoked(const KeyId& id) const noexcept {
    return std::ranges::find(revoked, id) != revoked.end();
}

Result<KeyRing> parse_keys(std::string_view text) {
    KeyRing ring;
    Lines lines(text);
    for (std::string_view line; lines.next(line);) {
        if (line.empty() || line.starts_with('#')) continue;
        if (line == pem_begin) {
            LODE_TRY_ASSIGN(const PublicKey key, read_block(lines));
            ring.trusted.push_back(key);
        } else if (line.starts_with(revoked_word)) {
            LODE_TRY_ASSIGN(const KeyId id, read_revocation(line, lines.number()));
            ring.revoked.push_back(id);
        } else if (line.starts_with("-----BEGIN") && line.find("PRIVATE") != line.npos) {
            return fail_in_line(lines.number(), "begins a private key, which no client needs");
        } else {
            return fail_in_line(lines.number(),
                                "is neither a comment, a PUBLIC KEY block nor 'revoked' with a "
                                "key's id");
        }
    }
    return ring;
}

Result<KeyRing> read_keys(const std::filesystem::path& path) {
    KeyRing ring;
    os::FileAttributes attributes;
    if (!os::attributes_of(path, attributes) || attributes.kind != os::FileKind::folder) {
        LODE_TRY(add_file(path, ring));
        return ring;
    }
    LODE_TRY(check_owner(attributes, path, os::others_may_write,
                         "Only its owner may write to a folder of trusted keys."));
    std::error_code problem;
    std::vector<std::filesystem::path> files;
    for (std::filesystem::directory_iterator item(path, problem), end; !problem && item != end;
         item.increment(problem)) {
        if (!item->path().filename().string().starts_with('.')) files.push_back(item->path());
    }
    if (problem) return fail_from_errno("Listing the trusted keys", path, problem.value());
    std::ranges::sort(files);
    for (const auto& file : files)
        LODE_TRY(add_file(file, ring));
    return ring;
}

Result<SecretKey> read_secret_key(const std::filesystem::path& file) {
    if (holds_public_key(file)) {
        return fail(Errc::invalid_argument,
                    fmt::format("'{}' is a public key; records are signed with the secret key that "
                                "belongs to it.",
                                file.string()));
    }
    LODE_TRY_ASSIGN(std::string text,
                    read_guarded(file, os::others_may_do_anything,
                                 "Only its owner may read a secret key: set its mode to 0600."));
    auto key = SecretKey::from_pem(text);
    std::ranges::fill(text, '\0');
    if (key) return key;
    return tl::unexpected<Error>(
        std::move(key).error().in(fmt::format("reading the secret key '{}'", file.string())));
}

Status write_key_pair(const std::filesystem::path& file, const SecretKey& key) {
    std::filesystem::path public_file = file;
    public_file += ".pub";
    std::error_code ignored;
    // Otherwise a second public key would be the first sign of a name that is taken.
    for (const auto& taken : {public_file, file}) {
        if (!std::filesystem::exists(taken, ignored)) continue;
        return fail(Errc::file_failed,
                    fmt::format("'{}' exists already, and keys aren't replaced: choose another "
                                "name, or remove it.",
                                taken.string()));
    }
    LODE_TRY(write_new(file, key.to_pem(), 0600));
    Status written = write_new(
        public_file,
        fmt::format("# {}\n{}", key.public_key().id().to_hex(), key.public_key().to_pem()), 0644);
    if (!written) std::filesystem::remove(file, ignored);
    return written;
}

}  // namespace LODE_NAMESPACE::cache
