// Manifest: the header sets that a request has read before, and the entry that each one led to.
//
// A sealed file (sealed_file.hpp) of kind manifest, stored under the request key, with the sections
//
//   1 key   the request key's full text
//   2 sets  the header sets, newest first, each with the digest of its key list
//
// A set holds the answers to all of the compiler's queries: files that it read, paths that it only
// looked at, existing or not, variables, and what it calculated with the C library. A path is kept
// relative to the innermost search folder that contains it (the request key records how the folders
// contain each other), so that a manifest is valid wherever the same files exist.
#pragma once

#include "jit/files/calculation.hpp"
#include "jit/files/file_state.hpp"
#include "jit/headers/search_folders.hpp"
#include "jit/request/bytes.hpp"
#include "jit/store/key.hpp"

#include <lode/base/error.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace LODE_NAMESPACE::cache {

/// One header that was read.
struct HeaderRecord {
    HeaderPath path;
    FileStamp stamp;
    bool settled = false;  ///< The stamp identifies the content.
    Digest content;

    friend bool operator==(const HeaderRecord&, const HeaderRecord&) = default;
};

/// A path that was looked at and not read.
struct HeaderProbe {
    enum class Kind : std::uint8_t { absent, file, folder };

    HeaderPath path;
    Kind kind = Kind::absent;
    FileStamp file = {};  ///< For a file: its identity (device and inode; the rest is zero).

    friend bool operator==(const HeaderProbe&, const HeaderProbe&) = default;
};

/// An environment variable that the compiler asked for.
struct VariableRecord {
    std::string name;
    std::string value;  ///< "unset", or the SHA-256 of its value.

    [[nodiscard]] static VariableRecord of(std::string name, const char* value);
    /// The variable's value in this process.
    [[nodiscard]] static VariableRecord now(const std::string& name);

    friend auto operator<=>(const VariableRecord&, const VariableRecord&) = default;
};

void write(ByteWriter& out, const std::vector<VariableRecord>& variables);
[[nodiscard]] std::vector<VariableRecord> read_variables(ByteReader& in);

/// One state of everything that a compilation asked for. The request's key together with key_list()
/// identifies the entry.
struct HeaderSet {
    std::vector<HeaderRecord> headers;      ///< Ascending by path.
    std::vector<HeaderProbe> probes;        ///< Ascending by path.
    std::vector<VariableRecord> variables;  ///< Ascending by name.
    /// What the compiler calculated with the C library, and the bits of the results; ascending.
    std::vector<std::pair<Calculation, std::uint64_t>> calculations;
    /// SearchFolders::to_string() of the compilation, if the code may depend on the folders'
    /// locations; otherwise empty, and the set holds for any folders with the same layout.
    std::string bound_to;

    /// One line for each answer except "absent"; enters the entry key.
    [[nodiscard]] std::string key_list() const;

    /// Whether nothing was asked beyond what the request's key holds.
    [[nodiscard]] bool is_empty() const noexcept;

    /// Approximate memory use.
    [[nodiscard]] std::size_t approximate_bytes() const;

    friend bool operator==(const HeaderSet&, const HeaderSet&) = default;
};

/// A set for which an entry was made.
struct KnownSet {
    HeaderSet set;
    Digest list;  ///< The digest of set.key_list(), so that a hit needn't rebuild the list.

    friend bool operator==(const KnownSet&, const KnownSet&) = default;
};

/// All the sets of one request.
struct Manifest {
    /// More states than are in use at a time; beyond it the oldest set is dropped.
    static constexpr std::size_t max_sets = 16;

    std::string key_text;
    std::vector<KnownSet> sets;  ///< Newest first.

    /// Puts a set first and removes any other with the same key list.
    void add(HeaderSet set);
    void add(KnownSet known);

    /// Clears the stamps, so that headers are compared by content only.
    void forget_stamps() noexcept;

    /// Approximate memory use.
    [[nodiscard]] std::size_t approximate_bytes() const;

    friend bool operator==(const Manifest&, const Manifest&) = default;
};

[[nodiscard]] Bytes format_manifest(const Manifest& manifest);

/// Accepts any bytes; fuzzed. Errors: invalid_image, with the reason. Doesn't verify the key lists;
/// check_lists() does.
[[nodiscard]] Result<Manifest> parse_manifest(std::span<const std::byte> bytes);

/// Verifies that each digest is that of its set's key list. Errors: invalid_image.
[[nodiscard]] Status check_lists(const Manifest& manifest);

/// parse_manifest, and checks that the manifest belongs to this request.
[[nodiscard]] Result<Manifest> parse_manifest_for(std::span<const std::byte> bytes,
                                                  const Key& request);

}  // namespace LODE_NAMESPACE::cache
