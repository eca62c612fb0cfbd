/// \file
/// Watcher: a kernel that follows its source while the program runs.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/base/pending.hpp>
#include <lode/jit/source.hpp>
#include <lode/runtime/device.hpp>
#include <lode/runtime/kernel.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// A kernel and the files that it depends on. Copies share everything; thread-safe; keeps the
/// device alive.
///
/// It starts no thread and watches nothing by itself: the host calls is_stale() when it likes, for
/// example once a frame, or gives files() to its own file notifications. Kernels that were handed
/// out stay valid after a reload, and keep the old code loaded. Relative paths start at the working
/// directory of each call.
class Watcher {
public:
    /// Loads a kernel as Device::load() does. Errors: those of Device::load(); not_supported if the
    /// result depends on more than files (CompileReport::not_kept), such as `__TIME__`.
    [[nodiscard]] static Result<Watcher> create(const Device& device, Source source,
                                                std::string name, KernelOptions options = {});

    /// The latest kernel that was loaded.
    [[nodiscard]] UntypedKernel kernel() const;
    /// The same with the signature verified. Errors: signature_mismatch; not_supported.
    template <class Signature>
    [[nodiscard]] Result<Kernel<Signature>> kernel() const {
        return Kernel<Signature>::from_untyped(kernel());
    }

    /// The files that the latest kernel depends on, absolute: the source, unless its code is in
    /// memory, and every header that was read. As of the last successful load.
    [[nodiscard]] std::vector<std::filesystem::path> files() const;

    /// Whether a file has changed in a way that may change the code, a missing file included; false
    /// again if the change is undone. A file that was only touched isn't stale. Takes microseconds
    /// for each file.
    [[nodiscard]] bool is_stale() const;

    /// Loads the kernel again if it is stale and swaps it in; returns whether it did. After an
    /// error the old kernel stays. Concurrent calls run one after the other. Errors: those of
    /// Device::load(), such as compile_failed while a file is half written.
    [[nodiscard]] Result<bool> reload() const;
    /// The same without blocking. Errors: also cancelled.
    [[nodiscard]] Pending<bool> reload_async() const;

private:
    struct State;
    explicit Watcher(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
