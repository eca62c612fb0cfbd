#include "c/handles.hpp"

#include <string>

#include <fmt/format.h>

namespace LODE_NAMESPACE::c {
namespace {

/// The thread's last error. Without memory for it, only the status and a static text.
struct LastError {
    std::optional<Error> error;
    bool out_of_memory = false;
};

LastError& last() noexcept {
    thread_local LastError error;
    return error;
}

}  // namespace

lode_status keep(Error error) noexcept {
    const auto status = static_cast<lode_status>(error.code);
    last().out_of_memory = false;
    last().error = std::move(error);
    return status;
}

lode_status keep_out_of_memory() noexcept {
    last().error.reset();
    last().out_of_memory = true;
    return LODE_OUT_OF_MEMORY;
}

Status require(std::initializer_list<std::pair<const char*, const void*>> parameters) {
    for (const auto& [name, pointer] : parameters) {
        if (pointer == nullptr)
            return fail(Errc::invalid_argument, fmt::format("The parameter {} is NULL.", name));
    }
    return {};
}

Status check_size(const char* type, const void* given, std::size_t size, std::size_t known) {
    if (size < sizeof(std::size_t)) {
        return fail(Errc::invalid_argument,
                    fmt::format("The member size of {} is {}; set it to sizeof({}), which is {} "
                                "here.",
                                type, size, type, known));
    }
    constexpr std::size_t largest = 4096;  // No structure will ever be; don't read further.
    if (size > largest) {
        return fail(Errc::invalid_argument,
                    fmt::format("The member size of {} is {}; set it to sizeof({}). The library's "
                                "is {}.",
                                type, size, type, known));
    }
    const auto* bytes = static_cast<const unsigned char*>(given);
    for (std::size_t i = known; given != nullptr && i < size; ++i) {
        if (bytes[i] != 0) {
            return fail(Errc::not_supported,
                        fmt::format("{} has {} bytes, and one beyond the {} that this library "
                                    "knows is set. The program needs a newer liblode.",
                                    type, size, known));
        }
    }
    return {};
}

}  // namespace LODE_NAMESPACE::c

using lode::c::last;

lode_status lode_get_error(lode_error* error) {
    if (error == nullptr || error->size < sizeof(std::size_t)) return LODE_INVALID_ARGUMENT;
    lode_error known{};
    known.message = known.native_name = known.log = "";
    if (last().out_of_memory) {
        known.status = LODE_OUT_OF_MEMORY;
        known.message = "The host's memory is exhausted.";
    } else if (const auto& failure = last().error; failure) {
        known.status = static_cast<lode_status>(failure->code);
        known.native_code = failure->native.code;
        known.message = failure->message.c_str();
        known.native_name = failure->native.name.c_str();
        known.log = failure->log.c_str();
    }
    known.size = error->size;
    std::memcpy(error, &known, error->size < sizeof known ? error->size : sizeof known);
    return LODE_OK;
}

const char* lode_status_name(lode_status status) {
    if (status == LODE_OK) return "ok";
    if (status < LODE_OK || status > LODE_CANCELLED) return "unknown";
    return lode::to_string(static_cast<lode::Errc>(status)).data();  // A literal: NUL-terminated.
}

const char* lode_version(void) {
    return LODE_VERSION;
}
