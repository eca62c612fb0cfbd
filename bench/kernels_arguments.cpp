#include "kernels_arguments.hpp"

#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace lode::bench {
namespace {

constexpr std::string_view usage =
    R"(Checks and then measures the rows of kernel families, and beside them the same work in
other libraries on the same data.

    lode_bench_kernels [OPTION…] [FAMILY[@SIZES]…]

Without a family it measures all, and a family without sizes at its own.

    SIZES        sizes and ranges with commas between them: 2^16..2^28,1000
    a size       up to three extents, numbers or powers: 1000, 2^20, 4096x4096x4096
    a range      doubles the first extent: 2^10x1024..2^14x1024

    --json FILE  writes the results: machine, driver, clocks, command, and of every row and
                 peer the median, the quartiles and whether its result was right
    --commit ID  the commit to record in FILE
    --rounds N   measured batches of each row and peer, which take turns (21)
    --no-peers   measures lode's rows alone
    --chosen     measures only the row that is chosen for each size, and the peers
    --tune       lets VariantLoader::tune() choose and keep a row for each size, and prints what
                 its choice wins over the first row of the table
    --help       prints this

    lode_bench_kernels scan reduce@2^16..2^28 gemm@4096x4096x4096 --json kernels.json

bench/peers/merge_kernels.py makes one table of several results. The families are:

)";

std::optional<std::uint64_t> number_of(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// "1000" or "2^20"; nullopt for 0 and for what can't be parsed.
std::optional<std::uint64_t> extent_of(std::string_view text) {
    const auto caret = text.find('^');
    const auto base = number_of(text.substr(0, caret));
    if (!base || *base == 0) return std::nullopt;
    if (caret == std::string_view::npos) return base;
    const auto exponent = number_of(text.substr(caret + 1));
    if (!exponent || *exponent > 63) return std::nullopt;
    std::uint64_t power = 1;
    for (std::uint64_t i = 0; i < *exponent; ++i) {
        if (power > UINT64_MAX / *base) return std::nullopt;
        power *= *base;
    }
    return power;
}

/// Takes the text before the separator off `rest`.
std::string_view next_part(std::string_view& rest, char separator) {
    const auto at = rest.find(separator);
    const auto part = rest.substr(0, at);
    rest = at == std::string_view::npos ? std::string_view() : rest.substr(at + 1);
    return part;
}

tl::unexpected<Error> not_sizes(std::string_view text) {
    return fail(
        Errc::invalid_argument,
        fmt::format("'{}' isn't a size such as 2^20 or 4096x4096, or a range of them.", text));
}

}  // namespace

std::string_view kernel_usage() noexcept {
    return usage;
}

std::string text_of(const Problem& problem) {
    return problem.y == 1 && problem.z == 1 ? fmt::format("{}", problem.x)
           : problem.z == 1                 ? fmt::format("{}x{}", problem.x, problem.y)
                            : fmt::format("{}x{}x{}", problem.x, problem.y, problem.z);
}

Result<Problem> parse_problem(std::string_view text) {
    Problem problem;
    std::string_view rest = text;
    if (text.ends_with('x')) return not_sizes(text);
    for (auto* const extent : {&problem.x, &problem.y, &problem.z}) {
        if (extent != &problem.x && rest.empty()) break;
        const auto value = extent_of(next_part(rest, 'x'));
        if (!value) return not_sizes(text);
        *extent = *value;
    }
    if (!rest.empty()) return not_sizes(text);
    return problem;
}

Result<std::vector<Problem>> parse_problems(std::string_view text) {
    std::vector<Problem> problems;
    std::string_view rest = text;
    do {
        const auto part = next_part(rest, ',');
        const auto dots = part.find("..");
        auto first = parse_problem(part.substr(0, dots));
        if (!first) return tl::unexpected(std::move(first).error());
        if (dots == std::string_view::npos) {
            problems.push_back(*first);
            continue;
        }
        const auto last = parse_problem(part.substr(dots + 2));
        if (!last) return tl::unexpected(last.error());
        if (last->y != first->y || last->z != first->z || last->x < first->x)
            return not_sizes(part);
        for (Problem at = *first; at.x <= last->x; at.x *= 2) {
            problems.push_back(at);
            if (at.x > UINT64_MAX / 2) break;
        }
    } while (!rest.empty());
    return problems;
}

Result<KernelArguments> parse_kernel_arguments(std::span<const char* const> arguments) {
    KernelArguments parsed;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string_view argument = arguments[i];
        const bool takes_value =
            argument == "--json" || argument == "--commit" || argument == "--rounds";
        if (takes_value && i + 1 == arguments.size())
            return fail(Errc::invalid_argument, fmt::format("{} needs a value.", argument));
        if (argument == "--help" || argument == "-h") {
            parsed.help = true;
        } else if (argument == "--no-peers") {
            parsed.peers = false;
        } else if (argument == "--chosen") {
            parsed.chosen = true;
        } else if (argument == "--tune") {
            parsed.tune = true;
        } else if (argument == "--json") {
            parsed.json = arguments[++i];
        } else if (argument == "--commit") {
            parsed.commit = arguments[++i];
        } else if (argument == "--rounds") {
            const auto rounds = number_of(arguments[++i]);
            if (!rounds || *rounds == 0)
                return fail(Errc::invalid_argument,
                            fmt::format("--rounds {} isn't a positive number.", arguments[i]));
            parsed.rounds = *rounds;
        } else if (argument.starts_with('-')) {
            return fail(Errc::invalid_argument,
                        fmt::format("There is no option {}; see --help.", argument));
        } else {
            const auto at = argument.find('@');
            FamilyRequest request{std::string(argument.substr(0, at)), {}};
            if (at != std::string_view::npos) {
                auto problems = parse_problems(argument.substr(at + 1));
                if (!problems) return tl::unexpected(std::move(problems).error());
                request.problems = *std::move(problems);
            }
            parsed.families.push_back(std::move(request));
        }
    }
    return parsed;
}

}  // namespace lode::bench
