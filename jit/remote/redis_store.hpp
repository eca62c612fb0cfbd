// RedisStore: Redis or Valkey, whose leases let a fleet compile each kernel once.
//
//   lode:ac:<SHA-256>, lode:cas:<SHA-256>   blobs
//   lode:lease:<SHA-256>                    the random name of its owner; expires
#pragma once

#include "base/os/socket.hpp"
#include "base/shared_library.hpp"
#include "jit/remote/remote_store.hpp"

#include <atomic>
#include <initializer_list>
#include <mutex>

#include <hiredis/hiredis.h>

namespace LODE_NAMESPACE::cache {

/// The functions of hiredis that RedisStore calls. Opened once per process and never closed.
struct HiredisLibrary {
    SharedLibrary library;
    decltype(&redisConnectNonBlock) connect = nullptr;
    decltype(&redisConnectUnixNonBlock) connect_unix = nullptr;
    decltype(&redisFree) free = nullptr;
    decltype(&redisAppendCommandArgv) append = nullptr;
    decltype(&redisBufferWrite) write = nullptr;
    decltype(&redisBufferRead) read = nullptr;
    decltype(&redisGetReply) reply = nullptr;
    decltype(&freeReplyObject) free_reply = nullptr;

    /// Opens the version whose headers lode was built with: its structures differ between versions.
    /// Thread-safe. Errors: not_found.
    [[nodiscard]] static Result<const HiredisLibrary*> get();
};

/// Keeps its connections open.
class RedisStore final : public RemoteStore {
public:
    /// Errors: not_found if hiredis can't be opened.
    [[nodiscard]] static Result<std::unique_ptr<RemoteStore>> open(
        const RemoteCacheOptions& options);

    /// Everything lies in the actions: a value of any size costs one round trip.
    [[nodiscard]] std::size_t inline_limit() const noexcept override {
        return options_.max_record_bytes;
    }
    [[nodiscard]] std::vector<BlobResult> get(std::span<const BlobName> names) override;
    [[nodiscard]] Status put(const BlobName& name, std::span<const std::byte> bytes) override;
    [[nodiscard]] Status remove(const BlobName& name) override;
    [[nodiscard]] Status ping() override;

    [[nodiscard]] bool has_leases() const noexcept override { return true; }
    [[nodiscard]] Result<bool> acquire(const Digest& name, const std::string& owner,
                                       std::chrono::milliseconds time) override;
    [[nodiscard]] Status renew(const Digest& name, const std::string& owner,
                               std::chrono::milliseconds time) override;
    [[nodiscard]] Status release(const Digest& name, const std::string& owner) override;
    void abandon() noexcept override { is_abandoned_ = true; }
    void quiesce() noexcept override;

private:
    using Clock = std::chrono::steady_clock;
    using Command = std::vector<std::string_view>;
    struct ContextDeleter {
        const HiredisLibrary* library;
        void operator()(redisContext* context) const { library->free(context); }
    };
    using Context = std::unique_ptr<redisContext, ContextDeleter>;
    struct ReplyDeleter {
        const HiredisLibrary* library;
        void operator()(redisReply* reply) const { library->free_reply(reply); }
    };
    using Reply = std::unique_ptr<redisReply, ReplyDeleter>;
    struct Limits {
        Clock::time_point first_byte;
        Clock::time_point end;
    };

    RedisStore(const HiredisLibrary& library, RemoteCacheOptions options, RemoteUrl url);
    [[nodiscard]] Limits limits(bool is_read) const;
    [[nodiscard]] Result<Context> connect(const Limits& limits);
    /// Waits until the socket is ready for `events` of poll(). Errors: timed_out, file_failed.
    [[nodiscard]] Status wait(const redisContext& context, os::Traffic traffic,
                              Clock::time_point until) const;
    /// Sends commands at once and receives their answers.
    [[nodiscard]] Result<std::vector<Reply>> exchange(redisContext& context,
                                                      std::span<const Command> commands,
                                                      const Limits& limits);
    /// The same on a connection of the pool; again on a new one if the server has closed it.
    [[nodiscard]] Result<std::vector<Reply>> run(std::span<const Command> commands, bool is_read);
    [[nodiscard]] Result<Reply> run(const Command& command, bool is_read);
    [[nodiscard]] tl::unexpected<Error> fault(const redisContext& context) const;

    const HiredisLibrary& library_;
    const RemoteCacheOptions options_;
    const RemoteUrl url_;
    std::atomic<bool> is_abandoned_ = false;
    std::mutex mutex_;
    std::vector<Context> idle_;
};

}  // namespace LODE_NAMESPACE::cache
