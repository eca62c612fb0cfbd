#include "jit/worker/serve.hpp"

#include "base/file.hpp"
#include "base/try.hpp"
#include "jit/compiler_thread.hpp"
#include "jit/nvjitlink.hpp"
#include "jit/pch/precompiler.hpp"
#include "jit/worker/channel.hpp"
#include "jit/worker/jail.hpp"
#include "jit/worker/message.hpp"

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace lode::worker {
namespace {

/// Ends the process when the host closes its end: nobody waits for the compilation any more.
void watch_host(int socket) {
    for (;;) {
        pollfd watched{socket, POLLRDHUP, 0};
        const int ready = ::poll(&watched, 1, -1);
        if (ready < 0 && errno == EINTR) continue;
        if (ready < 0 || (watched.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) ::_exit(0);
    }
}

class Server {
public:
    /// Enters a jail.
    void enter(std::string_view argument) {
        const auto entered = setup_of_argument(argument).and_then(
            [](const JailSetup& setup) { return enter_jail(setup); });
        if (entered) {
            jail_ = *entered;
            nvrtc_ = jail_->nvrtc;
            search_ = jail_->search;
        } else {
            refusal_ = entered.error();
        }
    }

    Answer answer(std::span<const std::byte> message) {
        Answer answer{fail(Errc::compiler_failed, {})};
        if (auto done = answer_to(message, answer); !done)
            answer.image = tl::unexpected<Error>(std::move(done).error());
        return answer;
    }

private:
    Status answer_to(std::span<const std::byte> message, Answer& answer) {
        if (refusal_) return tl::unexpected<Error>(*refusal_);
        LODE_TRY_ASSIGN(const Request request, parse_request(message));
        if (jail_) {
            LODE_TRY(check_options(request.options, *jail_));
            answer.files.compiler = FileAccesses(jail_->limits);
            answer.files.shims = FileAccesses(jail_->limits);
        }
        adopt_environment(request.environment);
        if (::chdir(request.working_folder.c_str()) != 0)
            return fail_from_errno("Entering the working folder", request.working_folder, errno);
        if (request.task == Task::link) {
            answer.image = link(request, answer.files.compiler);
            return {};
        }
        LODE_TRY_ASSIGN(const auto nvrtc, open(request.nvrtc));
        if (request.task == Task::properties) {
            Result<CompilerProperties> properties;
            LODE_TRY(on_compiler_thread([&] { properties = properties_of(*nvrtc); }));
            LODE_TRY_ASSIGN(answer.properties, std::move(properties));
            Image none;
            none.arch = request.arch;
            answer.image = std::move(none);
            return {};
        }
        answer.image = compile_with(*nvrtc, request.source, request.arch, request.options,
                                    request.name_expressions, &answer.files,
                                    {precompiler_.get(), &request.pch}, {}, request.source_files);
        return {};
    }

    static Result<Image> link(const Request& request, FileAccesses& accesses) {
        LODE_TRY_ASSIGN(const auto library, nvjitlink::open(request.link.search));
        return nvjitlink::link(library, request.link.inputs, request.arch, request.link.options,
                               accesses);
    }

    /// NVRTC and functions of the C library read the environment during the compilation.
    void adopt_environment(const std::vector<std::string>& wanted) {
        if (wanted == environment_) return;
        ::clearenv();
        for (const auto& variable : wanted) {
            const auto equals = variable.find('=');
            if (equals == std::string::npos || equals == 0) continue;
            ::setenv(variable.substr(0, equals).c_str(), variable.substr(equals + 1).c_str(), 1);
        }
        environment_ = wanted;
    }

    Result<std::shared_ptr<const NvrtcLibrary>> open(const NvrtcSearchEnvironment& search) {
        if (nvrtc_ && search_ == search) return nvrtc_;
        precompiler_ = nullptr;
        Result<std::shared_ptr<const NvrtcLibrary>> opened;
        LODE_TRY(on_compiler_thread([&] { opened = NvrtcLibrary::open(search); }));
        LODE_TRY_ASSIGN(nvrtc_, std::move(opened));
        precompiler_ = std::make_unique<pch::Precompiler>(*nvrtc_);
        search_ = search;
        return nvrtc_;
    }

    std::optional<EnteredJail> jail_;
    std::optional<Error> refusal_;  ///< Why the jail can't be entered.
    std::vector<std::string> environment_;
    NvrtcSearchEnvironment search_;
    std::shared_ptr<const NvrtcLibrary> nvrtc_;
    std::unique_ptr<pch::Precompiler> precompiler_;
};

}  // namespace

void serve(int socket, const char* jail) {
    Server server;
    // Before any other thread: rights are given up for a thread and those that it starts.
    if (jail != nullptr) server.enter(jail);
    std::thread(watch_host, socket).detach();
    for (;;) {
        Receiver receiver;
        if (receiver.step(socket) != Transfer::complete) return;
        Sender sender(format_answer(server.answer(receiver.message())));
        if (sender.step(socket) != Transfer::complete) return;
    }
}

}  // namespace lode::worker
