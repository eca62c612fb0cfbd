// HttpStore and RedisStore against nginx and redis-server.
#include "jit/remote/remote_store.hpp"
#include "tests/unit/jit/remote/servers.hpp"

#include <cstdlib>
#include <set>

#include <doctest/doctest.h>

using namespace lode;
using namespace lode::cache;
using namespace lode::test;
using std::chrono::milliseconds;

namespace {

std::unique_ptr<RemoteStore> open(const RemoteCacheOptions& options) {
    auto store = open_remote_store(options);
    REQUIRE_MESSAGE(store, (store ? "" : store.error().message));
    return *std::move(store);
}

RemoteCacheOptions at(std::string url) {
    RemoteCacheOptions options;
    options.url = std::move(url);
    options.first_byte = milliseconds(2000);  // For slow machines.
    return options;
}

BlobName action(const char* text) {
    return {BlobName::Space::actions, sha256(text)};
}

BlobResult get_one(RemoteStore& store, const BlobName& name) {
    return std::move(store.get({&name, 1}).front());
}

std::string text_of(const BlobResult& result) {
    if (!result) return "fault: " + result.error().message;
    if (!*result) return "miss";
    return std::string(as_text(**result));
}

void check_verbs(RemoteStore& store) {
    CHECK(text_of(get_one(store, action("a"))) == "miss");
    REQUIRE(store.put(action("a"), as_bytes("one")));
    CHECK(text_of(get_one(store, action("a"))) == "one");
    REQUIRE(store.put(action("a"), as_bytes("two")));
    CHECK(text_of(get_one(store, action("a"))) == "two");
    const std::string large(5'000'000, 'x');
    const BlobName content{BlobName::Space::contents, sha256(large)};
    REQUIRE(store.put(content, as_bytes(large)));
    CHECK(text_of(get_one(store, content)) == large);
    REQUIRE(store.remove(action("a")));
    REQUIRE(store.remove(action("a")));
    CHECK(text_of(get_one(store, action("a"))) == "miss");
    CHECK(store.ping());

    std::vector<BlobName> names;
    for (int i = 0; i < 40; ++i) {
        names.push_back(action(std::to_string(i).c_str()));
        if (i % 2 == 0) REQUIRE(store.put(names.back(), as_bytes("value " + std::to_string(i))));
    }
    const auto results = store.get(names);
    REQUIRE(results.size() == names.size());
    for (int i = 0; i < 40; ++i)
        CHECK(text_of(results[i]) == (i % 2 == 0 ? "value " + std::to_string(i) : "miss"));
}

void shell(const std::string& command) {
    REQUIRE_MESSAGE(std::system((command + " >/dev/null 2>&1").c_str()) == 0, command);
}

}  // namespace

TEST_CASE("http store: get, put and remove on nginx, over one connection") {
    LODE_SKIP_WITHOUT(Nginx)
    const Nginx nginx;
    const auto store = open(at(nginx.url()));
    CHECK(text_of(get_one(*store, action("x"))) == "miss");
    REQUIRE(store->put(action("x"), as_bytes("value")));
    CHECK(text_of(get_one(*store, action("x"))) == "value");
    std::set<std::string> connections;
    const auto requests = nginx.requests();
    CHECK(requests.size() == 3);
    for (const auto& line : requests) {
        std::istringstream words(line);
        std::string word;
        for (int i = 0; i < 4; ++i)
            words >> word;
        connections.insert(word);
    }
    CHECK(connections.size() == 1);
    CHECK(requests[1].starts_with("PUT /cache/ac/" + sha256("x").to_hex() + " 201"));
    check_verbs(*store);
}

TEST_CASE("http store: a connection that the server has closed is opened again") {
    LODE_SKIP_WITHOUT(Nginx)
    Nginx nginx;
    const auto store = open(at(nginx.url()));
    REQUIRE(store->put(action("x"), as_bytes("value")));
    nginx.end();
    CHECK(text_of(get_one(*store, action("x"))).find("can't be reached") != std::string::npos);
    nginx.start();
    CHECK(text_of(get_one(*store, action("x"))) == "value");
    nginx.end();
    nginx.start();
    REQUIRE(store->put(action("x"), as_bytes("again")));
    CHECK(text_of(get_one(*store, action("x"))) == "again");
}

TEST_CASE("http store: basic and bearer authentication") {
    LODE_SKIP_WITHOUT(Nginx)
    const auto scratch = make_scratch();
    put(scratch.path() / "users", "ann:{PLAIN}s3cret\n");
    const Nginx basic("auth_basic cache; auth_basic_user_file " +
                      (scratch.path() / "users").string() + ";");
    auto options = at(basic.url());
    CHECK(text_of(get_one(*open(options), action("x"))).find("HTTP 401") != std::string::npos);
    options.user = "ann";
    options.password = "wrong";
    const auto refused = text_of(get_one(*open(options), action("x")));
    CHECK(refused.find("HTTP 401") != std::string::npos);
    CHECK(refused.find("wrong") == std::string::npos);
    options.password = "s3cret";
    check_verbs(*open(options));

    const Nginx bearer("if ($http_authorization != \"Bearer t0ken\") { return 403; }");
    options = at(bearer.url());
    CHECK(text_of(get_one(*open(options), action("x"))).find("HTTP 403") != std::string::npos);
    options.token = "t0ken";
    check_verbs(*open(options));
}

TEST_CASE("http store: TLS with HTTP/2, a private authority and client certificates") {
    LODE_SKIP_WITHOUT(Nginx)
    const auto scratch = make_scratch();
    const std::string in = "cd " + scratch.path().string() + " && ";
    for (const char* name : {"ca", "other"}) {
        shell(in + fmt::format("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 "
                               "-nodes -days 2 -subj /CN={0} -keyout {0}.key -out {0}.pem",
                               name));
    }
    put(scratch.path() / "names", "subjectAltName=IP:127.0.0.1");
    for (const char* name : {"server", "client"}) {
        shell(in + fmt::format("openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
                               "-subj /CN={0} -keyout {0}.key -out {0}.csr && openssl x509 -req "
                               "-in {0}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 "
                               "-extfile names -out {0}.pem",
                               name));
    }
    const auto file = [&](const char* name) { return (scratch.path() / name).string(); };
    const std::string tls = "ssl_certificate " + file("server.pem") + "; ssl_certificate_key " +
                            file("server.key") + ";";
    const Nginx nginx(tls, "", "ssl http2");
    auto options = at(nginx.url("https"));
    CHECK(text_of(get_one(*open(options), action("x"))).find("certificate") != std::string::npos);
    options.ca_file = file("other.pem");
    CHECK(text_of(get_one(*open(options), action("x"))).find("certificate") != std::string::npos);
    CHECK(nginx.requests().empty());
    options.ca_file = file("ca.pem");
    check_verbs(*open(options));
    for (const auto& line : nginx.requests())
        CHECK(line.ends_with("HTTP/2.0"));

    const Nginx mutual(tls + "ssl_client_certificate " + file("ca.pem") + "; ssl_verify_client on;",
                       "", "ssl");
    options.url = mutual.url("https");
    CHECK(text_of(get_one(*open(options), action("x"))).find("HTTP 400") != std::string::npos);
    options.certificate_file = file("client.pem");
    options.key_file = file("client.key");
    check_verbs(*open(options));
}

TEST_CASE("redis store: get, put and remove over TCP, in a database, and over a socket") {
    LODE_SKIP_WITHOUT(RedisServer)
    const RedisServer redis;
    check_verbs(*open(at(redis.url())));
    const auto second = open(at(redis.url() + "/2"));
    CHECK(text_of(get_one(*second, action("0"))) == "miss");
    check_verbs(*second);
    CHECK(text_of(get_one(*open(at(redis.unix_url())), action("0"))) == "value 0");
    CHECK(text_of(get_one(*open(at(redis.url() + "/99")), action("0"))).find("no database 99") !=
          std::string::npos);
}

TEST_CASE("redis store: passwords, alone and of a user, and messages don't contain them") {
    LODE_SKIP_WITHOUT(RedisServer)
    const RedisServer redis({"--requirepass", "s3cret"});
    auto options = at(redis.url());
    CHECK(text_of(get_one(*open(options), action("x"))).find("NOAUTH") != std::string::npos);
    options.password = "wr0ng";
    const auto refused = text_of(get_one(*open(options), action("x")));
    CHECK(refused.find("refuses the credentials") != std::string::npos);
    CHECK(refused.find("wr0ng") == std::string::npos);
    options.password = "s3cret";
    check_verbs(*open(options));
    options.user = "default";
    check_verbs(*open(options));
}

TEST_CASE("redis store: a lease has one owner, who alone extends and releases it, and it expires") {
    LODE_SKIP_WITHOUT(RedisServer)
    const RedisServer redis;
    const auto store = open(at(redis.url()));
    const Digest name = sha256("kernel");
    const auto taken = [&](const char* owner, milliseconds time) {
        const auto result = store->acquire(name, owner, time);
        REQUIRE(result);
        return *result;
    };
    CHECK(taken("ann", milliseconds(60'000)));
    CHECK(!taken("bob", milliseconds(60'000)));
    REQUIRE(store->release(name, "bob"));
    CHECK(!taken("bob", milliseconds(60'000)));
    REQUIRE(store->release(name, "ann"));
    CHECK(taken("bob", milliseconds(100)));
    std::this_thread::sleep_for(milliseconds(60));
    REQUIRE(store->renew(name, "bob", milliseconds(1000)));
    std::this_thread::sleep_for(milliseconds(60));
    CHECK(!taken("ann", milliseconds(60'000)));
    REQUIRE(store->renew(name, "bob", milliseconds(10)));
    std::this_thread::sleep_for(milliseconds(30));
    CHECK(taken("ann", milliseconds(60'000)));
    // The lease is another's by now.
    REQUIRE(store->renew(name, "bob", milliseconds(1)));
    std::this_thread::sleep_for(milliseconds(20));
    CHECK(!taken("bob", milliseconds(60'000)));
}

TEST_CASE("remote options: bad URLs and credentials are refused, without printing secrets") {
    const auto refusal = [](const RemoteCacheOptions& options) {
        const Status status = options.check();
        return status ? std::string() : status.error().message;
    };
    for (const char* url : {"http://a", "https://a:8443/b/c", "http://[::1]:80", "redis://a",
                            "redis://a:1/3", "redis+unix:///tmp/s"}) {
        CHECK(refusal(at(url)) == "");
    }
    // Each message says what is wrong, and doesn't quote the URL: a password may stand in it.
    const std::pair<const char*, const char*> wrong[] = {
        {"a:s3cret", "must begin with http://, https://, redis:// or redis+unix://"},
        {"ftp://s3cret", "'ftp://…' is wrong: it must begin with http://"},
        {"s3cret://a", "must begin with http://"},
        {"http://", "names no host"},
        {"http://s3cret:0", "port must be from 1 to 65535"},
        {"http://a:65536", "port must be from 1 to 65535"},
        {"http://a:s3cret", "port must be from 1 to 65535"},
        {"http://a s3cret", "no blanks"},
        {"http://a?s3cret", "no blanks, control characters, '?' or '#'"},
        {"http://a\ns3cret", "no blanks, control characters"},
        {"redis://a/s3cret", "must be the number of a database"},
        {"redis+unix://s3cret", "the path of a socket must be absolute"},
        {"http://[::s3cret", "no closing bracket"},
    };
    for (const auto& [url, part] : wrong) {
        CAPTURE(url);
        const std::string message = refusal(at(url));
        CHECK(message.find(part) != std::string::npos);
        CHECK(message.find("s3cret") == std::string::npos);
    }
    const auto secret = refusal(at("http://ann:s3cret@host"));
    CHECK(secret.find("LODE_CACHE_REMOTE_PASSWORD") != std::string::npos);
    CHECK(secret.find("s3cret") == std::string::npos);
    auto options = at("http://a");
    options.token = "s3cret\r\nX: y";
    CHECK(refusal(options).find("control character") != std::string::npos);
    CHECK(refusal(options).find("s3cret") == std::string::npos);
    options.token = "t";
    options.user = "u";
    CHECK(refusal(options).find("both a token and a user") != std::string::npos);
    options = at("http://a");
    options.ca_file = "ca.pem";
    CHECK(refusal(options).find("certificates need https://") != std::string::npos);
    options.url = "https://a";
    CHECK(refusal(options) == "");
    options.certificate_file = "c.pem";
    CHECK(refusal(options).find("belong together") != std::string::npos);

    ::setenv("LODE_CACHE_REMOTE", "https://host/x,read-only", 1);
    ::setenv("LODE_CACHE_REMOTE_TOKEN", "t", 1);
    const auto read = RemoteCacheOptions::from_environment();
    REQUIRE(read);
    CHECK(read->url == "https://host/x");
    CHECK(read->read_only);
    CHECK(read->token == "t");
    ::setenv("LODE_CACHE_REMOTE", "https://host/x,readonly", 1);
    CHECK(!RemoteCacheOptions::from_environment());
}
