// FileAnswer: what a compiler is told about one path.
#pragma once

#include "jit/files/file_state.hpp"

#include <cstdint>
#include <memory>

namespace LODE_NAMESPACE {

/// The answer for one path.
struct FileAnswer {
    enum class Kind : std::uint8_t {
        absent,  ///< Nothing exists there.
        file,    ///< A regular file.
        folder,
        irregular,  ///< A FIFO, a device, a socket: reported as unreadable and never opened.
        refused     ///< The system refuses to look at it or read it: `error` says why.
    };

    Kind kind = Kind::absent;
    int error = 0;                       ///< errno reported to the compiler; 0 if none.
    os::FileAttributes attributes = {};  ///< Zeros where nothing exists.
    /// The bytes, once the path has been opened. Shared with the compiler's stream.
    std::shared_ptr<const FileContent> content;
    bool consumed = false;  ///< Some of the bytes were read; set by the reader.
};

}  // namespace LODE_NAMESPACE
