// What a compiler that untrusted source has taken over can't do.
#include "tests/jail/jail.hpp"
#include "tests/support/processes.hpp"
#include "tests/support/second_process.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace lode;
using namespace lode::test;
namespace fs = std::filesystem;

TEST_CASE("jail: a compiler that is taken over can change nothing outside it") {
    NEEDS_JAIL();
    const HostileJail jail({.time = std::chrono::seconds(60), .memory_bytes = 1U << 30});
    std::istringstream outcomes(jail.obey("all " + jail.file().native()));
    int tried = 0;
    for (std::string outcome; std::getline(outcomes, outcome, ';'); ++tried) {
        CAPTURE(outcome);
        const auto reason = outcome.substr(outcome.rfind(' ') + 1);
        CHECK((reason == "EPERM" || reason == "EACCES" || reason == "ENOSYS"));
    }
    CHECK(tried > 60);
    CHECK(require(read_text(jail.file())) == "int readable;\n");
    CHECK(std::distance(fs::directory_iterator(jail.file().parent_path()), {}) == 1);
    CHECK(jail.obey("run-program") == "EPERM");
}

TEST_CASE("jail: a compiler that has seen other source answers no further request") {
    NEEDS_JAIL();
    const HostileJail jail;
    for (int request = 0; request < 3; ++request)
        CHECK(jail.obey(fmt::format("plant {}", request)) == "empty");
}

TEST_CASE("jail: a compiler that lies about a header deceives no other request") {
    NEEDS_JAIL();
    const HostileJail jail;
    const auto include = "//: include " + jail.file().native() + "\n";
    const auto write = [&](const std::string& text) {
        put(jail.file(), text + std::string(100, ' '));
        // Until its stamp stands for its content.
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    };
    write("int first_value;");
    CHECK(jail.tier(include) == "");
    CHECK(jail.tier(include) == "memory");
    write("int other_value;");
    // This answer says that the header is as before, and since when.
    CHECK(jail.tier(include + "//: forge eulav_rehto first_value\n") == "");
    CHECK(jail.tier(include) == "");
    CHECK(jail.tier(include) == "memory");
}

TEST_CASE("jail: an abort ends the process as a crash, and so does a call of another machine") {
    NEEDS_JAIL();
    const HostileJail jail;
    CHECK_CONTAINS(jail.answer("//: abort\n").message, "was ended by SIGABRT while it compiled");
#if defined(__x86_64__)
    // SIGSEGV on a kernel without 32-bit programs.
    const auto message = jail.answer("//: call-as-32-bit\n").message;
    CHECK((contains(message, "was ended by SIGSYS") || contains(message, "was ended by SIGSEGV")));
#endif
}

TEST_CASE("jail: the process has no capabilities, no way to get them, and its limits") {
    NEEDS_JAIL();
    const HostileJail jail({.time = std::chrono::seconds(2), .memory_bytes = 1U << 30});
    CHECK(jail.obey("plant") == "empty");  // The next process compiles what comes next.
    Error error;
    std::thread request([&] { error = jail.answer("//: spin\n"); });
    // The library's filter, and that of the jail.
    CHECK(becomes([] {
        const auto all = children();
        return !all.empty() && status_of(all.front(), "Seccomp_filters") == "2";
    }));
    const auto all = children();
    REQUIRE(all.size() == 1);
    for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"})
        CHECK(status_of(all.front(), set) == "0000000000000000");
    // Only a process with the right to can give up what no process of it could get.
    if (::geteuid() == 0) CHECK(status_of(all.front(), "CapBnd") == "0000000000000000");
    CHECK(status_of(all.front(), "NoNewPrivs") == "1");
    for (const auto resource : {RLIMIT_DATA, RLIMIT_AS}) {
        rlimit limit{};
        CHECK(::prlimit(all.front(), resource, nullptr, &limit) == 0);
        CHECK(limit.rlim_cur == limit.rlim_max);
        CHECK(limit.rlim_max < rlim_t{64} << 30);
    }
    request.join();
    CHECK(error.code == Errc::timed_out);
    CHECK(children().empty());
}

TEST_CASE("jail: the next process starts when one has answered, and may end before its request") {
    NEEDS_JAIL();
    const HostileJail jail;
    std::vector<pid_t> before;
    for (int request = 0; request < 3; ++request) {
        CHECK(jail.obey(fmt::format("plant {}", request)) == "empty");
        const auto now = children();
        REQUIRE(now.size() == 1);
        CHECK(now != before);
        before = now;
    }
    ::kill(before.front(), SIGKILL);
    CHECK(jail.obey("plant 3") == "empty");
}

TEST_CASE("jail: outside one, the worker's end is that of the processes that it has started") {
    pid_t child = 0;
    {
        const HostileJail compiler({.time = std::chrono::seconds(60)}, false);
        child = std::stoi(compiler.obey("start-child"));
        CHECK(is_running(child));
    }
    CHECK(becomes([&] { return !is_running(child); }));
    ::kill(child, SIGKILL);
}

TEST_CASE("child: host of a hostile jail" * doctest::skip()) {
    const HostileJail jail;
    (void)jail.answer("//: plant\n");  // The next process compiles what comes next.
    std::ofstream(std::getenv("LODE_TEST_PID_FILE")) << ::getpid() << std::flush;
    (void)jail.answer("//: outlive-host\n");
}

TEST_CASE("jail: a compiler that is taken over doesn't outlive its host") {
    NEEDS_JAIL();
    auto folder = make_scratch();
    const auto pid_file = folder.path() / "pid";
    ::setenv("LODE_TEST_PID_FILE", pid_file.c_str(), 1);
    pid_t worker = 0;
    {
        const SecondProcess host("child: host of a hostile jail");
        const auto is_spinning = [&] {
            if (!std::filesystem::exists(pid_file)) return false;
            std::ifstream(fmt::format("/proc/{0}/task/{0}/children", host.pid())) >> worker;
            if (worker <= 0 || status_of(worker, "Seccomp_filters") != "2") return false;
            std::this_thread::sleep_for(std::chrono::milliseconds(300));  // Until it spins.
            return is_running(worker);  // The process before it has ended by then.
        };
        REQUIRE(becomes(is_spinning));
        ::kill(host.pid(), SIGKILL);
    }
    CHECK(becomes([&] { return !is_running(worker); }));
    ::kill(worker, SIGKILL);
}
