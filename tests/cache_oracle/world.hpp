// A world of source trees that changes at random.
#pragma once

#include "tests/cache_oracle/dice.hpp"

#include <lode/jit/options.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace lode::oracle {

/// The compiler that the texts in a world are written for.
enum class Dialect : std::uint8_t {
    fake,  ///< FakeNvrtc: lines of text.
    cuda,  ///< NVRTC: kernels whose constants come from headers.
    head   ///< NVRTC: the same, with all includes before the first declaration.
};

/// Source trees below one folder, with shadowed headers, links and odd files. Not thread-safe.
class World {
public:
    /// Creates the first trees. `root` exists and is empty. With a clock, texts may ask for the
    /// time.
    World(std::filesystem::path root, Dialect dialect, bool has_clock, Dice& dice);

    /// Makes one random change and describes it, with paths relative to the root.
    std::string change(Dice& dice);
    /// Changes the constant after the head of a source file in Dialect::head.
    void change_tail(const std::filesystem::path& source, Dice& dice);
    /// A source text in Dialect::head with another constant.
    [[nodiscard]] static std::string with_tail(const std::string& text, Dice& dice);

    /// A random text for a header; source_text() gives one for a source.
    [[nodiscard]] std::string header_text(Dice& dice) const;
    [[nodiscard]] std::string source_text(Dice& dice) const;
    /// Adds definitions from which texts may build the time.
    static void define_time(std::vector<Definition>& definitions, Dice& dice);
    /// A random name under which a header may be included.
    [[nodiscard]] std::string include_name(Dice& dice) const;

    [[nodiscard]] const std::filesystem::path& root() const noexcept { return root_; }
    [[nodiscard]] std::filesystem::path toolkit() const { return root_ / "toolkit"; }
    /// Names of the trees relative to the root, such as "t0".
    [[nodiscard]] const std::vector<std::string>& trees() const noexcept { return trees_; }
    /// Folders that a request may search, relative to the tree; "" is the tree itself.
    [[nodiscard]] static const std::vector<std::string>& folder_names();

private:
    using Path = std::filesystem::path;

    [[nodiscard]] static const std::vector<std::string>& header_names();
    void fill_tree(const std::string& name, Dice& dice);
    [[nodiscard]] std::string content(
        Dice& dice, const std::function<std::string(const std::string&)>& statement) const;
    [[nodiscard]] std::string head_source(Dice& dice) const;
    [[nodiscard]] static std::string time_text(
        Dice& dice, const std::function<std::string(const std::string&)>& statement);
    void write(const Path& path, const std::string& text, bool in_place);
    [[nodiscard]] std::vector<Path> files(bool with_links) const;
    [[nodiscard]] std::vector<Path> folders() const;
    [[nodiscard]] std::string short_name(const Path& path) const;

    std::string edit_digit(Dice& dice);
    std::string rewrite(Dice& dice);
    std::string touch(Dice& dice);
    std::string renew_tree(Dice& dice);
    std::string revert(Dice& dice);
    std::string create(Dice& dice);
    std::string remove(Dice& dice);
    std::string move_file(Dice& dice);
    std::string move_folder(Dice& dice);
    std::string exchange(Dice& dice);
    std::string repoint(Dice& dice);
    std::string link_file(Dice& dice);
    std::string unlink_file(Dice& dice);
    std::string copy_tree(Dice& dice);
    std::string put_odd_file(Dice& dice);

    std::filesystem::path root_;
    Dialect dialect_;
    bool has_clock_;
    std::vector<std::string> trees_;
    int next_tree_ = 0;
    std::map<std::string, std::vector<std::string>> history_;  ///< Earlier texts by path.
};

}  // namespace lode::oracle
