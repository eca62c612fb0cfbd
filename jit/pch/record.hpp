// PchRecord: what a precompiled header was made of, and the state of its file.
//
// A sealed file (sealed_file.hpp) of kind pch, with the sections
//
//   1 key         the full text of its key
//   2 file        size and SHA-256 of the precompiled header, and when it was last verified
//   3 conditions  the answers to the compiler's file system queries: paths, contents, variables
#pragma once

#include "jit/files/file_accesses.hpp"
#include "jit/headers/manifest.hpp"
#include "jit/request/bytes.hpp"

#include <lode/base/digest.hpp>
#include <lode/base/error.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace LODE_NAMESPACE::pch {

/// One path that the compiler asked for.
struct PathCondition {
    std::string path;
    FileAnswer::Kind kind = FileAnswer::Kind::absent;
    bool is_read = false;  ///< A file whose content counts.
    FileStamp stamp;       ///< For a file.
    bool is_settled = false;
    Digest content;  ///< For a file that was read.

    friend bool operator==(const PathCondition&, const PathCondition&) = default;
};

/// Everything that a header set depends on.
struct Conditions {
    std::vector<PathCondition> paths;  ///< Ascending by path.
    std::vector<cache::VariableRecord> variables;

    /// The conditions of a compilation, without `program`, the path of the source itself. Errors:
    /// not_supported, with the reason, if the answers can't be conditions.
    [[nodiscard]] static Result<Conditions> of(const FileAccesses& accesses,
                                               const std::string& program);

    /// Asks the same questions again. True if every answer is as it was; `accesses` then has the
    /// answers as if the compiler had asked itself.
    [[nodiscard]] bool hold(FileAccesses& accesses) const;

    friend bool operator==(const Conditions&, const Conditions&) = default;
};

/// A state in which a file's content was known.
struct VerifiedState {
    FileStamp stamp;
    std::string boot;  ///< The system's start: a file without a change since then is intact.

    friend bool operator==(const VerifiedState&, const VerifiedState&) = default;
};

struct PchRecord {
    std::string key_text;
    std::uint64_t size = 0;
    Digest content;
    VerifiedState verified;
    Conditions conditions;

    friend bool operator==(const PchRecord&, const PchRecord&) = default;
};

[[nodiscard]] Bytes format_record(const PchRecord& record);

/// Accepts any bytes; fuzzed. Errors: invalid_image, with the reason.
[[nodiscard]] Result<PchRecord> parse_record(std::span<const std::byte> bytes);

}  // namespace LODE_NAMESPACE::pch
