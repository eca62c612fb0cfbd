// FileAccesses: all file system queries of one compilation, and their answers.
//
// A compiler's result is a function of its arguments and of these answers. The answers come from
// here, so the record is what the compiler saw: each path is looked at once, later queries of the
// same path get the same answer, and the bytes that are read are the bytes kept here, even if the
// file, its folders or links on the way change during the compilation.
#pragma once

#include "jit/files/calculation.hpp"
#include "jit/files/file_answer.hpp"
#include "jit/files/virtual_folder.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace LODE_NAMESPACE {

/// What FileAccesses records. A plain value.
struct FileRecord {
    using Answers = std::map<std::string, FileAnswer>;

    Answers answers;  ///< By path as queried, cleaned; relative ones stay relative.
    std::map<std::string, std::optional<std::string>> variables;
    std::map<Calculation, std::uint64_t> calculations;  ///< With the bits of their results.
    std::string unforeseen;       ///< The first query that has no recorded answer.
    std::string working;          ///< Where relative paths start; empty before the first one.
    std::uint64_t questions = 0;  ///< The number of queries.
};

/// What a compilation may read. Everything else doesn't exist for it.
struct ReadLimits {
    std::vector<std::string> folders;  ///< Absolute, without links.
    std::uint64_t bytes = 0;           ///< The most that is read from all files together.
};

/// What __TIME__ and __DATE__ are: always the same, an error in code and other characters in
/// strings, or the real time.
enum class CompilerTime : std::uint8_t { constant, unusable, real };

/// The queries and answers of one compilation. For one thread at a time.
class FileAccesses {
public:
    using Answers = FileRecord::Answers;

    FileAccesses() = default;
    explicit FileAccesses(ReadLimits limits) : limits_(std::move(limits)) {}
    /// What a compilation in another process recorded.
    explicit FileAccesses(FileRecord record) noexcept : record_(std::move(record)) {}

    /// From now on, queries of paths in these folders are answered by them and aren't recorded:
    /// their files are part of the request. Compilers name them as absolute paths, as relative
    /// ones, or as absolute ones below the working directory.
    void set_virtual_folders(std::vector<VirtualFolder> folders);

    /// The answer to a look at a path (stat) or, with `open`, to an attempt to read it. The
    /// reference stays valid. Relative paths start at the working directory as it was at the first
    /// relative path, even if another thread changes it later.
    FileAnswer& ask(std::string_view path, bool open);

    /// Records a query of an environment variable; a null `value` means that it isn't set.
    void note_variable(std::string_view name, const char* value);

    /// Records what the compiler calculated with the C library, and the bits of the result.
    void note_calculation(const Calculation& calculation, std::uint64_t result);

    /// The time that the compiler gets from now on.
    void give(CompilerTime time) noexcept { time_ = time; }
    [[nodiscard]] CompilerTime time() const noexcept { return time_; }

    /// Records a query that has no recorded answer, e.g. "readlink '/x'". The cache can't keep a
    /// result that may depend on it.
    void note_unforeseen(std::string_view what);

    /// Paths as queried, without repeated slashes and "." parts; relative ones stay relative.
    [[nodiscard]] const Answers& answers() const noexcept { return record_.answers; }
    [[nodiscard]] const std::map<std::string, std::optional<std::string>>& variables()
        const noexcept {
        return record_.variables;
    }
    [[nodiscard]] const std::map<Calculation, std::uint64_t>& calculations() const noexcept {
        return record_.calculations;
    }
    /// The first unforeseen query; empty if there was none.
    [[nodiscard]] const std::string& unforeseen() const noexcept { return record_.unforeseen; }
    /// The first path to be read that ReadLimits forbid, with the reason as a clause; empty if
    /// there was none.
    [[nodiscard]] const std::string& forbidden() const noexcept { return forbidden_; }
    /// The first path to be read that wasn't a regular file; empty if there was none.
    [[nodiscard]] std::string irregular_file() const;
    /// Where relative paths start; empty before the first one.
    [[nodiscard]] const std::string& working() const noexcept { return record_.working; }
    /// The number of queries: 0 after a compilation means that queries aren't recorded.
    [[nodiscard]] std::uint64_t questions() const noexcept { return record_.questions; }

    [[nodiscard]] const FileRecord& record() const noexcept { return record_; }
    /// From now on no stamp stands for the bytes that were read.
    void distrust_stamps();

private:
    /// The path as passed to the system.
    std::string located(const std::string& name);
    /// Whether the limits hide a path, links considered.
    [[nodiscard]] bool is_hidden(const std::string& path) const;

    FileRecord record_;
    std::optional<ReadLimits> limits_;
    std::uint64_t read_bytes_ = 0;
    std::string forbidden_;
    std::vector<VirtualFolder> virtual_;
    std::string virtual_base_;  ///< The working directory with a slash.
    CompilerTime time_ = CompilerTime::constant;
};

/// Whether an absolute path is one of the folders or below one.
[[nodiscard]] bool is_inside(std::string_view path, std::span<const std::string> folders);

/// Removes repeated slashes and "." parts; ".." stays, since it may follow a link.
[[nodiscard]] std::string cleaned_path(std::string_view path);

}  // namespace LODE_NAMESPACE
