// Manifest: which headers a request has read before, and which entry each state of them led to.
//
// A sealed file (sealed_file.hpp) of kind manifest, stored under the request key, with the sections
//
//   1 key   the request key's full text
//   2 sets  the header sets, newest first, each with the digest of its key list
//
// A path is kept relative to the folder that it was found through (the source's, the i-th include
// folder, the i-th toolkit folder), so that a manifest serves any place that has the same files.
#pragma once

#include "jit/cache/bytes.hpp"
#include "jit/cache/key.hpp"

#include <lode/base/error.hpp>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace lode::cache {

/// The folders that a compilation searches for headers, absolute.
struct SearchFolders {
    std::filesystem::path source;                ///< Empty for code in memory.
    std::vector<std::filesystem::path> include;  ///< The request's, in order.
    std::vector<std::filesystem::path> toolkit;  ///< Searched after them, in order.
};

/// A file or folder, relative to one of the search folders.
struct HeaderPath {
    enum class Root : std::uint8_t { absolute, source, include, toolkit };

    Root root = Root::absolute;
    std::uint32_t index = 0;  ///< Which include or toolkit folder.
    std::string path;

    /// Where it is with these folders; empty if there is no such folder.
    [[nodiscard]] std::filesystem::path resolve(const SearchFolders& folders) const;
    /// "include 0 util/math.h"
    [[nodiscard]] std::string to_string() const;

    friend auto operator<=>(const HeaderPath&, const HeaderPath&) = default;
};

/// What the file system tells of a file without reading it.
struct FileStamp {
    std::uint64_t size = 0;
    std::int64_t modified_ns = 0;
    std::int64_t changed_ns = 0;  ///< Of the inode: an edit can't forge it.

    friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

/// One header that was read.
struct HeaderRecord {
    HeaderPath path;
    std::string absolute;  ///< Where it has to be, if its path may be in the code; else empty.
    FileStamp stamp;
    Digest content;

    friend bool operator==(const HeaderRecord&, const HeaderRecord&) = default;
};

/// A path whose mere existence decided something.
struct HeaderProbe {
    HeaderPath path;
    bool exists = false;

    friend auto operator<=>(const HeaderProbe&, const HeaderProbe&) = default;
};

/// One state of the headers; the request's key and key_list() give the entry that belongs to it.
struct HeaderSet {
    std::vector<HeaderRecord> headers;  ///< Ascending by path.
    std::vector<std::string> answers;   ///< What each __has_include was told, as text; ascending.
    std::vector<HeaderProbe> probes;    ///< What must exist, or not, for the rest to be so.

    /// One line per header (path and content digest) and per answer: what enters the entry key.
    [[nodiscard]] std::string key_list() const;

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
