// `lode init`: a project that builds, as a start for a program that uses lode.
#include "base/file.hpp"
#include "base/message_text.hpp"
#include "base/os/process.hpp"
#include "base/try.hpp"
#include "tools/lode/commands.hpp"
#include "tools/lode/init_files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lode::tool {
namespace {

namespace fs = std::filesystem;

/// A file to write, its name relative to the project's folder.
struct ProjectFile {
    std::string name;
    std::string_view text;
};

std::vector<ProjectFile> project_files(bool c) {
    std::vector<ProjectFile> files;
    for (const InitFile& file : init_files()) {
        const auto slash = file.name.find('/');
        const auto kind = file.name.substr(0, slash);
        if (kind == "every" || kind == (c ? "c" : "cpp"))
            files.push_back({std::string(file.name.substr(slash + 1)), file.text});
    }
    return files;
}

/// Whether something is there, even a link that leads nowhere.
bool is_there(const fs::path& path) {
    std::error_code unknown;
    return fs::exists(fs::symlink_status(path, unknown));
}

/// An error unless all files can be made in `folder` without touching what is there.
Status check_folder(const fs::path& folder, const std::vector<ProjectFile>& files) {
    if (folder.empty())
        return fail(Errc::invalid_argument, "DIR is empty; name a folder, such as my-app.");
    std::vector<std::string> there;
    for (const auto& file : files) {
        std::error_code unknown;
        fs::path part = (folder / file.name).parent_path();
        for (; part.has_relative_path(); part = part.parent_path()) {
            if (is_there(part) && !fs::is_directory(part, unknown)) {
                return fail(Errc::invalid_argument,
                            fmt::format("'{}' isn't a folder. Choose another DIR.", part.string()));
            }
        }
        if (is_there(folder / file.name)) there.push_back(file.name);
    }
    if (there.empty()) return {};
    return fail(Errc::invalid_argument,
                fmt::format("'{}' already has {}, and lode init overwrites no file. Choose another "
                            "DIR.",
                            folder.string(), fmt::join(there, ", ")));
}

/// Creates the file and its folder; a file that has appeared meanwhile is an error.
Status create(const fs::path& path, std::string_view text) {
    std::error_code problem;
    fs::create_directories(path.parent_path(), problem);
    if (problem) return fail_from_errno("Creating the folder", path.parent_path(), problem.value());
    std::FILE* const file = std::fopen(path.c_str(), "wxe");
    if (file == nullptr) return fail_from_errno("Creating the file", path, errno);
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (std::fclose(file) == 0 && written) return {};
    auto failure = fail_from_errno("Writing the file", path, errno);
    std::remove(path.c_str());
    return failure;
}

/// "'my app'" for a shell, or the text itself if it needs no quotes.
std::string shell_word(const std::string& text) {
    constexpr std::string_view plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./,:@%";
    if (text.find_first_not_of(plain) == std::string::npos) return text;
    std::string word = "'";
    for (const char character : text)
        word += character == '\'' ? std::string("'\\''") : std::string(1, character);
    return word + "'";
}

/// Where `cmake` must look for this command's lode, if it doesn't anyway.
struct Package {
    bool is_installed = false;
    std::string option;  ///< " -DCMAKE_PREFIX_PATH=…" or empty.
};

Package find_package() {
    const fs::path prefix = os::executable_path().parent_path().parent_path();
    std::error_code unknown;
    if (!fs::exists(prefix / LODE_PACKAGE_FILE, unknown)) return {};
    constexpr std::array<std::string_view, 2> searched{"/usr", "/usr/local"};
    if (std::ranges::find(searched, prefix.native()) != searched.end()) return {true, {}};
    return {true, " -DCMAKE_PREFIX_PATH=" + shell_word(prefix.string())};
}

Result<Answer> init(const fs::path& folder, const std::vector<ProjectFile>& files) {
    std::vector<std::string> names;
    for (const auto& file : files) {
        if (auto made = create(folder / file.name, file.text); !made) {
            for (const auto& name : names)  // The next attempt finds no half of a project.
                std::remove((folder / name).c_str());
            return tl::unexpected(std::move(made).error());
        }
        names.push_back(file.name);
    }
    const Package package = find_package();
    std::vector<std::string> next;
    if (folder != "." && folder != "./") {
        const std::string dots = folder.native().starts_with('-') ? "./" : "";
        next.push_back("cd " + shell_word(dots + folder.string()));
    }
    next.push_back("cmake -B build" + package.option);
    next.emplace_back("cmake --build build");
    next.emplace_back("build/app");

    Answer answer;
    answer.text = fmt::format("{} has {}. Next:\n\n    {}\n", folder.string(),
                              fmt::join(names, ", "), fmt::join(next, "\n    "));
    if (!package.is_installed) {
        answer.text +=
            "\nlode's library isn't installed beside this command. Install it, and set\n"
            "CMAKE_PREFIX_PATH to its folder.\n";
    }
    answer.fields = {{"folder", folder.string()}, {"files", names}, {"next", next}};
    return answer;
}

}  // namespace

Command declare_init(CLI::App& app) {
    struct InitCommand {
        std::string folder;
        bool c = false;
    };
    auto* command = app.add_subcommand("init", "Write a project with a kernel, ready to build");
    const auto values = std::make_shared<InitCommand>();
    command
        ->add_option("DIR", values->folder, "The folder, which may exist; no file is overwritten")
        ->required()
        ->type_name("");
    command->add_flag("--c", values->c, "A C program in place of C++");
    command->footer("lode init my-app");
    return {command, [values]() -> Result<Work> {
                auto files = project_files(values->c);
                const fs::path folder = values->folder;
                LODE_TRY(check_folder(folder, files));
                return [folder, files = std::move(files)] { return init(folder, files); };
            }};
}

}  // namespace lode::tool
