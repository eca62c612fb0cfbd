#if __has_include(<hiredis/hiredis.h>)
#include "jit/remote/redis_store.hpp"

#include "base/try.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/format.h>

// HIREDIS_SONAME isn't a string.
#define LODE_TEXT_OF_(value) #value
#define LODE_TEXT_OF(value) LODE_TEXT_OF_(value)

namespace LODE_NAMESPACE::cache {
namespace {

constexpr std::size_t most_idle_connections = 16;
constexpr std::size_t reply_overhead = 64 << 10;

constexpr std::string_view release_script =
    "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0";
constexpr std::string_view renew_script =
    "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('pexpire',KEYS[1],ARGV[2]) end "
    "return 0";

std::string key_of(const BlobName& name) {
    return fmt::format("lode:{}:{}", name.space == BlobName::Space::actions ? "ac" : "cas",
                       name.digest.to_hex());
}

std::string lease_key(const Digest& name) {
    return "lode:lease:" + name.to_hex();
}

Result<HiredisLibrary> open_hiredis() {
    const std::string soname = "libhiredis.so." LODE_TEXT_OF(HIREDIS_SONAME);
    auto search = open_first({{"the loader's path", soname}});
    if (!search.library) {
        return fail(Errc::not_found,
                    "hiredis, which a remote cache on Redis needs, can't be "
                    "opened:\n" +
                        search.describe());
    }
    HiredisLibrary hiredis;
    hiredis.library = search.library;
    SymbolBinder symbols(hiredis.library);
    symbols.required(hiredis.connect, "redisConnectNonBlock");
    symbols.required(hiredis.connect_unix, "redisConnectUnixNonBlock");
    symbols.required(hiredis.free, "redisFree");
    symbols.required(hiredis.append, "redisAppendCommandArgv");
    symbols.required(hiredis.write, "redisBufferWrite");
    symbols.required(hiredis.read, "redisBufferRead");
    symbols.required(hiredis.reply, "redisGetReply");
    symbols.required(hiredis.free_reply, "freeReplyObject");
    if (!symbols.missing().empty()) {
        return fail(Errc::not_found,
                    fmt::format("The hiredis in {} has no {}.", hiredis.library.path().string(),
                                symbols.missing()));
    }
    return hiredis;
}

bool is_error(const redisReply& reply) noexcept {
    return reply.type == REDIS_REPLY_ERROR;
}

}  // namespace

Result<const HiredisLibrary*> HiredisLibrary::get() {
    static const auto& library = *new auto(open_hiredis());
    if (!library) return tl::unexpected<Error>(library.error());
    return &*library;
}

Result<std::unique_ptr<RemoteStore>> RedisStore::open(const RemoteCacheOptions& options) {
    LODE_TRY_ASSIGN(RemoteUrl url, parse_remote_url(options.url));
    LODE_TRY_ASSIGN(const HiredisLibrary* library, HiredisLibrary::get());
    return std::unique_ptr<RemoteStore>(new RedisStore(*library, options, std::move(url)));
}

RedisStore::RedisStore(const HiredisLibrary& library, RemoteCacheOptions options, RemoteUrl url)
    : library_(library), options_(std::move(options)), url_(std::move(url)) {}

RedisStore::Limits RedisStore::limits(bool is_read) const {
    const auto now = Clock::now();
    if (is_read) return {now + options_.first_byte, now + options_.read_total};
    return {now + options_.write_total, now + options_.write_total};
}

tl::unexpected<Error> RedisStore::fault(const redisContext& context) const {
    return fail(Errc::file_failed,
                fmt::format("{} can't be used: {}.", options_.url,
                            context.errstr[0] != '\0' ? context.errstr : "the connection ended"));
}

Status RedisStore::wait(const redisContext& context, os::Traffic traffic,
                        Clock::time_point until) const {
    constexpr std::chrono::milliseconds longest_wait{50};
    while (true) {
        const auto now = Clock::now();
        if (now >= until || is_abandoned_)
            return fail(Errc::timed_out, fmt::format("{} doesn't answer in time.", options_.url));
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now);
        const int ready = os::wait_for(context.fd, traffic, std::min(left, longest_wait));
        if (ready > 0) return {};
        if (ready < 0) {
            return fail(Errc::file_failed, fmt::format("Waiting for {} fails: {}.", options_.url,
                                                       std::generic_category().message(errno)));
        }
    }
}

Result<RedisStore::Context> RedisStore::connect(const Limits& limits) {
    std::string host = url_.host;
    if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
    const bool is_unix = url_.scheme == "redis+unix";
    Context context(is_unix ? library_.connect_unix(url_.path.c_str())
                            : library_.connect(host.c_str(), url_.port),
                    ContextDeleter{&library_});
    if (!context) return fail(Errc::file_failed, "hiredis is out of memory.");
    if (context->err != 0) return fault(*context);
    LODE_TRY(wait(*context, os::Traffic::outgoing, limits.first_byte));
    if (const int problem = os::connection_error(context->fd); problem != 0) {
        return fail(Errc::file_failed, fmt::format("{} can't be reached: {}.", options_.url,
                                                   std::generic_category().message(problem)));
    }
    std::vector<Command> commands;
    if (!options_.user.empty()) {
        commands.push_back({"AUTH", options_.user, options_.password});
    } else if (!options_.password.empty()) {
        commands.push_back({"AUTH", options_.password});
    }
    const bool has_credentials = !commands.empty();
    if (!is_unix && url_.path.size() > 1)
        commands.push_back({"SELECT", std::string_view(url_.path).substr(1)});
    if (commands.empty()) return context;
    LODE_TRY_ASSIGN(const auto replies, exchange(*context, commands, limits));
    for (std::size_t i = 0; i < replies.size(); ++i) {
        if (!is_error(*replies[i])) continue;
        // The server's text may quote the password.
        return fail(Errc::file_failed,
                    i == 0 && has_credentials
                        ? fmt::format("{} refuses the credentials.", options_.url)
                        : fmt::format("{} has no database {}.", options_.url, url_.path.substr(1)));
    }
    return context;
}

Result<std::vector<RedisStore::Reply>> RedisStore::exchange(redisContext& context,
                                                            std::span<const Command> commands,
                                                            const Limits& limits) {
    for (const auto& command : commands) {
        std::vector<const char*> words;
        std::vector<std::size_t> sizes;
        for (const auto word : command) {
            words.push_back(word.data());
            sizes.push_back(word.size());
        }
        if (library_.append(&context, static_cast<int>(command.size()), words.data(),
                            sizes.data()) != REDIS_OK) {
            return fault(context);
        }
    }
    for (int is_sent = 0; is_sent == 0;) {
        if (library_.write(&context, &is_sent) != REDIS_OK) return fault(context);
        if (is_sent == 0) LODE_TRY(wait(context, os::Traffic::outgoing, limits.end));
    }
    std::vector<Reply> replies;
    for (auto until = limits.first_byte; replies.size() < commands.size();) {
        void* reply = nullptr;
        // On a connection that doesn't block it only takes what has arrived.
        if (library_.reply(&context, &reply) != REDIS_OK) return fault(context);
        if (reply != nullptr) {
            replies.push_back(Reply(static_cast<redisReply*>(reply), ReplyDeleter{&library_}));
            continue;
        }
        if (context.reader->len - context.reader->pos >
            options_.max_record_bytes + reply_overhead) {
            return fail(Errc::file_failed, fmt::format("{} sends more than {} bytes.", options_.url,
                                                       options_.max_record_bytes + reply_overhead));
        }
        LODE_TRY(wait(context, os::Traffic::incoming, until));
        if (library_.read(&context) != REDIS_OK) return fault(context);
        until = limits.end;
    }
    return replies;
}

Result<std::vector<RedisStore::Reply>> RedisStore::run(std::span<const Command> commands,
                                                       bool is_read) {
    const Limits deadline = limits(is_read);
    Context context(nullptr, ContextDeleter{&library_});
    {
        const std::lock_guard guard(mutex_);
        if (!idle_.empty()) {
            context = std::move(idle_.back());
            idle_.pop_back();
        }
    }
    Result<std::vector<Reply>> replies;
    const bool was_open = context != nullptr;
    if (was_open) replies = exchange(*context, commands, deadline);
    // The server may have closed an idle connection. All commands may be repeated.
    if (!was_open || (!replies && replies.error().code != Errc::timed_out)) {
        LODE_TRY_ASSIGN(context, connect(deadline));
        replies = exchange(*context, commands, deadline);
    }
    if (replies) {
        const std::lock_guard guard(mutex_);
        if (idle_.size() < most_idle_connections) idle_.push_back(std::move(context));
    }
    return replies;
}

Result<RedisStore::Reply> RedisStore::run(const Command& command, bool is_read) {
    LODE_TRY_ASSIGN(auto replies, run(std::span(&command, 1), is_read));
    Reply reply = std::move(replies.front());
    if (is_error(*reply)) {
        return fail(Errc::file_failed,
                    fmt::format("{} refuses {}: {}.", options_.url, command.front(),
                                std::string_view(reply->str, reply->len)));
    }
    return reply;
}

std::vector<BlobResult> RedisStore::get(std::span<const BlobName> names) {
    std::vector<std::string> keys;
    std::vector<Command> commands;
    for (const auto& name : names)
        keys.push_back(key_of(name));
    for (const auto& key : keys)
        commands.push_back({"GET", key});
    std::vector<BlobResult> results;
    const auto replies = run(commands, true);
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (!replies) {
            results.emplace_back(tl::unexpected<Error>(replies.error()));
            continue;
        }
        const redisReply& reply = *(*replies)[i];
        const std::string_view text(reply.str != nullptr ? reply.str : "", reply.len);
        if (reply.type == REDIS_REPLY_STRING) {
            const auto bytes = as_bytes(text);
            results.emplace_back(Bytes(bytes.begin(), bytes.end()));
        } else if (reply.type == REDIS_REPLY_NIL) {
            results.emplace_back(std::nullopt);
        } else {
            results.emplace_back(
                fail(Errc::file_failed, fmt::format("{} refuses GET: {}.", options_.url, text)));
        }
    }
    return results;
}

Status RedisStore::put(const BlobName& name, std::span<const std::byte> bytes) {
    const std::string key = key_of(name);
    LODE_TRY(run({"SET", key, as_text(bytes)}, false));
    return {};
}

Status RedisStore::remove(const BlobName& name) {
    const std::string key = key_of(name);
    LODE_TRY(run({"DEL", key}, false));
    return {};
}

Status RedisStore::ping() {
    LODE_TRY(run({"PING"}, true));
    return {};
}

void RedisStore::quiesce() noexcept {
    const std::lock_guard guard(mutex_);
    idle_.clear();
}

Result<bool> RedisStore::acquire(const Digest& name, const std::string& owner,
                                 std::chrono::milliseconds time) {
    const std::string key = lease_key(name);
    const std::string expiry = std::to_string(time.count());
    LODE_TRY_ASSIGN(const Reply reply, run({"SET", key, owner, "NX", "PX", expiry}, true));
    return reply->type == REDIS_REPLY_STATUS;
}

Status RedisStore::renew(const Digest& name, const std::string& owner,
                         std::chrono::milliseconds time) {
    const std::string key = lease_key(name);
    const std::string expiry = std::to_string(time.count());
    LODE_TRY(run({"EVAL", renew_script, "1", key, owner, expiry}, false));
    return {};
}

Status RedisStore::release(const Digest& name, const std::string& owner) {
    const std::string key = lease_key(name);
    LODE_TRY(run({"EVAL", release_script, "1", key, owner}, false));
    return {};
}

}  // namespace LODE_NAMESPACE::cache
#endif
