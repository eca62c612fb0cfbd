// make_once: one of several processes and machines compiles or links, the others wait for what it
// publishes.
#pragma once

#include "jit/cache/storage.hpp"
#include "jit/request/compile_control.hpp"

#include <lode/jit/cache.hpp>

#include <functional>
#include <optional>
#include <string>

namespace LODE_NAMESPACE::cache {

/// Work that several processes or machines may want to do at the same time.
struct SharedWork {
    Digest key;
    std::string name;  ///< For messages.
    /// The answer that others have published in the folder, or remotely.
    std::function<std::optional<CachedImage>()> look_up, look_up_remote;
    std::function<Result<CachedImage>()> make;  ///< Does the work and publishes its result.
};

/// Does the work, or waits for another process or machine that does it.
[[nodiscard]] Result<CachedImage> make_once(const SharedWork& work, Storage& storage,
                                            const CompileControl& control);

}  // namespace LODE_NAMESPACE::cache
