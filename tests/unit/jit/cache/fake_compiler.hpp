// A fast compiler for tests of the cache: it counts its compilations, and its code shows what it
// read.
#pragma once

#include "base/file.hpp"
#include "base/try.hpp"
#include "jit/cache/backend.hpp"
#include "jit/cache/state.hpp"
#include "tests/unit/jit/cache/scratch.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {

/// Understands `#include "x"` and `#include <x>` at the start of a line. Its machine code is the
/// target, the flags and the text with every header expanded in place. A text that contains "error"
/// fails to compile.
class FakeCompiler final : public CompilerBackend {
public:
    std::string build = "13.0.88";
    bool is_watched = true;  ///< Whether its file system queries are recorded.
    std::atomic<std::chrono::milliseconds> takes{std::chrono::milliseconds(0)};
    std::function<void()> on_compile;
    std::atomic<int> compilations{0};
    std::atomic<int> openings{0};  ///< Calls that would open the real compiler.

    Digest fingerprint() override { return sha256("fake compiler"); }
    bool covers(const std::filesystem::path&) override { return true; }
    std::vector<std::filesystem::path> include_folders(const std::filesystem::path&) override {
        return {};
    }
    Result<CompilerProperties> properties() override {
        ++openings;
        CompilerProperties properties;
        CompilerInfo& info = properties.info;
        info.version_major = 13;
        info.build = build;
        info.path = "/opt/libnvrtc.so.13";
        info.supported = {{8, 0}, {9, 0}};
        info.search_attempts = {"found"};
        return properties;
    }
    Result<Image> compile(const CompileRequest& request, const CompileContext& context) override {
        ++openings;
        ++compilations;
        if (on_compile) on_compile();
        const auto end = std::chrono::steady_clock::now() + takes.load();
        while (std::chrono::steady_clock::now() < end) {
            if (context.control->is_stopped()) return fail_cancelled(request.source.name());
            std::this_thread::sleep_for(std::min(takes.load(), std::chrono::milliseconds(1)));
        }
        LODE_TRY_ASSIGN(const std::string text, request.source.read());
        context.files->is_watched = is_watched;
        FileAccesses unseen;
        FileAccesses& files = is_watched ? context.files->compiler : unseen;
        (void)files.ask(program_name(request.source), false);
        if (text.find("error") != std::string::npos) {
            return fail(Errc::compile_failed, "It doesn't compile.", {}, "the log");
        }
        std::string code = request.arch.to_string() + "\n";
        CompileOptions placeless = request.options;
        placeless.include_folders.clear();
        const auto flags = compile_flags(placeless);
        REQUIRE(flags);
        for (const auto& flag : *flags)
            code += flag + "\n";
        auto expanded = expand(text, request.source.folder(), request.options, files);
        if (!expanded) return tl::unexpected<Error>(std::move(expanded).error());
        code += *expanded;
        note_texts(*context.files, request, {});

        Image image;
        image.name = request.source.name();
        image.arch = request.arch;
        const auto bytes = as_bytes(code);
        if (request.options.lto) {
            image.lto_ir.assign(bytes.begin(), bytes.end());
        } else if (request.options.optix_ir) {
            image.optix_ir.assign(bytes.begin(), bytes.end());
        } else {
            image.cubin.assign(bytes.begin(), bytes.end());
            image.ptx = "// " + code;
        }
        image.compiler = "NVRTC " + build;
        image.log = request.source.name() + "(1): warning: fake\n";
        for (const auto& name : request.name_expressions)
            image.lowered_names[name] = "_Z" + name;
        return image;
    }

private:
    static Result<std::string> expand(const std::string& text, const std::filesystem::path& folder,
                                      const CompileOptions& options, FileAccesses& files) {
        std::string out;
        for (std::size_t at = 0; at < text.size();) {
            const auto end = std::min(text.find('\n', at), text.size());
            const std::string line = text.substr(at, end - at);
            at = end + 1;
            constexpr std::string_view question = "#if __has_include(\"";
            if (line.starts_with(question)) {
                const auto asked =
                    folder / line.substr(question.size(), line.rfind('"') - question.size());
                const bool found = files.ask(asked.native(), false).kind == FileAnswer::Kind::file;
                out += fmt::format("{} is {}there\n", line, found ? "" : "not ");
                continue;
            }
            if (!line.starts_with("#include ")) {
                out += line + "\n";
                continue;
            }
            const std::string name = line.substr(10, line.size() - 11);
            std::vector<std::filesystem::path> places;
            if (line[9] == '"' && !folder.empty()) places.push_back(folder);
            places.insert(places.end(), options.include_folders.begin(),
                          options.include_folders.end());
            bool found = false;
            for (const auto& header : options.headers) {
                if (header.name != name) continue;
                out += header.text;
                found = true;
            }
            for (std::size_t i = 0; i < places.size() && !found; ++i) {
                const auto path = places[i] / name;
                FileAnswer& answer = files.ask(path.native(), true);
                if (!answer.content) continue;
                answer.consumed = true;
                auto inner = expand(answer.content->text, path.parent_path(), options, files);
                if (!inner) return inner;
                out += *inner;
                found = true;
            }
            if (!found) return fail(Errc::compile_failed, "There is no header " + name, {}, line);
        }
        return out;
    }
};

/// One process of a test: a fake compiler with a cache in the given folder.
class FakeProcess {
public:
    explicit FakeProcess(CacheOptions options, std::string build = "13.0.88",
                         const os::FileOperations& operations = os::FileOperations::system()) {
        auto backend = std::make_unique<FakeCompiler>();
        backend->build = std::move(build);
        fake = backend.get();
        state = std::make_shared<CachedCompiler::State>(std::move(backend), std::move(options),
                                                        operations);
        cached = std::make_unique<CachedCompiler>(state);
    }
    explicit FakeProcess(const std::filesystem::path& folder)
        : FakeProcess([&] {
              CacheOptions options;
              options.folder = folder;
              return options;
          }()) {}

    CachedImage compile(const Source& source, const CompileOptions& options = {},
                        const char* arch = "sm_90a", std::vector<std::string> names = {}) const {
        auto result = cached->compile(source, *Arch::parse(arch), options, names);
        REQUIRE_MESSAGE(result, (result ? "" : result.error().describe()));
        return *std::move(result);
    }
    /// Returns "memory", "disk", "pack", or "" after a compilation.
    std::string tier(const Source& source, const CompileOptions& options = {},
                     const char* arch = "sm_90a", std::vector<std::string> names = {}) const {
        return compile(source, options, arch, std::move(names)).report.tier;
    }

    FakeCompiler* fake = nullptr;
    std::shared_ptr<CachedCompiler::State> state;
    std::unique_ptr<CachedCompiler> cached;
};

/// Waits until the stamps of the files written so far can be trusted.
inline void settle() {
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
}

}  // namespace LODE_NAMESPACE::cache
