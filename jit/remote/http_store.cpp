#if __has_include(<curl/curl.h>)
#include "jit/remote/http_store.hpp"

#include "base/try.hpp"
#include "jit/remote/zstd_body.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
namespace {

using Clock = std::chrono::steady_clock;

constexpr long most_connections = 8;
constexpr std::size_t most_idle_sessions = 16;
/// An ActionResult adds less than this to the records in it.
constexpr std::size_t message_overhead = 64 << 10;
constexpr long ok_status = 200;
constexpr long first_redirect = 300;
constexpr long bad_request = 400;
constexpr long not_found_status = 404;
constexpr long method_not_allowed = 405;
constexpr long gone = 410;
constexpr long not_implemented = 501;

long rounded_up_ms(Clock::duration time) {
    return static_cast<long>(std::chrono::ceil<std::chrono::milliseconds>(time).count());
}

}  // namespace

/// One request and its answer.
struct HttpStore::Transfer {
    std::string url;
    const char* method = nullptr;  ///< nullptr for GET.
    std::span<const std::byte> sent;
    curl_slist* headers = nullptr;
    std::size_t limit = 0;  ///< The most bytes of the answer.

    CURL* easy = nullptr;
    Bytes body = {};
    bool has_begun = false;     ///< A byte of the answer has arrived.
    bool is_oversized = false;  ///< The answer is longer than the limit.
    bool is_zstd = false;
    bool is_done = false;
    CURLcode code = CURLE_OK;
    long status = 0;
    std::array<char, CURL_ERROR_SIZE> problem = {};

    static std::size_t receive(char* data, std::size_t size, std::size_t count, void* self) {
        auto& transfer = *static_cast<Transfer*>(self);
        const std::size_t bytes = size * count;
        if (bytes > transfer.limit - transfer.body.size()) {
            transfer.is_oversized = true;
            return 0;
        }
        const auto* first = reinterpret_cast<const std::byte*>(data);
        transfer.body.insert(transfer.body.end(), first, first + bytes);
        return bytes;
    }
    static std::size_t receive_header(char* data, std::size_t size, std::size_t count, void* self) {
        auto& transfer = *static_cast<Transfer*>(self);
        transfer.has_begun = true;
        std::string line(data, size * count);
        std::ranges::transform(line, line.begin(), [](char c) {
            return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        });
        if (line.starts_with("content-encoding:") && line.find("zstd") != std::string::npos)
            transfer.is_zstd = true;
        return size * count;
    }
};

/// A set of connections that one thread uses at a time.
class HttpStore::Session {
public:
    explicit Session(const CurlLibrary& curl) : curl_(curl), multi_(curl.multi_init()) {
        if (multi_ != nullptr)
            curl_.multi_setopt(multi_, CURLMOPT_MAX_HOST_CONNECTIONS, most_connections);
    }
    ~Session() {
        for (CURL* easy : easies_)
            curl_.easy_cleanup(easy);
        if (multi_ != nullptr) curl_.multi_cleanup(multi_);
    }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    [[nodiscard]] CURLM* multi() const noexcept { return multi_; }
    [[nodiscard]] CURL* take() {
        if (easies_.empty()) return curl_.easy_init();
        CURL* easy = easies_.back();
        easies_.pop_back();
        curl_.easy_reset(easy);
        return easy;
    }
    void give(CURL* easy) { easies_.push_back(easy); }

private:
    const CurlLibrary& curl_;
    CURLM* multi_;
    std::vector<CURL*> easies_;
};

/// A session of the pool, given back at the end unless a transfer was ended by force.
class HttpStore::SessionLoan {
public:
    explicit SessionLoan(HttpStore& store) : store_(store) {
        const std::lock_guard guard(store.mutex_);
        if (!store.idle_.empty()) {
            session_ = std::move(store.idle_.back());
            store.idle_.pop_back();
        }
    }
    ~SessionLoan() {
        if (!session_) return;
        const std::lock_guard guard(store_.mutex_);
        if (store_.idle_.size() < most_idle_sessions) store_.idle_.push_back(std::move(session_));
    }
    SessionLoan(const SessionLoan&) = delete;
    SessionLoan& operator=(const SessionLoan&) = delete;

    Session& get() {
        if (!session_) session_ = std::make_unique<Session>(store_.curl_);
        return *session_;
    }

private:
    HttpStore& store_;
    std::unique_ptr<Session> session_;
};

Result<std::unique_ptr<RemoteStore>> HttpStore::open(const RemoteCacheOptions& options) {
    LODE_TRY_ASSIGN(const CurlLibrary* curl, CurlLibrary::get());
    return std::unique_ptr<RemoteStore>(new HttpStore(*curl, options));
}

HttpStore::HttpStore(const CurlLibrary& curl, RemoteCacheOptions options)
    : curl_(curl),
      options_(std::move(options)),
      base_(options_.url.substr(0, options_.url.find_last_not_of('/') + 1)) {
    const auto add = [&](curl_slist*& list, const std::string& header) {
        if (auto* longer = curl_.slist_append(list, header.c_str())) list = longer;
    };
    for (auto** list : {&read_headers_, &zstd_headers_, &write_headers_}) {
        if (!options_.token.empty()) add(*list, "Authorization: Bearer " + options_.token);
    }
    add(zstd_headers_, "Accept-Encoding: zstd");
    add(write_headers_, "Content-Type: application/octet-stream");
    // Waiting for "100 Continue" would cost a round trip.
    add(write_headers_, "Expect:");
}

HttpStore::~HttpStore() {
    idle_.clear();
    for (auto* list : {read_headers_, zstd_headers_, write_headers_})
        curl_.slist_free_all(list);
}

void HttpStore::quiesce() noexcept {
    const std::lock_guard guard(mutex_);
    idle_.clear();
}

std::string HttpStore::url_of(const BlobName& name) const {
    return fmt::format("{}/{}/{}", base_, name.space == BlobName::Space::actions ? "ac" : "cas",
                       name.digest.to_hex());
}

void HttpStore::prepare(Transfer& transfer) const {
    const auto set = [&](CURLoption option, auto value) {
        // Options that an older libcurl lacks only refine what the others say.
        (void)curl_.easy_setopt(transfer.easy, option, value);
    };
    set(CURLOPT_URL, transfer.url.c_str());
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
    set(CURLOPT_PIPEWAIT, 1L);
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    set(CURLOPT_ERRORBUFFER, transfer.problem.data());
    set(CURLOPT_HTTPHEADER, transfer.headers);
    set(CURLOPT_WRITEFUNCTION, &Transfer::receive);
    set(CURLOPT_WRITEDATA, &transfer);
    set(CURLOPT_HEADERFUNCTION, &Transfer::receive_header);
    set(CURLOPT_HEADERDATA, &transfer);
    set(CURLOPT_PRIVATE, &transfer);
#if LIBCURL_VERSION_NUM >= 0x075700
    set(CURLOPT_QUICK_EXIT, 1L);
#endif
    set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    if (!options_.ca_file.empty()) set(CURLOPT_CAINFO, options_.ca_file.string().c_str());
    if (!options_.certificate_file.empty()) {
        set(CURLOPT_SSLCERT, options_.certificate_file.string().c_str());
        set(CURLOPT_SSLKEY, options_.key_file.string().c_str());
    }
    if (!options_.user.empty()) {
        set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
        set(CURLOPT_USERNAME, options_.user.c_str());
        set(CURLOPT_PASSWORD, options_.password.c_str());
    }
    if (transfer.method != nullptr) set(CURLOPT_CUSTOMREQUEST, transfer.method);
    if (!transfer.sent.empty()) {
        set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(transfer.sent.size()));
        set(CURLOPT_POSTFIELDS, reinterpret_cast<const char*>(transfer.sent.data()));
    }
}

Status HttpStore::run(std::span<Transfer> transfers, bool is_read) {
    SessionLoan loan(*this);
    Session& session = loan.get();
    if (session.multi() == nullptr) return fail(Errc::file_failed, "libcurl is out of memory.");
    const auto rounds = static_cast<int>((transfers.size() + most_connections - 1) /
                                         static_cast<std::size_t>(most_connections));
    const auto start = Clock::now();
    const auto end = start + (is_read ? options_.read_total : options_.write_total) * rounds;
    auto last_sign = start;
    std::size_t left = 0;
    for (auto& transfer : transfers) {
        transfer.easy = session.take();
        if (transfer.easy == nullptr) {
            transfer.code = CURLE_OUT_OF_MEMORY;
            continue;
        }
        prepare(transfer);
        if (curl_.multi_add_handle(session.multi(), transfer.easy) != CURLM_OK) {
            transfer.code = CURLE_FAILED_INIT;
            session.give(std::exchange(transfer.easy, nullptr));
            continue;
        }
        ++left;
    }
    const auto finish = [&](Transfer& transfer, CURLcode code) {
        transfer.is_done = true;
        transfer.code = code;
        (void)curl_.easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &transfer.status);
        curl_.multi_remove_handle(session.multi(), transfer.easy);
        session.give(std::exchange(transfer.easy, nullptr));
        --left;
    };
    std::size_t begun = 0;
    while (left > 0) {
        int running = 0;
        (void)curl_.multi_perform(session.multi(), &running);
        int queued = 0;
        while (const CURLMsg* message = curl_.multi_info_read(session.multi(), &queued)) {
            if (message->msg != CURLMSG_DONE) continue;
            Transfer* transfer = nullptr;
            const CURLcode code = message->data.result;
            (void)curl_.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
            finish(*transfer, code);
        }
        if (left == 0) break;
        const auto now = Clock::now();
        const auto begun_now = static_cast<std::size_t>(std::ranges::count_if(
            transfers, [](const auto& t) { return t.has_begun || t.easy == nullptr; }));
        if (std::exchange(begun, begun_now) != begun_now) last_sign = now;
        // Until every answer has begun, the next one must begin in time.
        auto until = end;
        if (is_read && begun < transfers.size())
            until = std::min(until, last_sign + options_.first_byte);
        if (now >= until || is_abandoned_) {
            for (auto& transfer : transfers) {
                if (transfer.easy != nullptr) finish(transfer, CURLE_OPERATION_TIMEDOUT);
            }
            break;
        }
        constexpr long longest_wait_ms = 50;
        (void)curl_.multi_poll(
            session.multi(), nullptr, 0,
            static_cast<int>(std::min(rounded_up_ms(until - now), longest_wait_ms)), nullptr);
    }
    return {};
}

tl::unexpected<Error> HttpStore::status_fault(const Transfer& transfer) const {
    if (transfer.is_oversized) {
        return fail(Errc::file_failed,
                    fmt::format("{} sends more than {} bytes.", base_, transfer.limit));
    }
    if (transfer.code == CURLE_OPERATION_TIMEDOUT) {
        return fail(Errc::timed_out,
                    fmt::format("{} {}.", base_,
                                transfer.has_begun ? "doesn't end its answer in time"
                                                   : "doesn't answer in time"));
    }
    if (transfer.code != CURLE_OK) {
        const char* detail = transfer.problem[0] != '\0' ? transfer.problem.data()
                                                         : curl_.easy_strerror(transfer.code);
        return fail(Errc::file_failed, fmt::format("{} can't be reached: {}.", base_, detail));
    }
    if (transfer.status >= first_redirect && transfer.status < bad_request) {
        return fail(Errc::file_failed,
                    fmt::format("{} redirects (HTTP {}); lode doesn't follow, since the "
                                "credentials are meant for this server only.",
                                base_, transfer.status));
    }
    return fail(Errc::file_failed, fmt::format("{} answers with HTTP {}.", base_, transfer.status));
}

std::vector<BlobResult> HttpStore::get(std::span<const BlobName> names) {
    std::vector<Transfer> transfers(names.size());
    const std::size_t limit = options_.max_record_bytes + message_overhead;
    for (std::size_t i = 0; i < names.size(); ++i) {
        transfers[i].url = url_of(names[i]);
        transfers[i].headers =
            names[i].space == BlobName::Space::contents ? zstd_headers_ : read_headers_;
        transfers[i].limit = limit;
    }
    std::vector<BlobResult> results(names.size());
    if (const Status ran = run(transfers, true); !ran) {
        for (auto& result : results)
            result = tl::unexpected<Error>(ran.error());
        return results;
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        auto& transfer = transfers[i];
        const bool has_answer = transfer.code == CURLE_OK;
        if (has_answer && transfer.status == ok_status) {
            if (transfer.is_zstd) {
                auto plain = decompress_body(transfer.body, limit);
                if (plain) {
                    results[i] = *std::move(plain);
                } else {
                    results[i] = tl::unexpected<Error>(std::move(plain).error());
                }
            } else {
                results[i] = std::move(transfer.body);
            }
        } else if (has_answer && (transfer.status == not_found_status || transfer.status == gone)) {
            results[i] = std::nullopt;
        } else {
            results[i] = status_fault(transfer);
        }
    }
    return results;
}

Status HttpStore::put(const BlobName& name, std::span<const std::byte> bytes) {
    Transfer transfer;
    transfer.url = url_of(name);
    transfer.method = "PUT";
    transfer.sent = bytes;
    transfer.headers = write_headers_;
    transfer.limit = message_overhead;
    LODE_TRY(run({&transfer, 1}, false));
    const bool is_stored = transfer.code == CURLE_OK && transfer.status >= ok_status &&
                           transfer.status < first_redirect;
    if (!is_stored) return status_fault(transfer);
    return {};
}

Status HttpStore::remove(const BlobName& name) {
    Transfer transfer;
    transfer.url = url_of(name);
    transfer.method = "DELETE";
    transfer.headers = read_headers_;
    transfer.limit = message_overhead;
    LODE_TRY(run({&transfer, 1}, false));
    const bool is_answered =
        transfer.code == CURLE_OK &&
        ((transfer.status >= ok_status && transfer.status < first_redirect) ||
         transfer.status == not_found_status || transfer.status == method_not_allowed ||
         transfer.status == not_implemented);
    if (!is_answered) return status_fault(transfer);
    return {};
}

Status HttpStore::ping() {
    const BlobName nothing{BlobName::Space::actions, sha256("lode ping")};
    auto results = get({&nothing, 1});
    if (!results.front()) return tl::unexpected<Error>(std::move(results.front()).error());
    return {};
}

}  // namespace LODE_NAMESPACE::cache
#endif
