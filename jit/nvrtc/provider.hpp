// CompilerProvider: finds and opens a compiler on first use, for Compiler and the cache.
#pragma once

#include "base/process_end.hpp"
#include "base/try.hpp"
#include "jit/nvrtc/compiler_thread.hpp"
#include "jit/nvrtc/library.hpp"
#include "jit/nvrtc/locate.hpp"

#include <lode/base/error.hpp>
#include <lode/jit/compiler.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace LODE_NAMESPACE {

/// Thread-safe. A failed search isn't repeated. `Tools` has open(), describe() and properties().
template <class Tools>
class CompilerProvider {
public:
    /// Opens nothing yet.
    CompilerProvider(NvrtcSearchEnvironment where, Log log)
        : log_(std::move(log)), environment_(std::move(where)) {}

    [[nodiscard]] const NvrtcSearchEnvironment& environment() const noexcept {
        return environment_;
    }

    /// Opens the compiler on the first call, on a compiler's thread. Errors: compiler_missing, with
    /// every attempt.
    [[nodiscard]] Result<std::shared_ptr<const Tools>> open() {
        std::call_once(once_, [this] {
            const auto started =
                on_compiler_thread([this] { opened_ = Tools::open(environment_); });
            if (!started) opened_ = tl::unexpected<Error>(started.error());
            if (!opened_) return;  // The caller gets the error: logging it would repeat it.
            log_.write(LogLevel::info, "Opened " + (*opened_)->describe());
        });
        return opened_;
    }

    /// Properties of the opened compiler, asked for on a compiler's thread. Errors: those of
    /// open(); cancelled while the process ends.
    [[nodiscard]] Result<CompilerProperties> properties() {
        const ProcessUse use;
        if (!use) return fail_at_process_end();
        LODE_TRY_ASSIGN(const auto tools, open());
        Result<CompilerProperties> made;
        LODE_TRY(on_compiler_thread([&] { made = tools->properties(); }));
        return made;
    }

private:
    const Log log_;
    const NvrtcSearchEnvironment environment_;
    std::once_flag once_;
    Result<std::shared_ptr<const Tools>> opened_ = nullptr;
};

/// Reads the environment now.
class NvrtcProvider : public CompilerProvider<NvrtcLibrary> {
public:
    explicit NvrtcProvider(CompilerSearch search)
        : CompilerProvider(NvrtcSearchEnvironment::of_process(search.nvrtc),
                           std::move(search.log)) {}
};

}  // namespace LODE_NAMESPACE
