// CompileFiles: what a compilation has read, and which compiler made it.
#pragma once

#include "jit/files/file_accesses.hpp"
#include "jit/files/file_state.hpp"
#include "jit/request/bytes.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace LODE_NAMESPACE {

/// A library that a compiler consists of, and the stamp of its file.
struct CompilerFile {
    std::filesystem::path path;
    FileStamp stamp;

    friend bool operator==(const CompilerFile&, const CompilerFile&) = default;
};

inline void write(ByteWriter& out, const std::vector<CompilerFile>& files) {
    out.list(files, [&](const CompilerFile& file) {
        out.text(file.path.string());
        out.number(file.stamp);
    });
}
inline std::vector<CompilerFile> read_compiler_files(ByteReader& in) {
    return in.list([&] { return CompilerFile{in.text(), in.number<FileStamp>()}; });
}

/// What one compilation depends on besides its request.
struct CompileFiles {
    FileAccesses compiler;    ///< NVRTC's own queries.
    FileAccesses shims;       ///< lode's checks for files that replace its own headers.
    bool is_watched = false;  ///< Whether NVRTC's queries are recorded: `compiler` is complete.
    std::vector<CompilerFile> compiler_files = {};  ///< NvrtcLibrary::files()
    /// The compiler's own state: why it isn't as in a new process, as a clause; empty if it is.
    std::string compiler_state = {};
    bool uses_time = false;           ///< At another time the result is, or may be, another one.
    bool may_name_files = false;      ///< TranslationUnit::may_name_files()
    bool may_join_questions = false;  ///< TranslationUnit::may_join_questions()
};

}  // namespace LODE_NAMESPACE
