// A host with packs that its build has made: every request is a hit, and compiling is forbidden.
#include <lode/lode.hpp>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

int main() {
    lode::CacheOptions cache;
    cache.policy = lode::JitPolicy::forbid;
    const std::string packs = PACKS;
    const auto middle = packs.find(':');
    cache.packs = {packs.substr(0, middle), packs.substr(middle + 1)};
    const lode::CachedCompiler compiler({}, cache);

    const std::filesystem::path folder = KERNELS;
    lode::CompileOptions options;
    options.definitions = {{"COUNT", "4"}, {"TEXT", "\"a b\\\\c\""}};
    options.include_folders = {folder};
    for (const char* source : {"total.cu", "scale.cu"}) {
        for (const char* arch : {"sm_80", "sm_90a"}) {
            for (const char* kernel : {"total", "scale<float>"}) {
                const auto names = lode::name_expressions_for(kernel);
                const auto image = compiler.compile(lode::Source::file(folder / source),
                                                    *lode::Arch::parse(arch), options, names);
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
