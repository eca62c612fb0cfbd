#include "tests/cache_oracle/world.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lode::oracle {
namespace {

namespace fs = std::filesystem;

constexpr const char* source_places[] = {"src/k.cu", "src/sub/k.cu", "inc/k.cu", "m.cu"};
constexpr std::size_t most_trees = 4;

std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

bool is_source(const fs::path& path) {
    return path.extension() == ".cu";
}

}  // namespace

World::World(fs::path root, Dialect dialect, bool has_clock, Dice& dice)
    : root_(std::move(root)), dialect_(dialect), has_clock_(has_clock) {
    fs::create_directory(toolkit());
    for (const char* name : {"h3.h", "tool.h"})
        write(toolkit() / name, header_text(dice), false);
    for (int i = 0; i < 2; ++i) {
        trees_.push_back(fmt::format("t{}", next_tree_++));
        fill_tree(trees_.back(), dice);
    }
}

void World::fill_tree(const std::string& name, Dice& dice) {
    const Path tree = root_ / name;
    for (const char* folder : {"src/sub", "inc/nested", "inc2", "v1", "v2"})
        fs::create_directories(tree / folder);
    fs::create_directory_symlink("v1", tree / "cur");
    fs::create_directory_symlink("inc2", tree / "lnk");
    for (const char* place : source_places)
        write(tree / place, source_text(dice), false);
    for (const char* folder : {"src", "src/sub", "inc", "inc/nested", "inc2", "v1", "v2", ""}) {
        for (const char* header : {"h0.h", "h1.h", "h2.h"}) {
            if (dice.percent(40)) write(tree / folder / header, header_text(dice), false);
        }
    }
    write(tree / "inc/h0.h", header_text(dice), false);
    write(tree / "v1/h1.h", header_text(dice), false);
    write(tree / "v2/h1.h", read(tree / "v1/h1.h"), false);
}

void World::change_tail(const Path& source, Dice& dice) {
    write(source, with_tail(read(source), dice), dice.percent(50));
}

void World::write(const Path& path, const std::string& text, bool in_place) {
    std::error_code ignored;
    const auto kind = fs::status(path, ignored).type();
    if (kind != fs::file_type::regular && kind != fs::file_type::not_found) return;
    auto& texts = history_[path.string()];
    if (kind == fs::file_type::regular && texts.size() < 8) texts.push_back(read(path));
    if (in_place || kind == fs::file_type::not_found) {
        std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
        return;
    }
    const Path beside = path.string() + ".new";
    std::ofstream(beside, std::ios::binary) << text;
    fs::rename(beside, path, ignored);
}

std::vector<fs::path> World::files(bool with_links) const {
    std::vector<Path> all;
    std::error_code problem;
    for (fs::recursive_directory_iterator item(root_, problem), end; !problem && item != end;
         item.increment(problem)) {
        std::error_code ignored;
        if (item->is_symlink(ignored) && !with_links) continue;
        if (item->is_regular_file(ignored)) all.push_back(item->path());
    }
    std::ranges::sort(all);
    return all;
}

std::vector<fs::path> World::folders() const {
    std::vector<Path> all;
    for (const auto& tree : trees_) {
        std::error_code problem;
        all.push_back(root_ / tree);
        for (fs::recursive_directory_iterator item(root_ / tree, problem), end;
             !problem && item != end; item.increment(problem)) {
            std::error_code ignored;
            if (!item->is_symlink(ignored) && item->is_directory(ignored)) {
                all.push_back(item->path());
            }
        }
    }
    std::ranges::sort(all);
    return all;
}

std::string World::short_name(const Path& path) const {
    return path.lexically_relative(root_).string();
}

std::string World::change(Dice& dice) {
    using Change = std::string (World::*)(Dice&);
    struct Choice {
        Change change;
        std::size_t weight;
    };
    static constexpr std::array<Choice, 15> choices = {{
        {&World::edit_digit, 22},
        {&World::rewrite, 10},
        {&World::touch, 8},
        {&World::revert, 12},
        {&World::create, 10},
        {&World::remove, 6},
        {&World::move_file, 5},
        {&World::move_folder, 4},
        {&World::exchange, 6},
        {&World::repoint, 8},
        {&World::link_file, 6},
        {&World::unlink_file, 5},
        {&World::copy_tree, 3},
        {&World::put_odd_file, 2},
        {&World::renew_tree, 7},
    }};
    std::size_t total = 0;
    for (const auto& choice : choices)
        total += choice.weight;
    std::size_t at = dice.below(total);
    for (const auto& choice : choices) {
        if (at < choice.weight) return (this->*choice.change)(dice);
        at -= choice.weight;
    }
    return {};
}

/// Changes a digit, so that the size stays the same; often keeps the modification time.
std::string World::edit_digit(Dice& dice) {
    const auto all = files(false);
    if (all.empty()) return "nothing";
    const Path path = dice.pick(all);
    std::string text = read(path);
    std::vector<std::size_t> digits;
    for (std::size_t i = 1; i + 1 < text.size(); ++i) {
        if (text[i - 1] == ' ' && text[i] >= '0' && text[i] <= '9') digits.push_back(i);
    }
    const bool in_place = dice.percent(60);
    const bool sets_time = dice.percent(30);
    const char digit = static_cast<char>('0' + dice.below(10));
    if (digits.empty()) return "nothing";
    struct stat status {};
    (void)::stat(path.c_str(), &status);
    text[dice.pick(digits)] = digit;
    write(path, text, in_place);
    if (sets_time) {
        const timespec times[] = {status.st_atim, status.st_mtim};
        (void)::utimensat(AT_FDCWD, path.c_str(), times, 0);
    }
    return fmt::format("edits {} to {}{}{}", short_name(path), digit, in_place ? " in place" : "",
                       sets_time ? ", same time" : "");
}

std::string World::rewrite(Dice& dice) {
    const auto all = files(false);
    if (all.empty()) return "nothing";
    const Path path = dice.pick(all);
    write(path, is_source(path) ? source_text(dice) : header_text(dice), dice.percent(50));
    return "rewrites " + short_name(path);
}

std::string World::touch(Dice& dice) {
    const auto all = files(false);
    if (all.empty()) return "nothing";
    const Path path = dice.pick(all);
    constexpr timespec past{1'000'000'000, 5};
    const bool is_old = dice.percent(50);
    const timespec times[] = {past, past};
    (void)::utimensat(AT_FDCWD, path.c_str(), is_old ? times : nullptr, 0);
    return fmt::format("touches {}{}", short_name(path), is_old ? " into the past" : "");
}

/// Replaces a whole tree by a new one, as a checkout does. Without this, fewer and fewer sources
/// compile.
std::string World::renew_tree(Dice& dice) {
    const std::string tree = dice.pick(trees_);
    std::error_code problem;
    fs::remove_all(root_ / tree, problem);
    if (problem) return "nothing";
    fill_tree(tree, dice);
    return "renews " + tree;
}

std::string World::revert(Dice& dice) {
    std::vector<std::string> known;
    for (const auto& [path, texts] : history_) {
        if (!texts.empty()) known.push_back(path);
    }
    if (known.empty()) return "nothing";
    const std::string path = dice.pick(known);
    const std::string text = dice.pick(history_[path]);
    write(path, text, dice.percent(50));
    return "reverts " + short_name(path);
}

std::string World::create(Dice& dice) {
    const auto all = folders();
    const Path path = Path(dice.pick(all)) / dice.pick(header_names());
    const std::string text = header_text(dice);
    std::error_code problem;
    if (fs::exists(fs::symlink_status(path, problem))) return "nothing";
    write(path, text, true);
    return "creates " + short_name(path);
}

std::string World::remove(Dice& dice) {
    const auto all = files(true);
    if (all.empty()) return "nothing";
    const Path path = dice.pick(all);
    if (is_source(path) && dice.percent(80)) return "nothing";
    std::error_code ignored;
    fs::remove(path, ignored);
    return "removes " + short_name(path);
}

std::string World::move_file(Dice& dice) {
    const auto all = files(true);
    const auto places = folders();
    if (all.empty()) return "nothing";
    const Path from = dice.pick(all);
    const Path to =
        Path(dice.pick(places)) / (is_source(from) ? "k.cu" : dice.pick(header_names()));
    std::error_code problem;
    fs::rename(from, to, problem);
    return problem ? "nothing" : "moves " + short_name(from) + " to " + short_name(to);
}

std::string World::move_folder(Dice& dice) {
    const std::string tree = dice.pick(trees_);
    const Path folder = root_ / tree / dice.pick(folder_names());
    const Path away = root_ / tree / "away";
    const bool whole = dice.percent(15);
    std::error_code problem;
    if (fs::exists(fs::symlink_status(away, problem))) {
        fs::rename(away, folder, problem);
        if (problem) fs::rename(away, root_ / tree / "inc", problem);
        return problem ? "nothing" : fmt::format("moves {}/away back", tree);
    }
    if (whole) {
        // Moves the tree away and back: the same files with new change times.
        fs::rename(root_ / tree, root_ / "elsewhere", problem);
        fs::rename(root_ / "elsewhere", root_ / tree, problem);
        return fmt::format("moves {} away and back", tree);
    }
    fs::rename(folder, away, problem);
    return problem ? "nothing" : "moves " + short_name(folder) + " away";
}

std::string World::exchange(Dice& dice) {
    const std::string tree = dice.pick(trees_);
    const std::string other = dice.percent(40) ? dice.pick(trees_) : tree;
    Path a = root_ / tree / dice.pick(folder_names());
    Path b = root_ / other / dice.pick(folder_names());
    if (dice.percent(30)) {
        const auto all = files(true);
        if (all.empty()) return "nothing";
        a = dice.pick(all);
        b = dice.pick(all);
    }
    constexpr unsigned exchange_both = 2;  // RENAME_EXCHANGE
    if (::syscall(SYS_renameat2, AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), exchange_both) != 0) {
        return "nothing";
    }
    return "exchanges " + short_name(a) + " and " + short_name(b);
}

std::string World::repoint(Dice& dice) {
    static constexpr const char* targets[] = {"v1",  "v2",     "inc",  "inc2", "lnk",
                                              "cur", "absent", "./v1", "src",  "inc/nested"};
    const Path link = root_ / dice.pick(trees_) / (dice.percent(60) ? "cur" : "lnk");
    const char* const target = dice.pick(targets);
    std::error_code problem;
    const auto kind = fs::symlink_status(link, problem).type();
    if (kind != fs::file_type::symlink && kind != fs::file_type::not_found) return "nothing";
    const Path beside = link.string() + ".new";
    fs::create_directory_symlink(target, beside, problem);
    fs::rename(beside, link, problem);
    return fmt::format("points {} to {}", short_name(link), target);
}

/// Turns a file into a hard link to another one.
std::string World::link_file(Dice& dice) {
    const auto all = files(false);
    if (all.empty()) return "nothing";
    const Path target = dice.pick(all);
    const Path link = dice.percent(60) ? Path(dice.pick(all))
                                       : Path(dice.pick(folders())) / dice.pick(header_names());
    const bool hard = dice.percent(40);
    if (target == link || (is_source(link) && !is_source(target))) return "nothing";
    const Path beside = link.string() + ".new";
    std::error_code problem;
    if (hard) {
        fs::create_hard_link(target, beside, problem);
    } else {
        fs::create_symlink(
            dice.percent(50) ? target : target.lexically_relative(link.parent_path()), beside,
            problem);
    }
    fs::rename(beside, link, problem);
    if (problem) fs::remove(beside, problem);
    return fmt::format("makes {} a {} of {}", short_name(link), hard ? "hard link" : "link",
                       short_name(target));
}

/// Turns a link to a file into a file with the same content.
std::string World::unlink_file(Dice& dice) {
    std::vector<Path> links;
    for (const auto& path : files(true)) {
        std::error_code problem;
        if (fs::is_symlink(path, problem) || fs::hard_link_count(path, problem) > 1)
            links.push_back(path);
    }
    if (links.empty()) return "nothing";
    const Path path = dice.pick(links);
    const std::string text = read(path);
    const Path beside = path.string() + ".new";
    std::ofstream(beside, std::ios::binary) << text;
    std::error_code problem;
    fs::rename(beside, path, problem);
    return "makes " + short_name(path) + " a file of its own";
}

std::string World::copy_tree(Dice& dice) {
    const std::string from = dice.pick(trees_);
    std::error_code problem;
    if (trees_.size() >= most_trees) {
        const std::string old = trees_.front();
        trees_.erase(trees_.begin());
        fs::remove_all(root_ / old, problem);
        return "removes tree " + old;
    }
    const std::string to = fmt::format("t{}", next_tree_++);
    if (dice.percent(50)) {
        trees_.push_back(to);
        fill_tree(to, dice);
        return "makes tree " + to;
    }
    fs::copy(root_ / from, root_ / to,
             fs::copy_options::recursive | fs::copy_options::copy_symlinks, problem);
    if (!fs::is_directory(root_ / to, problem)) return "nothing";
    trees_.push_back(to);
    return fmt::format("copies {} to {}", from, to);
}

std::string World::put_odd_file(Dice& dice) {
    const Path path = Path(dice.pick(folders())) / dice.pick(header_names());
    const bool fifo = dice.percent(40);
    std::error_code problem;
    const auto kind = fs::symlink_status(path, problem).type();
    if (kind == fs::file_type::fifo || kind == fs::file_type::directory) {
        fs::remove_all(path, problem);
        return "removes odd " + short_name(path);
    }
    fs::remove(path, problem);
    if (fifo) {
        (void)::mkfifo(path.c_str(), 0600);
    } else {
        fs::create_directory(path, problem);
    }
    return fmt::format("makes {} a {}", short_name(path), fifo ? "FIFO" : "folder");
}

}  // namespace lode::oracle
