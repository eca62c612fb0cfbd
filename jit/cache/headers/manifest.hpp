// Manifest: which headers a request has read before, and which entry each state of them led to.
//
// A sealed file (sealed_file.hpp) of kind manifest, stored under the request key, with the sections
//
//   1 key   the request key's full text
//   2 sets  the header sets, newest first, each with the digest of its key list
//
// A set holds the answers to all that the compiler asked of the file system: files that it read,
// and paths that it only looked at, in vain or not. A path is kept relative to the innermost search
// folder that it is below (the request key says how these lie to each other), so that a manifest
// serves any place that has the same files.
#pragma once

#include "jit/cache/headers/search_folders.hpp"
#include "jit/cache/store/bytes.hpp"
#include "jit/cache/store/key.hpp"
#include "jit/files/file_state.hpp"

#include <lode/base/error.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lode::cache {

/// One header that was read.
struct HeaderRecord {
    HeaderPath path;
    FileStamp stamp;
    bool settled = false;  ///< The stamp stands for the content; else only the content does.
    Digest content;

    friend bool operator==(const HeaderRecord&, const HeaderRecord&) = default;
};

/// A path that was looked at and not read.
struct HeaderProbe {
    enum class Kind : std::uint8_t { absent, file, folder };

    HeaderPath path;
    Kind kind = Kind::absent;
    FileStamp file = {};  ///< Of a file: which one it is (device and inode; the rest is zero).

    friend bool operator==(const HeaderProbe&, const HeaderProbe&) = default;
};

/// An environment variable that the compiler asked for.
struct VariableRecord {
    std::string name;
    std::string value;  ///< "unset", or the SHA-256 of its value.

    [[nodiscard]] static VariableRecord of(std::string name, const char* value);
    /// As it is in this process.
    [[nodiscard]] static VariableRecord now(const std::string& name);

    friend auto operator<=>(const VariableRecord&, const VariableRecord&) = default;
};

/// One state of everything that a compilation asked for; the request's key and key_list() give the
/// entry that belongs to it.
struct HeaderSet {
    std::vector<HeaderRecord> headers;      ///< Ascending by path.
    std::vector<HeaderProbe> probes;        ///< Ascending by path.
    std::vector<VariableRecord> variables;  ///< Ascending by name.
    /// SearchFolders::to_string() of the compilation, where the code may depend on the places
    /// themselves; else empty, and any folders with the same layout will do.
    std::string bound_to;

    /// One line for each answer but "absent": what enters the entry key.
    [[nodiscard]] std::string key_list() const;

    /// Nothing was asked that isn't in the request's key.
    [[nodiscard]] bool is_empty() const noexcept;

    /// What it takes in memory, roughly.
    [[nodiscard]] std::size_t approximate_bytes() const;

    friend bool operator==(const HeaderSet&, const HeaderSet&) = default;
};

/// A set that an entry was made with.
struct KnownSet {
    HeaderSet set;
    Digest list;  ///< Of set.key_list(), so that a hit doesn't write the list anew.

    friend bool operator==(const KnownSet&, const KnownSet&) = default;
};

/// All the sets of one request.
struct Manifest {
    /// More states than these in use at a time are unheard of; the oldest goes.
    static constexpr std::size_t max_sets = 16;

    std::string key_text;
    std::vector<KnownSet> sets;  ///< Newest first.

    /// Puts a set first; one with the same key list goes.
    void add(HeaderSet set);

    /// Leaves contents alone to decide whether a header has changed.
    void forget_stamps() noexcept;

    /// What it takes in memory, roughly.
    [[nodiscard]] std::size_t approximate_bytes() const;

    friend bool operator==(const Manifest&, const Manifest&) = default;
};

[[nodiscard]] Bytes format_manifest(const Manifest& manifest);

/// Survives any bytes; the target of a fuzzer. Errors: invalid_image, with what is wrong.
/// The key lists aren't made anew; check_lists() does that.
[[nodiscard]] Result<Manifest> parse_manifest(std::span<const std::byte> bytes);

/// Whether each list is that of its set. Errors: invalid_image.
[[nodiscard]] Status check_lists(const Manifest& manifest);

/// parse_manifest, and it is the one of this request.
[[nodiscard]] Result<Manifest> parse_manifest_for(std::span<const std::byte> bytes,
                                                  const Key& request);

}  // namespace lode::cache
