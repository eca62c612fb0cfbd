// What the functions have in common that replace NVRTC's imports (file_hooks.hpp).
#pragma once

#include "jit/files/file_accesses.hpp"
#include "jit/nvrtc/linux/import_table.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <span>

namespace LODE_NAMESPACE {

/// Each library that is watched has hooks of its own, as templates of its number.
constexpr std::size_t max_watched_libraries = 8;

/// The replacements of a watched library's file functions, by its number.
[[nodiscard]] std::span<const ImportedFunction> file_hooks(std::size_t library);

/// The queries and answers of the compilation on this thread; nullptr outside of one.
[[nodiscard]] FileAccesses* accesses_in_force() noexcept;

/// Runs `body`; an exception (out of memory) becomes ENOMEM.
template <class Value, class Body>
Value guarded(Value failed, const Body& body) noexcept {
    try {
        return body();
    } catch (...) {
        errno = ENOMEM;
        return failed;
    }
}

/// The function to forward calls to: the library's previous one, or the C library's.
template <class Signature>
class Next {
public:
    constexpr explicit Next(Signature* function) noexcept
        : address_(nullptr), function_(function) {}
    template <class... Args>
    auto operator()(Args... args) const noexcept {
        void* const before = address_.load(std::memory_order_acquire);
        Signature* const function =
            before != nullptr ? reinterpret_cast<Signature*>(before) : function_;
        return function(args...);
    }
    [[nodiscard]] std::atomic<void*>* slot() noexcept { return &address_; }

private:
    std::atomic<void*> address_;
    Signature* function_;
};

}  // namespace LODE_NAMESPACE
