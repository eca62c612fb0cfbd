// LinkPipeline: answers requests to link, from the cache or with the linker.
#pragma once

#include "jit/cache/compile_pipeline.hpp"
#include "jit/cache/publisher.hpp"
#include "jit/cache/requests.hpp"
#include "jit/cache/storage.hpp"

#include <lode/jit/cache.hpp>
#include <lode/jit/linker.hpp>

#include <optional>
#include <span>

namespace LODE_NAMESPACE::cache {

/// What is linked, and how.
struct LinkRequest {
    const Linker& linker;
    std::span<const LinkInput> inputs;
    const Arch& target;
    const LinkOptions& options;
};

/// Thread-safe. The arguments must outlive it.
class LinkPipeline {
public:
    LinkPipeline(Storage& storage, Requests& requests, Flights& flights) noexcept
        : storage_(storage), requests_(requests), flights_(flights) {}

    [[nodiscard]] Result<CachedImage> link(const LinkRequest& request);

private:
    /// A link as the cache knows it. An empty key text means that the result isn't kept, for the
    /// reason in `miss`; `report` names the request.
    struct PreparedLink {
        const LinkRequest& request;
        Key key;
        CacheMiss miss;
        CompileReport report;
    };
    [[nodiscard]] Result<CachedImage> answer(const PreparedLink& link,
                                             const RequestContext& context);
    [[nodiscard]] std::optional<CachedImage> look_up(const PreparedLink& link, Reach reach);
    [[nodiscard]] Result<CachedImage> link_and_publish(const PreparedLink& link);

    Storage& storage_;
    Requests& requests_;
    Flights& flights_;
    Publisher publisher_{storage_};
};

}  // namespace LODE_NAMESPACE::cache
