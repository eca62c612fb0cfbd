// HttpStore: a server of Bazel's HTTP cache protocol (bazel-remote, nginx with WebDAV, a gateway of
// an object store).
//
//   <url>/ac/<SHA-256>    actions     GET, PUT, DELETE
//   <url>/cas/<SHA-256>   contents    GET, PUT
#pragma once

#include "jit/remote/curl_library.hpp"
#include "jit/remote/remote_store.hpp"

#include <atomic>
#include <mutex>

namespace LODE_NAMESPACE::cache {

/// Keeps its connections open. Follows no redirect and uses no scheme but that of the URL, so that
/// credentials reach only the server that the options name.
class HttpStore final : public RemoteStore {
public:
    /// Errors: not_found if libcurl can't be opened.
    [[nodiscard]] static Result<std::unique_ptr<RemoteStore>> open(
        const RemoteCacheOptions& options);
    ~HttpStore() override;

    [[nodiscard]] std::size_t inline_limit() const noexcept override {
        return std::size_t{256} << 10;
    }
    [[nodiscard]] std::vector<BlobResult> get(std::span<const BlobName> names) override;
    [[nodiscard]] Status put(const BlobName& name, std::span<const std::byte> bytes) override;
    [[nodiscard]] Status remove(const BlobName& name) override;
    [[nodiscard]] Status ping() override;
    void abandon() noexcept override { is_abandoned_ = true; }
    void quiesce() noexcept override;

private:
    struct Transfer;
    class Session;
    class SessionLoan;

    HttpStore(const CurlLibrary& curl, RemoteCacheOptions options);
    [[nodiscard]] std::string url_of(const BlobName& name) const;
    void prepare(Transfer& transfer) const;
    [[nodiscard]] Status run(std::span<Transfer> transfers, bool is_read);
    [[nodiscard]] tl::unexpected<Error> status_fault(const Transfer& transfer) const;

    const CurlLibrary& curl_;
    const RemoteCacheOptions options_;
    const std::string base_;
    curl_slist* read_headers_ = nullptr;
    curl_slist* zstd_headers_ = nullptr;  ///< For contents, which servers may keep compressed.
    curl_slist* write_headers_ = nullptr;
    std::atomic<bool> is_abandoned_ = false;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Session>> idle_;
};

}  // namespace LODE_NAMESPACE::cache
