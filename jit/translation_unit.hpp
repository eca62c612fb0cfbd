// TranslationUnit: the texts that one compilation read, as a whole.
//
// A header, a definition and the source can each have a part of what puts the time or a path into
// the code, so no text is judged by itself.
#pragma once

#include "jit/files/file_accesses.hpp"
#include "jit/request/text_words.hpp"

#include <lode/jit/compile_request.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE {

/// Whether a request itself mentions the time, in its source, which is read, its definitions, names
/// or headers in memory.
[[nodiscard]] bool mentions_time(const CompileRequest& request);

/// Views; what it is made of must outlive it.
class TranslationUnit {
public:
    /// The texts of a request whose source is read, and the files that were read. Those below
    /// `toolkit` are trusted not to join the compiler's macros from pieces.
    TranslationUnit(const CompileRequest& request, const FileAccesses& accesses,
                    std::span<const std::filesystem::path> toolkit);

    /// Whether the time may get into the code. False is certain.
    [[nodiscard]] bool may_use_time() const;
    /// Whether the name of a file may get into the code other than as a string that the code
    /// contains. False is certain.
    [[nodiscard]] bool may_name_files() const;
    /// Whether the name of the source may get into the code through a header. False is certain.
    [[nodiscard]] bool may_name_source() const;
    /// Whether the name of a folder may get into the code of a source that lies in it. `inside` are
    /// the texts in the folder: elsewhere, the macros for names give other names. False is certain.
    [[nodiscard]] bool may_name_folder(std::span<const std::string_view> inside) const;
    /// Whether __has_include may be joined from pieces.
    [[nodiscard]] bool may_join_questions() const;

private:
    /// path_words, and the toolkit's macros that use them.
    [[nodiscard]] std::vector<std::string> naming_words() const;
    void add(std::string_view text);
    void add_code(std::string_view text);

    std::vector<std::string_view> own_;
    std::vector<std::string_view> toolkit_;
    WordPieces pieces_;
};

}  // namespace LODE_NAMESPACE
