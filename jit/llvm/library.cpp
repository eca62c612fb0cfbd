#include "jit/llvm/library.hpp"

#include "base/file.hpp"
#include "base/os/thread.hpp"
#include "base/try.hpp"
#include "jit/llvm/compilation.hpp"
#include "jit/nvrtc/file_hooks.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::llvm {
namespace {

/// Every target since sm_32 has an instruction for it. For a processor that it doesn't know, LLVM
/// writes code of its oldest one, and the name that it was given.
constexpr const char* rotation =
    "declare i32 @llvm.fshl.i32(i32, i32, i32)\n"
    "define i32 @f(i32 %x, i32 %n) {\n"
    "  %y = call i32 @llvm.fshl.i32(i32 %x, i32 %x, i32 %n)\n"
    "  ret i32 %y\n"
    "}\n";

/// "19.1.7", or "14" and "15" of those that don't tell their version: only the newer of these has
/// the switch between the two kinds of pointers.
std::string version_of(const Table& table, const SharedLibrary& library) {
    if (table.version == nullptr)
        return library.symbol("LLVMContextSetOpaquePointers") != nullptr ? "15" : "14";
    unsigned major = 0;
    unsigned minor = 0;
    unsigned patch = 0;
    table.version(&major, &minor, &patch);
    return fmt::format("{}.{}.{}", major, minor, patch);
}

bool take_value(std::string_view flag, std::string_view name, std::string& value) {
    if (!flag.starts_with(name)) return false;
    value = flag.substr(name.size());
    return true;
}

/// Reads flags; those that LLVM has to parse itself are added to `others`.
Settings settings_of(std::span<const std::string> flags, std::vector<const char*>& others) {
    Settings settings;
    for (const auto& flag : flags) {
        if (take_value(flag, "-mcpu=", settings.processor)) continue;
        if (take_value(flag, "-mattr=", settings.features)) continue;
        if (flag == "-g")
            settings.keeps_debug = true;
        else if (flag.starts_with("-O"))
            settings.level = flag.back() - '0';
        else if (flag == "-denormal-fp-math-f32=preserve-sign")
            settings.flushes_denormals = true;
        else
            others.push_back(flag.c_str());
    }
    return settings;
}

}  // namespace

std::string LlvmLibrary::load(const SharedLibrary& library) {
    if (auto missing = table_.load(library); !missing.empty()) return missing;
    table_.add_target_info();
    table_.add_target();
    table_.add_target_code();
    table_.add_target_printer();
    char* message = nullptr;
    if (table_.find_target("nvptx64-nvidia-cuda", &target_, &message) != 0) {
        table_.dispose_message(message);
        return "the target NVPTX";
    }
    catch_fatal_errors(table_);
    build_ = version_of(table_, library);
    note_opened(library, reinterpret_cast<void*>(table_.emit), libdevice_places_);
    return {};
}

Result<std::shared_ptr<const LlvmLibrary>> LlvmLibrary::open(const NvrtcSearchEnvironment& here) {
    std::shared_ptr<LlvmLibrary> opened;
    LODE_TRY_ASSIGN(
        auto attempts,
        open_usable(name, llvm_places(here), llvm_cure(here), [&](const SharedLibrary& library) {
            opened.reset(new LlvmLibrary);
            opened->libdevice_places_ = toolkit_libdevice_places(here);
            return opened->load(library);
        }));
    opened->note_search(std::move(attempts));
    return opened;
}

bool LlvmLibrary::knows(const Arch& arch) const {
    const std::string processor = arch.as_real().to_string();
    const std::lock_guard guard(mutex_);
    const auto [at, is_new] = known_.try_emplace(processor, false);
    if (!is_new) return at->second;
    const Settings settings{.processor = processor, .level = 0};
    Compilation probe(table_, target_, settings);
    at->second =
        probe.read(rotation, "probe") && probe.emit().find("shf.l.wrap") != std::string::npos;
    return at->second;
}

Result<CompilerProperties> LlvmLibrary::properties() const {
    CompilerProperties made = describe(build_);
    std::ranges::copy_if(known_capabilities, std::back_inserter(made.info.supported),
                         [&](ComputeCapability cc) { return knows(Arch(cc)); });
    std::ranges::sort(made.info.supported);
    return made;
}

Result<IrOutcome> LlvmLibrary::compile(const std::string& code, const std::string& module,
                                       std::span<const std::string> flags) const {
    std::vector<const char*> others = {"lode"};
    const Settings settings = settings_of(flags, others);
    const os::LocaleScope guard;
    IrOutcome made;
    const auto arch = Arch::parse(settings.processor);
    if (!arch || !knows(*arch)) {
        made.has_failed = made.is_unknown_target = true;
        made.log = fmt::format("error: {} {} doesn't know {}\n", name, build_, settings.processor);
        return made;
    }
    if (others.size() > 1)
        table_.parse_options(static_cast<int>(others.size()), others.data(), nullptr);
    bool lacks_libdevice = false;
    std::string last_words;
    const bool is_back = survives(
        [&] {
            Compilation work(table_, target_, settings);
            bool is_fine = work.read(code, module);
            if (is_fine && work.needs_libdevice()) {
                lacks_libdevice = libdevice().empty();
                is_fine = !lacks_libdevice && work.add_libdevice(libdevice());
            }
            if (is_fine && work.optimise()) made.code = work.emit();
            made.log = work.take_log();
        },
        last_words);
    if (lacks_libdevice) {
        return fail_without_libdevice(
            module, "isn't found. Install a CUDA toolkit or NVIDIA's wheel nvidia-nvvm",
            libdevice_places_);
    }
    if (!is_back) made.log += fmt::format("error: {}\n", last_words);
    made.has_failed = made.code.empty();
    return made;
}

}  // namespace LODE_NAMESPACE::llvm
