// FileAccesses: everything that one compilation asks of the file system, and what it is told.
//
// A compiler's result is a function of its arguments and of these answers. They are given from
// here, so that what is recorded is what the compiler saw: each path is looked at once, later
// questions about it get the same answer, and the bytes that are read are the bytes kept here,
// whatever becomes of the file, of its folders and of the links on the way meanwhile.
#pragma once

#include "jit/files/file_state.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lode {

/// One path that was asked for.
struct FileAnswer {
    enum class Kind : std::uint8_t {
        absent,  ///< There is nothing.
        file,    ///< A regular file.
        folder,
        irregular,  ///< A FIFO, a device, a socket: said to be unreadable, and never opened.
        refused     ///< The system doesn't let it be looked at or read: `error` says why.
    };

    Kind kind = Kind::absent;
    int error = 0;           ///< errno that the compiler was told; 0 where it was told none.
    struct stat facts = {};  ///< Of what is there; zeros where nothing is.
    /// The bytes, once the path was opened. Shared with the compiler's stream.
    std::shared_ptr<const FileContent> content;
    bool consumed = false;  ///< Some of the bytes were read; set by who reads them.
};

/// The questions and answers of one compilation. One thread at a time.
class FileAccesses {
public:
    using Answers = std::map<std::string, FileAnswer>;

    /// The answer to a look at a path (stat) or, with `open`, to an attempt to read it. The
    /// reference stays valid. Relative paths start at the working directory as it is at the first
    /// of them, whatever another thread makes of it meanwhile.
    FileAnswer& ask(std::string_view path, bool open);

    /// An environment variable that was asked for; nullopt: it isn't set.
    void note_variable(std::string_view name, const char* value);

    /// Something was asked that isn't recorded as an answer, e.g. "readlink '/x'". A result that
    /// may depend on it can't be vouched for.
    void note_unforeseen(std::string_view what);

    /// Paths as they were asked for, without repeated slashes and "." parts; relative ones stay so.
    [[nodiscard]] const Answers& answers() const noexcept { return answers_; }
    [[nodiscard]] const std::map<std::string, std::optional<std::string>>& variables()
        const noexcept {
        return variables_;
    }
    /// The first thing that was unforeseen; empty: nothing was.
    [[nodiscard]] const std::string& unforeseen() const noexcept { return unforeseen_; }
    /// The first path that was no regular file though it was to be read; empty: there was none.
    [[nodiscard]] std::string irregular_file() const;
    /// Where relative paths start; empty before the first.
    [[nodiscard]] const std::string& working() const noexcept { return working_; }
    /// How often anything was asked: 0 after a compilation means that nothing is watched.
    [[nodiscard]] std::uint64_t questions() const noexcept { return questions_; }

private:
    /// The path as the system is asked.
    std::string located(const std::string& name);

    Answers answers_;
    std::map<std::string, std::optional<std::string>> variables_;
    std::string unforeseen_;
    std::string working_;
    std::uint64_t questions_ = 0;
};

/// Without repeated slashes and "." parts; ".." stays, since it may follow a link.
[[nodiscard]] std::string cleaned_path(std::string_view path);

}  // namespace lode
