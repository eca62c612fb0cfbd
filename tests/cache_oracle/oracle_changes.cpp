// What changes between an oracle's requests.
#include "tests/cache_oracle/oracle.hpp"

#include <atomic>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lode::oracle {
namespace {

namespace fs = std::filesystem;

/// What time() says.
constinit std::atomic<std::time_t> clock_now = 1'000'000'000;

}  // namespace

void Oracle::change_world(Dice& dice) {
    if (!plan_.nvrtc && dice.percent(2)) return change_compiler(dice);
    note(world_.change(dice));
}

void Oracle::change_compiler(Dice& dice) {
    CompilerVersions versions = compiler_versions_;
    versions[dice.below(versions.size())] = dice.below(3);
    put_compiler(versions);
}

/// Replaces the compiler's files, as a package manager does.
void Oracle::put_compiler(const CompilerVersions& versions) {
    fs::create_directories(plan_.compiler_folder());
    for (std::size_t i = 0; i < versions.size(); ++i) {
        const fs::path file = plan_.compiler_folder() / FakeNvrtc::file_names[i];
        const fs::path beside = file.string() + ".new";
        std::ofstream(beside, std::ios::binary)
            << fmt::format("file {} version {}\n", i, versions[i]);
        fs::rename(beside, file);
    }
    compiler_versions_ = versions;
    note(fmt::format("installs the compiler of versions {}", fmt::join(versions, " and ")));
}

void Oracle::pass_time(Dice& dice) {
    const auto seconds =
        1 + static_cast<std::time_t>(dice.below(dice.percent(50) ? 10 : 1'000'000));
    clock_now += seconds;
    note(fmt::format("{} seconds pass", seconds));
}

void Oracle::change_environment(Dice& dice) {
    static constexpr const char* values[] = {"1", "2", "3"};
    if (dice.percent(20)) {
        ::unsetenv(value_variable);
        note("unsets ORACLE_VALUE");
        return;
    }
    const char* const value = dice.pick(values);
    ::setenv(value_variable, value, 1);
    note(fmt::format("sets ORACLE_VALUE={}", value));
}

void Oracle::change_project(Project& project, Dice& dice) {
    auto& options = project.options;
    auto& folders = project.folders;
    switch (dice.below(14)) {
        case 0:
            project.tree = dice.below(8);
            break;
        case 1: {
            static constexpr const char* places[] = {"src/k.cu", "src/sub/k.cu", "inc/k.cu",
                                                     "m.cu"};
            project.place = dice.pick(places);
            break;
        }
        case 2:
            project.in_memory = !project.in_memory;
            project.text = world_.source_text(dice);
            break;
        case 3:
            project.relative = !project.relative;
            break;
        case 4: {
            static constexpr const char* places[] = {"", "t0", "t1", "t2", "t0/src", "t1/inc"};
            project.working = dice.pick(places);
            break;
        }
        case 5:
        case 6:
            if (folders.size() < 4) {
                folders.insert(
                    folders.begin() + static_cast<std::ptrdiff_t>(dice.below(folders.size() + 1)),
                    dice.pick(World::folder_names()));
            }
            break;
        case 7:
            if (folders.size() > 1) {
                folders.erase(folders.begin() +
                              static_cast<std::ptrdiff_t>(dice.below(folders.size())));
            }
            break;
        case 8:
            if (folders.size() > 1) std::swap(folders.front(), folders.back());
            break;
        case 9:
            options.definitions.clear();
            if (plan_.has_clock()) world_.define_time(options.definitions, dice);
            if (dice.percent(50)) {
                options.definitions.push_back({"VALUE", std::to_string(dice.below(10))});
            }
            if (dice.percent(50)) {
                options.definitions.push_back({"NAMED", world_.include_name(dice)});
            }
            break;
        case 10:
            options.pre_includes.clear();
            if (dice.percent(50) && !plan_.nvrtc) {
                const auto name = world_.include_name(dice);
                options.pre_includes.push_back(name.substr(1, name.size() - 2));
            }
            break;
        case 11:
            options.headers.clear();
            if (dice.percent(60)) {
                const auto name = world_.include_name(dice);
                options.headers.push_back(
                    {name.substr(1, name.size() - 2), world_.header_text(dice)});
            }
            break;
        case 12:
            options.line_info = !options.line_info && dice.percent(30);
            break;
        default:
            options.toolkit_headers = !options.toolkit_headers;
            break;
    }
}

void Oracle::change_tail(Project& project, Dice& dice) {
    if (project.in_memory) {
        project.text = World::with_tail(project.text, dice);
        return;
    }
    const auto& trees = world_.trees();
    world_.change_tail(world_.root() / trees[project.tree % trees.size()] / project.place, dice);
}

}  // namespace lode::oracle

// Replaces the C library's time() in this program.
std::time_t time(std::time_t* timer) noexcept {
    const std::time_t now = lode::oracle::clock_now;
    if (timer != nullptr) *timer = now;
    return now;
}
