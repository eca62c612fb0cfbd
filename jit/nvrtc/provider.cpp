#include "jit/nvrtc/provider.hpp"

#include "base/try.hpp"

#include <fmt/format.h>

namespace lode {

Result<std::shared_ptr<const NvrtcLibrary>> NvrtcProvider::open() {
    std::call_once(once_, [this] {
        opened_ = NvrtcLibrary::open(environment_);
        if (!opened_) return;  // The caller gets the error: logging it would repeat it.
        const auto& found = **opened_;
        log_.write(LogLevel::info, fmt::format("Opened NVRTC {}.{} ({})", found.version_major(),
                                               found.version_minor(), found.path().string()));
    });
    return opened_;
}

Result<CompilerInfo> NvrtcProvider::info() {
    LODE_TRY_ASSIGN(const auto nvrtc, open());
    CompilerInfo info;
    info.version_major = nvrtc->version_major();
    info.version_minor = nvrtc->version_minor();
    info.path = nvrtc->path();
    info.include_folders = nvrtc->include_folders();
    info.supported = nvrtc->supported();
    info.search_attempts = nvrtc->search_attempts();
    LODE_TRY_ASSIGN(info.build, nvrtc->build());
    return info;
}

}  // namespace lode
