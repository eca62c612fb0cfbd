#include "tools/worker/serve.hpp"

#include "base/file.hpp"
#include "base/try.hpp"
#include "jit/compile_call.hpp"
#include "jit/link_calls.hpp"
#include "jit/nvjitlink.hpp"
#include "jit/nvrtc/compiler_thread.hpp"
#include "jit/pch/precompiler.hpp"
#include "jit/worker/channel.hpp"
#include "jit/worker/jail.hpp"
#include "jit/worker/message.hpp"
#include "tools/worker/enter_jail.hpp"
#include "tools/worker/memory_limit.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace LODE_NAMESPACE::worker {
namespace {

/// Ends the process when the host closes its end: nobody waits for the compilation any more.
[[noreturn]] void watch_host(int socket) {
    for (;;) {
        pollfd watched{socket, POLLRDHUP, 0};
        const int ready = ::poll(&watched, 1, -1);
        if (ready < 0 && errno == EINTR) continue;
        if (ready < 0 || (watched.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) ::_exit(0);
    }
}

class Server {
public:
    explicit Server(int socket) : socket_(socket) {}

    /// Enters a jail.
    void enter(std::string_view argument) {
        const auto entered = setup_of_argument(argument).and_then(
            [](const JailSetup& setup) { return enter_jail(setup); });
        if (entered) {
            jail_ = *entered;
            compilers_ = jail_->compilers;
        } else {
            refusal_ = entered.error();
        }
    }

    Answer answer(std::span<const std::byte> message) {
        Answer answer{fail(Errc::compiler_failed, {})};
        // One thread for all of it: its stack is there before there is a limit, and a jail that is
        // locked needs no further thread.
        Status done;
        const auto ran = on_compiler_thread([&] { done = answer_to(message, answer); });
        if (auto& problem = ran ? done : ran; !problem)
            answer.image = tl::unexpected<Error>(problem.error());
        return answer;
    }

private:
    Status answer_to(std::span<const std::byte> message, Answer& answer) {
        if (refusal_) return tl::unexpected<Error>(*refusal_);
        LODE_TRY_ASSIGN(const Request request, parse_request(message));
        if (jail_) {
            LODE_TRY(check_options(request.compilation.options, *jail_));
            answer.files.compiler = FileAccesses(jail_->limits);
            answer.files.shims = FileAccesses(jail_->limits);
        }
        if (working_folder_ != request.working_folder || environment_ != request.environment) {
            links_ = nullptr;
            // Their searches depend on it, but a jail's compiler is opened for good.
            if (!jail_) {
                compilers_.nvvm.forget();
                compilers_.llvm.forget();
                compilers_.ptx.forget();
            }
        }
        adopt_environment(request.environment);
        working_folder_ = request.working_folder;
        if (::chdir(request.working_folder.c_str()) != 0)
            return fail_from_errno("Entering the working folder", request.working_folder.string(),
                                   errno);
        if (request.task == Task::link) {
            LODE_TRY_ASSIGN(const auto library, nvjitlink::open(request.link.search));
            LODE_TRY_ASSIGN(const auto limit, confine_to(request));
            answer.image = nvjitlink::link(library, request.link.inputs, request.compilation.arch,
                                           request.link.options, answer.files.compiler);
            return {};
        }
        if (request.task == Task::linker_properties || request.task == Task::link_call) {
            LODE_TRY_ASSIGN(LinkCalls* const links, open_linker(request.link.search));
            LODE_TRY_ASSIGN(const auto limit, confine_to(request));
            answer.properties = links->properties();
            if (request.task == Task::link_call) {
                LODE_TRY_ASSIGN(answer.call, links->answer(request.call, answer.files));
            }
            answer.image = without_code(request);
            return {};
        }
        if (request.task == Task::call) {
            LODE_TRY_ASSIGN(const auto nvrtc, open_nvrtc(request.nvrtc));
            LODE_TRY_ASSIGN(const auto limit, confine_to(request));
            LODE_TRY_ASSIGN(answer.call, compile_call(*nvrtc, request.call, answer.files,
                                                      {precompiler_.get(), &request.pch}));
            answer.image = without_code(request);
            return {};
        }
        const auto language = request.compilation.source.language();
        if (language == Source::Language::cuda) LODE_TRY(open_nvrtc(request.nvrtc));
        return with_compiler(compilers_, language, [&](auto& compiler) {
            return answer_with(compiler, request, answer);
        });
    }

    /// Compiles, or tells the compiler's properties.
    template <class Tools>
    Status answer_with(OpenedCompiler<Tools>& compiler, const Request& request, Answer& answer) {
        LODE_TRY_ASSIGN(const auto tools, compiler.open(request.nvrtc));
        LODE_TRY_ASSIGN(const auto limit, confine_to(request));
        if (request.task == Task::properties) {
            LODE_TRY_ASSIGN(answer.properties, tools->properties());
            answer.image = without_code(request);
        } else {
            answer.image = compile_with(*tools, request.compilation,
                                        {.files = &answer.files,
                                         .source_files = request.source_files,
                                         .pch = {precompiler_.get(), &request.pch}});
        }
        return {};
    }

    static Image without_code(const Request& request) {
        Image none;
        none.arch = request.compilation.arch;
        return none;
    }

    /// Sets the limits of a request, and locks the jail if there is one.
    Result<MemoryLimit> confine_to(const Request& request) {
        LODE_TRY_ASSIGN(auto limit, MemoryLimit::set(request, socket_, jail_.has_value()));
        if (jail_) LODE_TRY(lock_jail(request, socket_));
        return limit;
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

    /// NVRTC, and with it what precompiles headers for it.
    Result<std::shared_ptr<const NvrtcLibrary>> open_nvrtc(const NvrtcSearchEnvironment& search) {
        auto nvrtc = compilers_.nvrtc.open(search);
        if (jail_) return nvrtc;
        if (!nvrtc || precompiled_for_ != *nvrtc) {
            precompiler_ = nullptr;
            precompiled_for_ = nvrtc ? *nvrtc : nullptr;
            if (nvrtc) precompiler_ = std::make_unique<pch::Precompiler>(**nvrtc);
        }
        return nvrtc;
    }

    /// The linker in one file, which a search names.
    Result<LinkCalls*> open_linker(const LinkerSearch& search) {
        if (links_ && linker_ == search.library) return links_.get();
        LODE_TRY_ASSIGN(auto library, nvjitlink::open(search));
        links_ = std::make_unique<LinkCalls>(std::move(library));
        linker_ = search.library;
        return links_.get();
    }

    const int socket_;
    std::optional<EnteredJail> jail_;
    std::optional<Error> refusal_;  ///< Why the jail can't be entered.
    std::vector<std::string> environment_;
    Compilers compilers_;
    std::shared_ptr<const NvrtcLibrary> precompiled_for_;
    std::unique_ptr<pch::Precompiler> precompiler_;
    std::string working_folder_;
    std::filesystem::path linker_;
    std::unique_ptr<LinkCalls> links_;
};

}  // namespace

void serve(int socket, const char* jail) {
    Server server(socket);
    // Before any other thread: rights are given up for a thread and those that it starts.
    if (jail != nullptr) server.enter(jail);
    // A thread makes system calls at its start that a locked jail doesn't have.
    std::latch started(1);
    std::thread([&started, socket] {
        started.count_down();
        watch_host(socket);
    }).detach();
    started.wait();
    for (;;) {
        Receiver receiver;
        if (!completes(receiver, socket)) return;
        Sender sender(format_answer(server.answer(receiver.message())));
        if (!completes(sender, socket)) return;
        if (jail != nullptr)
            break;  // A compiler that has seen untrusted source serves no other host.
    }
    // The host ends it when it has measured it.
    watch_host(socket);
}

}  // namespace LODE_NAMESPACE::worker
