// A host with packs that its build has made: every request is a hit, and compiling is forbidden.
#include <lode/lode.hpp>

#include <cstdio>
#include <filesystem>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <lode_embedded/embedded.hpp>

int main() {
    lode::CacheOptions cache;
    cache.policy = lode::JitPolicy::forbid;
    std::istringstream packs(PACKS);
    for (std::string pack; std::getline(packs, pack, ':');)
        cache.packs.emplace_back(pack);
    const lode::CachedCompiler compiler({}, cache);

    const std::filesystem::path folder = KERNELS;
    lode::CompileOptions options;
    options.definitions = {{"COUNT", "4"}, {"TEXT", "\"a b\\\\c\""}};
    lode::CompileOptions of_embedded = options;
    const auto& header = lode_embedded::embedded()[1];
    of_embedded.headers = {{std::string(header.name), std::string(header.content)}};
    options.include_folders = {folder};
    const std::vector<std::string> both = {"total", "scale<float>"};
    const std::tuple<lode::Source, lode::CompileOptions, std::vector<std::string>> sources[] = {
        {lode::Source::file(folder / "total.cu"), options, both},
        {lode::Source::file(folder / "scale.cu"), options, {"scale<float>", "halve<int>"}},
        {lode_embedded::embedded()[0].source(), of_embedded, both}};
    for (const auto& [source, used, kernels] : sources) {
        for (const char* arch : {"sm_80", "sm_90a"}) {
            for (const auto& kernel : kernels) {
                const auto names = lode::name_expressions_for(kernel);
                const auto image = compiler.compile(source, *lode::Arch::parse(arch), used, names);
                if (!image) {
                    std::printf("%s\n", image.error().describe().c_str());
                    return 1;
                }
                if (image->report.tier != "pack" && image->report.tier != "memory") return 2;
            }
        }
    }
    std::printf("target: sm_80\n");
    return 0;
}
