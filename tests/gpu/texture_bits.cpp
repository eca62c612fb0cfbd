// Random textures on any driver, bit by bit.
//
//   lode_texture_bits write FILE [CASES]     runs cases on the device and keeps what it reads
//   lode_texture_bits compare FILE [CASE]    runs them again and counts what differs; prints one
//   lode_texture_bits verdicts FILE          prints a line for each case: number, digest, verdict
//   lode_texture_bits check VERDICTS         runs the cases of such a file, and fails where the
//                                            verdict is another one
//
// A case is a random image, sampler and function, read at random places; its number is the seed.
// texture_bits.txt beside this file has the digests of an H200 (driver 580) and the verdicts of the
// software device.
#include "tests/gpu/texture_cases.hpp"

#include <lode/base/digest.hpp>
#include <lode/base/unwrap.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace lode::test {
namespace {

float as_float(std::uint32_t bits) {
    float value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

std::string digest_of(const Texels& texels) {
    constexpr std::size_t digits = 12;
    const auto bytes = std::as_bytes(std::span(texels));
    return sha256(bytes).to_hex().substr(0, digits);
}

Texels read_file(const char* path) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    Texels all(bytes.size() / sizeof(Texels::value_type));
    std::memcpy(all.data(), bytes.data(), all.size() * sizeof(all[0]));
    return all;
}

Texels texels_of(const Texels& all, std::uint64_t number) {
    const auto begin =
        all.begin() + static_cast<std::ptrdiff_t>(number * TextureCase::places_count);
    return {begin, begin + TextureCase::places_count};
}

void print_case(const TextureCase& one, const Texels& expected, const Texels& got) {
    fmt::print("{}\n", one.to_string());
    int printed = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        if (got[i] == expected[i] || printed++ == 12) continue;
        const auto& at = one.places[i];
        fmt::print("  at {:.9g} {:.9g} {:.9g}, layer {}, level {:.9g}, slopes {:.4g} {:.4g}:\n",
                   at.x, at.y, at.z, at.layer, at.level, at.dx[0], at.dy[0]);
        for (std::size_t k = 0; k < 4; ++k) {
            fmt::print("    {:08x} {:.9g}, expected {:08x} {:.9g}\n", got[i][k],
                       as_float(got[i][k]), expected[i][k], as_float(expected[i][k]));
        }
    }
}

int write(const char* path, std::uint64_t count) {
    const auto runtime = unwrap(Runtime::open());
    TextureReader reader(unwrap(runtime.device()));
    std::ofstream file(path, std::ios::binary);
    for (std::uint64_t number = 0; number < count; ++number) {
        const Texels texels = reader.read(TextureCase(number));
        file.write(reinterpret_cast<const char*>(texels.data()),
                   static_cast<std::streamsize>(texels.size() * sizeof(texels[0])));
    }
    return file ? 0 : 1;
}

int compare(const char* path, const char* only) {
    const Texels all = read_file(path);
    const auto runtime = unwrap(Runtime::open());
    TextureReader reader(unwrap(runtime.device()));
    struct Count {
        std::size_t cases = 0;
        std::size_t wrong_cases = 0;
        std::size_t texels = 0;
        std::size_t wrong = 0;
        std::uint64_t first = 0;
    };
    std::map<std::string, Count> counts;
    bool is_same = true;
    for (std::uint64_t number = 0; (number + 1) * TextureCase::places_count <= all.size();
         ++number) {
        if (only != nullptr && std::strtoull(only, nullptr, 10) != number) continue;
        const TextureCase one(number);
        const Texels got = reader.read(one);
        const Texels expected = texels_of(all, number);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < got.size(); ++i)
            wrong += got[i] != expected[i] ? 1 : 0;
        Count& count = counts[one.category()];
        ++count.cases;
        count.texels += got.size();
        count.wrong += wrong;
        if (wrong > 0 && count.wrong_cases++ == 0) count.first = number;
        is_same = is_same && wrong == 0;
        if (only != nullptr && wrong > 0) print_case(one, expected, got);
    }
    for (const auto& [name, count] : counts) {
        fmt::print("{:60} {:5} of {:5} cases, {:7} of {:8} texels differ", name, count.wrong_cases,
                   count.cases, count.wrong, count.texels);
        if (count.wrong_cases > 0) fmt::print(", first case {}", count.first);
        fmt::print("\n");
    }
    return is_same ? 0 : 1;
}

const char* verdict(bool is_same) {
    return is_same ? "same" : "differs";
}

int verdicts(const char* path) {
    const Texels all = read_file(path);
    const auto runtime = unwrap(Runtime::open());
    TextureReader reader(unwrap(runtime.device()));
    for (std::uint64_t number = 0; (number + 1) * TextureCase::places_count <= all.size();
         ++number) {
        const Texels expected = texels_of(all, number);
        fmt::print("{} {} {}\n", number, digest_of(expected),
                   verdict(reader.read(TextureCase(number)) == expected));
    }
    return 0;
}

int check(const char* path) {
    std::ifstream file(path);
    const auto runtime = unwrap(Runtime::open());
    TextureReader reader(unwrap(runtime.device()));
    std::uint64_t number = 0;
    std::string digest;
    std::string expected;
    std::size_t cases = 0;
    std::size_t same = 0;
    std::size_t changed = 0;
    while (file >> number >> digest >> expected) {
        const TextureCase one(number);
        const bool is_same = digest_of(reader.read(one)) == digest;
        ++cases;
        same += is_same ? 1 : 0;
        if (verdict(is_same) == expected) continue;
        ++changed;
        fmt::print("{}, but was recorded as {}: {}\n", verdict(is_same), expected, one.to_string());
    }
    fmt::print("{} of {} cases have the same bits, {} verdicts changed\n", same, cases, changed);
    return cases > 0 && changed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace lode::test

int main(int count, char** values) {
    const std::string command = count > 2 ? values[1] : "";
    try {
        if (command == "write")
            return lode::test::write(values[2],
                                     count > 3 ? std::strtoull(values[3], nullptr, 10) : 1000);
        if (command == "compare")
            return lode::test::compare(values[2], count > 3 ? values[3] : nullptr);
        if (command == "verdicts") return lode::test::verdicts(values[2]);
        if (command == "check") return lode::test::check(values[2]);
    } catch (const std::exception& failure) {
        fmt::print(stderr, "{}\n", failure.what());
        return 2;
    }
    std::fputs("usage: lode_texture_bits write|compare|verdicts|check FILE [CASES|CASE]\n", stderr);
    return 2;
}
