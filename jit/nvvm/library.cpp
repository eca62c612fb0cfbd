#include "jit/nvvm/library.hpp"

#include "base/file.hpp"
#include "base/os/thread.hpp"
#include "base/try.hpp"
#include "jit/nvrtc/file_hooks.hpp"
#include "jit/nvrtc/library.hpp"

#include <algorithm>
#include <iterator>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::nvvm {
namespace {

constexpr const char* empty_module =
    "target triple = \"nvptx64-nvidia-cuda\"\n"
    "target datalayout = \"e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-"
    "f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64\"\n"
    "!nvvmir.version = !{!0}\n!0 = !{i32 2, i32 0}\n";

/// Destroys the native program on every exit path.
class ProgramScope {
public:
    ProgramScope(const Table& table, Program program) noexcept : table_(table), program_(program) {}
    ~ProgramScope() { table_.destroy(&program_); }
    ProgramScope(const ProgramScope&) = delete;
    ProgramScope& operator=(const ProgramScope&) = delete;

private:
    const Table& table_;
    Program program_;
};

/// Two calls of libNVVM: one for the size, with a NUL at the end, one for the bytes.
std::string fetch(Program program, int (*size_of)(Program, std::size_t*),
                  int (*get)(Program, char*)) {
    std::size_t size = 0;
    if (size_of(program, &size) != success || size == 0) return {};
    std::string text(size, '\0');
    return get(program, text.data()) == success ? text : std::string();
}

}  // namespace

std::string NvvmLibrary::load(const SharedLibrary& library) {
    SymbolBinder symbols(library);
    symbols.required(table_.error_text, "nvvmGetErrorString");
    symbols.required(table_.create, "nvvmCreateProgram");
    symbols.required(table_.destroy, "nvvmDestroyProgram");
    symbols.required(table_.add_module, "nvvmAddModuleToProgram");
    symbols.required(table_.add_module_lazily, "nvvmLazyAddModuleToProgram");
    symbols.required(table_.compile, "nvvmCompileProgram");
    symbols.required(table_.verify, "nvvmVerifyProgram");
    symbols.required(table_.result_size, "nvvmGetCompiledResultSize");
    symbols.required(table_.result, "nvvmGetCompiledResult");
    symbols.required(table_.log_size, "nvvmGetProgramLogSize");
    symbols.required(table_.log, "nvvmGetProgramLog");
    if (!symbols.missing().empty()) return symbols.missing();
    note_opened(library, reinterpret_cast<void*>(table_.compile), libdevice_places(library.path()));
    return {};
}

Result<std::shared_ptr<const NvvmLibrary>> NvvmLibrary::open(const NvrtcSearchEnvironment& here) {
    std::shared_ptr<NvvmLibrary> opened;
    LODE_TRY_ASSIGN(auto attempts, open_usable(name, nvvm_places(here), nvvm_cure(here),
                                               [&](const SharedLibrary& library) {
                                                   opened.reset(new NvvmLibrary);
                                                   return opened->load(library);
                                               }));
    opened->note_search(std::move(attempts));
    return opened;
}

Native NvvmLibrary::native_of(int result) const {
    return {Native::Origin::nvvm, result, table_.error_text(result)};
}

Result<IrOutcome> NvvmLibrary::compile(const std::string& code, const std::string& module,
                                       std::span<const std::string> flags) const {
    const bool uses_libdevice = code.find("__nv_") != std::string::npos;
    if (uses_libdevice && libdevice().empty()) {
        return fail_without_libdevice(
            module, "isn't beside libNVVM. Install both from one toolkit or wheel",
            libdevice_places(path()));
    }
    std::vector<const char*> pointers;
    std::ranges::transform(flags, std::back_inserter(pointers), &std::string::c_str);
    const os::LocaleScope guard;
    Program program = nullptr;
    IrOutcome made;
    int result = table_.create(&program);
    const auto note = [&] {
        made.has_failed = result != success;
        made.is_unknown_target = result == invalid_option;  // The other flags are known.
        if (made.has_failed) made.native = native_of(result);
        return made;
    };
    if (result != success) return note();
    const ProgramScope scope(table_, program);
    result = table_.add_module(program, code.data(), code.size(), module.c_str());
    if (result == success && uses_libdevice) {
        result =
            table_.add_module_lazily(program, libdevice().data(), libdevice().size(), "libdevice");
    }
    if (result == success)
        result = table_.compile(program, static_cast<int>(pointers.size()), pointers.data());
    made.log = fetch(program, table_.log_size, table_.log);
    std::erase(made.log, '\0');
    if (result != success) return note();
    made.code = fetch(program, table_.result_size, table_.result);
    // PTX ends with a NUL, LTO-IR doesn't.
    if (std::ranges::find(flags, "-gen-lto") == flags.end() && made.code.ends_with('\0'))
        made.code.pop_back();
    return made;
}

Result<std::string> NvvmLibrary::build() const {
    const std::lock_guard guard(mutex_);
    if (!build_.empty()) return build_;
    FileAccesses unwanted;
    const FileAccessScope scope(unwanted);
    LODE_TRY_ASSIGN(const IrOutcome made, compile(empty_module, "empty", {}));
    if (made.has_failed) {
        return fail(
            Errc::compiler_failed,
            fmt::format("Compiling an empty module with libNVVM fails: {}.", made.native.name),
            made.native, made.log);
    }
    build_ = build_in_ptx(made.code);
    if (build_.empty()) {
        return fail(Errc::compiler_failed, "The PTX of libNVVM doesn't name the compiler's build.");
    }
    return build_;
}

Result<CompilerProperties> NvvmLibrary::properties() const {
    LODE_TRY_ASSIGN(const std::string version, build());
    const std::lock_guard guard(mutex_);
    if (properties_) return *properties_;
    CompilerProperties made = describe(version);
    FileAccesses unwanted;
    const FileAccessScope scope(unwanted);
    const std::string module = empty_module;
    for (const auto cc : known_capabilities) {
        Program program = nullptr;
        if (table_.create(&program) != success) continue;
        const ProgramScope destroyed(table_, program);
        const std::string flag = "-arch=" + Arch(cc).as_virtual().to_string();
        const char* const flags[] = {flag.c_str()};
        if (table_.add_module(program, module.data(), module.size(), "empty") == success &&
            table_.verify(program, 1, flags) == success)
            made.info.supported.push_back(cc);
    }
    std::ranges::sort(made.info.supported);
    properties_ = std::move(made);
    return *properties_;
}

}  // namespace LODE_NAMESPACE::nvvm
