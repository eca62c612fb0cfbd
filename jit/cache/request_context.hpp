// RequestContext: what a request to compile or link has besides what its result depends on.
#pragma once

#include <lode/base/arch.hpp>
#include <lode/base/pending.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace LODE_NAMESPACE::cache {

[[nodiscard]] inline double milliseconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
        .count();
}

struct RequestContext {
    std::uint64_t number = 0;  ///< CompileEvent::request
    std::string source;        ///< CompileEvent::source
    Arch arch;
    std::chrono::steady_clock::time_point made = std::chrono::steady_clock::now();
    /// An asynchronous request's result, whose cancel() gives the request up.
    std::shared_ptr<const detail::PendingCore> pending = {};

    [[nodiscard]] bool is_asynchronous() const { return pending != nullptr; }
    [[nodiscard]] bool is_cancelled() const { return is_asynchronous() && pending->is_cancelled(); }

    [[nodiscard]] double milliseconds() const { return milliseconds_since(made); }
};

}  // namespace LODE_NAMESPACE::cache
