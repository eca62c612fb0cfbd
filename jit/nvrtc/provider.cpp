#include "jit/nvrtc/provider.hpp"

#include "base/process_end.hpp"
#include "base/try.hpp"
#include "jit/nvrtc/compiler_thread.hpp"

#include <fmt/format.h>

namespace LODE_NAMESPACE {

Result<CompilerProperties> properties_of(const NvrtcLibrary& nvrtc) {
    CompilerProperties made;
    made.info.version_major = nvrtc.version_major();
    made.info.version_minor = nvrtc.version_minor();
    made.info.path = nvrtc.path();
    made.info.include_folders = nvrtc.include_folders();
    made.info.supported = nvrtc.supported();
    made.info.search_attempts = nvrtc.search_attempts();
    LODE_TRY_ASSIGN(made.info.build, nvrtc.build());
    made.files = nvrtc.files();
    return made;
}

Result<std::shared_ptr<const NvrtcLibrary>> NvrtcProvider::open() {
    std::call_once(once_, [this] {
        const auto started =
            on_compiler_thread([this] { opened_ = NvrtcLibrary::open(environment_); });
        if (!started) opened_ = tl::unexpected<Error>(started.error());
        if (!opened_) return;  // The caller gets the error: logging it would repeat it.
        const auto& found = **opened_;
        log_.write(LogLevel::info, fmt::format("Opened NVRTC {}.{} ({})", found.version_major(),
                                               found.version_minor(), found.path().string()));
    });
    return opened_;
}

Result<CompilerProperties> NvrtcProvider::properties() {
    const ProcessUse use;
    if (!use) return fail_at_process_end();
    LODE_TRY_ASSIGN(const auto nvrtc, open());
    Result<CompilerProperties> made;
    LODE_TRY(on_compiler_thread([&] { made = properties_of(*nvrtc); }));
    return made;
}

}  // namespace LODE_NAMESPACE
