// Real servers for tests, on free ports of the loopback interface, and a faulty one. All end with
// their objects, and with the test if it is killed.
#pragma once

#include "base/os/descriptor.hpp"
#include "tests/support/scratch.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lode::test {

inline sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
}

/// A socket that listens on a free port.
inline std::pair<Descriptor, int> listen_on_loopback() {
    Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof(address);
    REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(socket.get(), 64) == 0);
    REQUIRE(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    return {std::move(socket), ntohs(address.sin_port)};
}

inline int free_port() {
    return listen_on_loopback().second;
}

inline bool accepts_connections(int port) {
    const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = loopback(port);
    return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) ==
           0;
}

/// The program in PATH or among the system's; empty if it isn't installed.
inline std::string program_path(const std::string& name) {
    for (const char* folder : {"/usr/sbin", "/usr/bin", "/usr/local/bin", "/usr/local/sbin"}) {
        const auto path = std::filesystem::path(folder) / name;
        if (::access(path.c_str(), X_OK) == 0) return path;
    }
    return {};
}

/// A program that runs until the object's end.
class ServerProcess {
public:
    ServerProcess(std::vector<std::string> words, const std::filesystem::path& log) {
        std::vector<char*> arguments;
        for (auto& word : words)
            arguments.push_back(word.data());
        arguments.push_back(nullptr);
        const pid_t parent = ::getpid();
        process_ = ::fork();
        REQUIRE(process_ >= 0);
        if (process_ > 0) return;
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(1);
        const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        ::dup2(out, STDOUT_FILENO);
        ::dup2(out, STDERR_FILENO);
        ::execv(arguments[0], arguments.data());
        ::_exit(127);
    }
    ~ServerProcess() { end(); }
    ServerProcess(const ServerProcess&) = delete;
    ServerProcess& operator=(const ServerProcess&) = delete;

    void end() {
        if (process_ <= 0) return;
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
        process_ = -1;
    }
    void pause() const { ::kill(process_, SIGSTOP); }
    void resume() const { ::kill(process_, SIGCONT); }

private:
    pid_t process_ = -1;
};

inline void wait_for_port(int port, const std::filesystem::path& log) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!accepts_connections(port)) {
        if (std::chrono::steady_clock::now() > end) {
            std::stringstream text;
            text << std::ifstream(log).rdbuf();
            FAIL("the server doesn't start: " << text.str());
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

/// nginx with WebDAV as its documents show it.
class Nginx {
public:
    static bool is_installed() { return !program_path("nginx").empty(); }

    /// `listen` and `location` are added to the server's and to the location's block.
    explicit Nginx(const std::string& listen = "", const std::string& location = "",
                   const std::string& ssl = "")
        : port_(free_port()) {
        const auto folder = scratch_.path();
        std::filesystem::create_directories(folder / "data");
        std::filesystem::create_directories(folder / "temp");
        put(folder / "nginx.conf",
            fmt::format(R"(daemon off; master_process off; pid {0}/pid; error_log {0}/error.log;
worker_processes 1;
events {{ worker_connections 256; }}
http {{
  log_format plain '$request_method $uri $status $connection $server_protocol';
  access_log {0}/access.log plain;
  client_body_temp_path {0}/temp; proxy_temp_path {0}/temp/p; fastcgi_temp_path {0}/temp/f;
  uwsgi_temp_path {0}/temp/u; scgi_temp_path {0}/temp/s;
  client_max_body_size 100m;
  server {{
    listen 127.0.0.1:{1} {4};
    {2}
    root {0}/data;
    location / {{ dav_methods PUT DELETE; create_full_put_path on; {3} }}
  }}
}}
)",
                        folder.string(), port_, listen, location, ssl));
        start();
    }

    void start() {
        const auto folder = scratch_.path();
        process_ = std::make_unique<ServerProcess>(
            std::vector<std::string>{program_path("nginx"), "-p", folder.string(), "-c",
                                     (folder / "nginx.conf").string(), "-e",
                                     (folder / "error.log").string()},
            folder / "out.log");
        wait_for_port(port_, folder / "error.log");
    }
    void end() { process_->end(); }
    [[nodiscard]] ServerProcess& process() { return *process_; }

    [[nodiscard]] std::string url(const std::string& scheme = "http") const {
        return fmt::format("{}://127.0.0.1:{}/cache", scheme, port_);
    }
    [[nodiscard]] std::filesystem::path data() const { return scratch_.path() / "data" / "cache"; }
    [[nodiscard]] const std::filesystem::path& folder() const { return scratch_.path(); }

    /// The lines of the access log: method, path, status, connection, protocol.
    [[nodiscard]] std::vector<std::string> requests() const {
        // nginx writes the line after the answer.
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        std::vector<std::string> lines;
        std::ifstream in(scratch_.path() / "access.log");
        for (std::string line; std::getline(in, line);)
            lines.push_back(line);
        return lines;
    }

private:
    ScratchFolder scratch_ = make_scratch();
    int port_;
    std::unique_ptr<ServerProcess> process_;
};

/// redis-server without persistence.
class RedisServer {
public:
    static bool is_installed() { return !program_path("redis-server").empty(); }

    explicit RedisServer(const std::vector<std::string>& options = {}) : port_(free_port()) {
        const auto folder = scratch_.path();
        std::vector<std::string> words = {program_path("redis-server"),
                                          "--port",
                                          std::to_string(port_),
                                          "--bind",
                                          "127.0.0.1",
                                          "--save",
                                          "",
                                          "--appendonly",
                                          "no",
                                          "--dir",
                                          folder.string(),
                                          "--unixsocket",
                                          (folder / "socket").string()};
        words.insert(words.end(), options.begin(), options.end());
        process_ = std::make_unique<ServerProcess>(words, folder / "out.log");
        wait_for_port(port_, folder / "out.log");
    }

    [[nodiscard]] std::string url() const { return fmt::format("redis://127.0.0.1:{}", port_); }
    [[nodiscard]] std::string unix_url() const {
        return "redis+unix://" + (scratch_.path() / "socket").string();
    }
    [[nodiscard]] ServerProcess& process() { return *process_; }

private:
    ScratchFolder scratch_ = make_scratch();
    int port_;
    std::unique_ptr<ServerProcess> process_;
};

/// A server that answers each request as the test says.
class FaultyServer {
public:
    /// Gets the connection and the request's head; the connection is closed afterwards.
    using Answer = std::function<void(int connection, const std::string& head)>;

    explicit FaultyServer(Answer answer) : answer_(std::move(answer)) {
        std::tie(socket_, port_) = listen_on_loopback();
        thread_ = std::thread([this] { serve(); });
    }
    ~FaultyServer() {
        is_stopping_ = true;
        thread_.join();
        for (auto& thread : connections_)
            thread.join();
    }
    FaultyServer(const FaultyServer&) = delete;
    FaultyServer& operator=(const FaultyServer&) = delete;

    [[nodiscard]] std::string url(const std::string& scheme = "http") const {
        return fmt::format("{}://127.0.0.1:{}", scheme, port_);
    }
    [[nodiscard]] int requests() const { return requests_; }
    [[nodiscard]] bool is_stopping() const { return is_stopping_; }

    /// Waits as long as the server runs, or until the client closes the connection.
    void hang(int connection) const {
        while (!is_stopping_) {
            pollfd ready{connection, POLLIN, 0};
            char byte = 0;
            if (::poll(&ready, 1, 10) > 0 && ::recv(connection, &byte, 1, MSG_PEEK) <= 0) return;
        }
    }
    static void send(int connection, const std::string& text) {
        (void)!::send(connection, text.data(), text.size(), MSG_NOSIGNAL);
    }
    static void send_response(int connection, const std::string& status, const std::string& body,
                              const std::string& headers = "") {
        send(connection, fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\n{}Connection: "
                                     "close\r\n\r\n{}",
                                     status, body.size(), headers, body));
    }

private:
    void serve() {
        while (!is_stopping_) {
            pollfd ready{socket_.get(), POLLIN, 0};
            if (::poll(&ready, 1, 10) <= 0) continue;
            const int accepted = ::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC);
            if (accepted < 0) continue;
            connections_.emplace_back([this, accepted] {
                const Descriptor connection(accepted);
                std::string head;
                char byte = 0;
                while (!head.ends_with("\r\n\r\n") && !is_stopping_) {
                    pollfd readable{accepted, POLLIN, 0};
                    if (::poll(&readable, 1, 10) <= 0) continue;
                    if (::recv(accepted, &byte, 1, 0) <= 0) return;
                    head += byte;
                }
                ++requests_;
                answer_(accepted, head);
            });
        }
    }

    Answer answer_;
    Descriptor socket_;
    int port_ = 0;
    std::atomic<bool> is_stopping_ = false;
    std::atomic<int> requests_ = 0;
    std::vector<std::thread> connections_;
    std::thread thread_;
};

}  // namespace lode::test

#define LODE_SKIP_WITHOUT(Server)                             \
    if (!lode::test::Server::is_installed()) {                \
        MESSAGE("skipped: " #Server " isn't installed here"); \
        return;                                               \
    }
