#include "jit/nvrtc/linux/recorded_files.hpp"

#include "base/os/linux/attributes.hpp"
#include "jit/nvrtc/driver_header.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>

namespace LODE_NAMESPACE {
namespace {

/// A position in the bytes of an opened file: the state of a FILE that NVRTC reads.
struct Reading {
    std::shared_ptr<const std::string> text;
    FileAnswer* answer = nullptr;
    std::size_t at = 0;
};

ssize_t read_bytes(void* cookie, char* to, std::size_t size) noexcept {
    auto& reading = *static_cast<Reading*>(cookie);
    const std::string& text = *reading.text;
    const std::size_t count = std::min(size, text.size() - reading.at);
    std::copy_n(text.data() + reading.at, count, to);
    reading.at += count;
    reading.answer->consumed = true;
    return static_cast<ssize_t>(count);
}

int seek(void* cookie, off64_t* offset, int whence) noexcept {
    auto& reading = *static_cast<Reading*>(cookie);
    const auto size = static_cast<off64_t>(reading.text->size());
    off64_t target = *offset;
    if (whence == SEEK_CUR) target += static_cast<off64_t>(reading.at);
    if (whence == SEEK_END) target += size;
    if (target < 0 || target > size) {
        errno = EINVAL;
        return -1;
    }
    reading.at = static_cast<std::size_t>(target);
    *offset = target;
    return 0;
}

int close_reading(void* cookie) noexcept {
    delete static_cast<Reading*>(cookie);
    return 0;
}

/// The errno for an answer without bytes.
int error_of(const FileAnswer& answer) noexcept {
    switch (answer.kind) {
        case FileAnswer::Kind::absent:
        case FileAnswer::Kind::refused:
            return answer.error;
        case FileAnswer::Kind::folder:
            return EISDIR;
        case FileAnswer::Kind::irregular:
        case FileAnswer::Kind::file:
            break;
    }
    return EINVAL;
}

/// The text that the compiler gets for a file's content.
std::shared_ptr<const std::string> text_of(const char* path,
                                           const std::shared_ptr<const FileContent>& content) {
    if (auto changed = text_for_kernels(path, content->text))
        return std::make_shared<const std::string>(*std::move(changed));
    return {content, &content->text};
}

}  // namespace

std::FILE* open_recorded(FileAccesses& accesses, const char* path) {
    FileAnswer& answer = accesses.ask(path, true);
    if (!answer.content) {
        errno = error_of(answer);
        return nullptr;
    }
    auto reading = std::make_unique<Reading>(Reading{text_of(path, answer.content), &answer, 0});
    std::FILE* const file =
        ::fopencookie(reading.get(), "r", {&read_bytes, nullptr, &seek, &close_reading});
    if (file != nullptr) (void)reading.release();
    return file;
}

int look_recorded(FileAccesses& accesses, const char* path, struct stat* status) {
    const FileAnswer& answer = accesses.ask(path, false);
    if (answer.kind == FileAnswer::Kind::absent || answer.kind == FileAnswer::Kind::refused) {
        errno = answer.error;
        return -1;
    }
    *status = os::status_of(answer.attributes);
    return 0;
}

}  // namespace LODE_NAMESPACE
