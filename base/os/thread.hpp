// Threads that inherit nothing from the thread that starts them.
#pragma once

#include <lode/base/api.hpp>

#include <cstddef>
#include <functional>

namespace LODE_NAMESPACE::os {

/// The size of such a thread's stack. Only what is used becomes memory.
inline constexpr std::size_t own_stack_bytes = std::size_t{64} << 20;

/// Runs `body` on a thread of its own and waits for it to end, whatever cancels the caller. The
/// thread has the C locale, the default rounding mode, and no signals but those of its own faults.
/// The memory of a stack is used again and never unmapped. Exceptions of `body` propagate. Returns
/// 0, or an errno value if the thread can't be started.
[[nodiscard]] int run_on_own_thread(const char* name, const std::function<void()>& body);

/// Gives the calling thread its locale back at its end.
class LocaleScope {
public:
    LocaleScope() noexcept;
    ~LocaleScope();
    LocaleScope(const LocaleScope&) = delete;
    LocaleScope& operator=(const LocaleScope&) = delete;

private:
    void* before_;
};

/// Gives the calling thread the C locale until its end.
class PlainLocale {
public:
    PlainLocale() noexcept;

private:
    LocaleScope before_;
};

}  // namespace LODE_NAMESPACE::os
