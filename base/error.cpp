#include <lode/base/error.hpp>

#include <fmt/format.h>

namespace LODE_NAMESPACE {

std::string_view to_string(Errc code) noexcept {
    switch (code) {
        case Errc::driver_missing:
            return "driver_missing";
        case Errc::driver_too_old:
            return "driver_too_old";
        case Errc::no_device:
            return "no_device";
        case Errc::device_unavailable:
            return "device_unavailable";
        case Errc::device_lost:
            return "device_lost";
        case Errc::compiler_missing:
            return "compiler_missing";
        case Errc::compiler_too_old:
            return "compiler_too_old";
        case Errc::compile_failed:
            return "compile_failed";
        case Errc::link_failed:
            return "link_failed";
        case Errc::unsupported_arch:
            return "unsupported_arch";
        case Errc::invalid_image:
            return "invalid_image";
        case Errc::invalid_argument:
            return "invalid_argument";
        case Errc::signature_mismatch:
            return "signature_mismatch";
        case Errc::not_found:
            return "not_found";
        case Errc::file_failed:
            return "file_failed";
        case Errc::out_of_memory:
            return "out_of_memory";
        case Errc::out_of_resources:
            return "out_of_resources";
        case Errc::not_ready:
            return "not_ready";
        case Errc::not_supported:
            return "not_supported";
        case Errc::capture_active:
            return "capture_active";
        case Errc::process_forked:
            return "process_forked";
        case Errc::driver_failed:
            return "driver_failed";
        case Errc::compiler_failed:
            return "compiler_failed";
        case Errc::timed_out:
            return "timed_out";
        case Errc::cancelled:
            return "cancelled";
    }
    return "unknown";
}

Error& Error::in(std::string_view doing) & {
    message += fmt::format("\n  while {}", doing);
    return *this;
}

Error&& Error::in(std::string_view doing) && {
    return std::move(in(doing));
}

std::string Error::describe() const {
    std::string text = fmt::format("{}: {}", to_string(code), message);
    if (native.origin != Native::Origin::none) {
        text += fmt::format("\n  native code: {} ({})", native.name, native.code);
    }
    if (!log.empty()) text += "\n" + log;
    return text;
}

}  // namespace LODE_NAMESPACE
