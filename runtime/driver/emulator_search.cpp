#include "runtime/driver/emulator_search.hpp"

#include "runtime/driver/driver_state.hpp"

#include <lode/base/environment.hpp>

#include <deque>
#include <filesystem>
#include <mutex>

namespace LODE_NAMESPACE::detail {
namespace {

namespace fs = std::filesystem;

constexpr const char* library_name = "liblode_emulator.so";

void log_line(void* user, int level, const char* line) {
    const auto state = static_cast<std::weak_ptr<DriverState>*>(user)->lock();
    if (state == nullptr) return;
    constexpr LogLevel levels[] = {LogLevel::error, LogLevel::warning, LogLevel::info};
    const bool known = level >= 0 && level < 3;
    state->log.write(known ? levels[level] : LogLevel::info, line);
}

}  // namespace

std::vector<LibraryPlace> emulator_places() {
    if (const auto text = environment("LODE_EMULATOR")) {
        const fs::path path = *text;
        std::error_code problem;
        return {{"LODE_EMULATOR", fs::is_directory(path, problem) ? path / library_name : path}};
    }
    std::vector<LibraryPlace> places;
    const fs::path program = executable_folder();
    if (!program.empty()) {
        places.push_back({"beside the program", program / library_name});
        places.push_back({"lode's folder", program / LODE_EMULATOR_FOLDER / library_name});
    }
    const fs::path library = folder_of_this_code();
    if (!library.empty() && library != program) {
        places.push_back({"beside lode's library", library / library_name});
        places.push_back({"lode's folder", library / "lode" / library_name});
    }
    const fs::path package = package_programs_folder();
    if (!package.empty()) {
        places.push_back(
            {"lode's package", (package / LODE_EMULATOR_FOLDER / library_name).lexically_normal()});
    }
    places.push_back({"the loader's path", library_name});
    if (const fs::path tree = build_tree(); !tree.empty())
        places.push_back({"the build tree", tree / "emulator" / library_name});
    return places;
}

void show_all_of_emulator(const SharedLibrary& library) noexcept {
    const auto show = reinterpret_cast<void (*)()>(library.symbol("lode_emulator_show_all"));
    if (show != nullptr) show();
}

SetEmulatorLines* emulator_lines_of(const SharedLibrary& library) noexcept {
    return reinterpret_cast<SetEmulatorLines*>(library.symbol("lode_emulator_set_lines"));
}

SetEmulatorPrint* emulator_print_of(const SharedLibrary& library) noexcept {
    return reinterpret_cast<SetEmulatorPrint*>(library.symbol("lode_emulator_set_print"));
}

TakeEmulatorReport* emulator_report_of(const SharedLibrary& library) noexcept {
    return reinterpret_cast<TakeEmulatorReport*>(library.symbol("lode_emulator_take_report"));
}

std::string emulator_report(TakeEmulatorReport* take) {
    constexpr std::size_t most = std::size_t{32} * 1024;
    if (take == nullptr) return {};
    std::string text(most, '\0');
    const std::size_t length = take(text.data(), text.size());
    text.resize(length < most ? length : most - 1);
    return text;
}

void forward_emulator_log(const SharedLibrary& library, const std::shared_ptr<DriverState>& state) {
    using Hook = void(void* user, int level, const char* line);
    const auto set_log =
        reinterpret_cast<void (*)(Hook*, void*)>(library.symbol("lode_emulator_set_log"));
    if (set_log == nullptr) return;
    // The emulator may log until the process ends, so `listeners` is never destroyed.
    static std::mutex mutex;
    static auto& listeners = *new std::deque<std::weak_ptr<DriverState>>;
    const std::lock_guard lock(mutex);
    set_log(log_line, &listeners.emplace_back(state));
}

}  // namespace LODE_NAMESPACE::detail
