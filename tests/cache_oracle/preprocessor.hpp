// A small preprocessor that asks the file system as NVRTC does, and nothing else.
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

/// What one run of the preprocessor works on. References; the owner outlives the run.
struct PreprocessorInput {
    std::string name;  ///< Of the source, as the compiler is told it.
    const std::string& text;
    const CompileOptions& options;
    const std::vector<Header>& shims;                ///< In memory, after the options' own.
    const std::vector<std::string>& search_folders;  ///< For <x>, in order, as they are given.
    FileAccesses& files;
    const std::function<void()>& before_question;  ///< May be empty.
};

/// Understands #include and #include_next ("x", <x>, MACRO), #if with defined, __has_include,
/// comparisons and logic, #ifdef, #ifndef, #else, #endif, #define and #undef of macros without
/// parameters, #pragma once, #error, __FILE__, __INCLUDE_LEVEL__ and line comments. ORACLE_VALUE is
/// the environment variable of that name.
///
/// As strace shows of NVRTC 13.0: a header is looked for in memory by its exact name, beside the
/// includer ("folder/name", not cleaned), then in the search folders; each place is looked at by
/// stat, then by fopen. A file that said #pragma once is known by device and inode and isn't opened
/// again; a header in memory is looked at by its name.
class Preprocessor {
public:
    explicit Preprocessor(PreprocessorInput input) : in_(std::move(input)) {}

    /// The expanded text, or compile_failed.
    [[nodiscard]] Result<std::string> run();

private:
    using Identity = std::pair<std::uint64_t, std::uint64_t>;

    /// A text that is being read.
    struct Frame {
        std::string name;
        std::string folder;  ///< Of the name; empty where it has none.
        std::optional<Identity> identity;
        std::size_t next_folder = 0;  ///< Where #include_next goes on.
    };
    /// A header that was found.
    struct Found {
        Frame frame;
        std::string text;
        bool is_skipped = false;  ///< It said #pragma once before.
    };
    /// What stands behind #include.
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

    /// One #if: whether this branch counts, and whether an earlier one did.
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
