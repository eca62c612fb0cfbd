// A small preprocessor that queries the file system exactly as NVRTC does.
#pragma once

#include "jit/files/file_accesses.hpp"

#include <lode/base/error.hpp>
#include <lode/jit/options.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lode::oracle {

/// The input of one run. Holds references; the owners outlive the run.
struct PreprocessorInput {
    std::string name;  ///< Name of the source as passed to the compiler.
    const std::string& text;
    const CompileOptions& options;
    const std::vector<Header>& shims;  ///< In memory; searched after the options' own headers.
    const std::vector<std::string>& search_folders;  ///< For <x>, in order, as given.
    FileAccesses& files;
    const std::function<void()>& before_question;  ///< May be empty.
};

/// Understands #include and #include_next ("x", <x>, MACRO), #if with defined, __has_include,
/// comparisons and logic, #ifdef, #ifndef, #else, #endif, #define and #undef of macros without
/// parameters, #pragma once, #error, __FILE__, __INCLUDE_LEVEL__ and line comments. ORACLE_VALUE is
/// replaced by the environment variable of that name.
///
/// As strace shows for NVRTC 13.0: a header is looked up in memory by its exact name, then beside
/// the includer ("folder/name", not normalised), then in the search folders; each candidate is
/// checked with stat, then opened with fopen. A file with #pragma once is identified by device and
/// inode and isn't opened again; a header in memory is identified by its name.
class Preprocessor {
public:
    explicit Preprocessor(PreprocessorInput input) : in_(std::move(input)) {}

    /// Returns the expanded text, or compile_failed.
    [[nodiscard]] Result<std::string> run();

private:
    using Identity = std::pair<std::uint64_t, std::uint64_t>;

    /// A text being read.
    struct Frame {
        std::string name;
        std::string folder;  ///< The folder part of `name`; may be empty.
        std::optional<Identity> identity;
        std::size_t next_folder = 0;  ///< Where #include_next continues.
    };
    /// A header that was found.
    struct Found {
        Frame frame;
        std::string text;
        bool is_skipped = false;  ///< Already read, and has #pragma once.
    };
    /// The operand of #include.
    struct HeaderName {
        std::string name;
        bool quoted = false;
    };

    FileAnswer& ask(const std::string& path, bool open);
    [[nodiscard]] static std::optional<Identity> identity_of(const FileAnswer& answer);
    [[nodiscard]] std::optional<Found> find(const HeaderName& header, const Frame& from, bool next);
    [[nodiscard]] std::optional<Found> find_in_memory(const std::string& name);
    [[nodiscard]] std::optional<Found> try_place(const std::string& path, std::size_t next_folder,
                                                 bool only_look);
    [[nodiscard]] std::optional<HeaderName> header_name(std::string_view text, const Frame& frame);
    [[nodiscard]] Status read(std::string_view text, const Frame& frame);
    [[nodiscard]] Status directive(std::string_view line, const Frame& frame);
    [[nodiscard]] Status include(std::string_view rest, const Frame& frame, bool next);
    [[nodiscard]] std::string expand(std::string_view text, const Frame& frame, int depth = 0);
    [[nodiscard]] bool is_true(std::string_view expression, const Frame& frame);
    [[nodiscard]] bool is_active() const noexcept;

    friend class Expression;

    /// One #if: whether the current branch is active, and whether an earlier one was.
    struct Branch {
        bool is_active = false;
        bool was_active = false;
    };

    PreprocessorInput in_;
    std::map<std::string, std::string, std::less<>> macros_;
    std::set<Identity> once_;
    std::set<std::string> once_in_memory_;
    std::vector<Branch> branches_;
    std::string out_;
    int level_ = 0;
    bool only_look_ = false;
};

}  // namespace lode::oracle
