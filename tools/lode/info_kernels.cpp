// `lode info --kernels`: what each kernel of a file costs, and the occupancy of its blocks.
#include "tools/lode/info_kernels.hpp"

#include "base/cxx_names.hpp"
#include "base/try.hpp"
#include "tools/lode/commands.hpp"
#include "tools/lode/input.hpp"
#include "tools/lode/layout.hpp"
#include "tools/lode/output.hpp"
#include "tools/lode/target.hpp"

#include <lode/base/occupancy.hpp>
#include <lode/jit/cache.hpp>

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lode::tool {
namespace {

constexpr int smallest_block = 32;
constexpr int largest_block = 1024;
constexpr double full_percent = 100;

/// "registers", or "warps, blocks".
std::string factors_text(const OccupancyEstimate& estimate) {
    std::string text;
    for (const auto factor : estimate.limited_by())
        text += fmt::format("{}{}", text.empty() ? "" : ", ", to_string(factor));
    return text;
}

/// One kernel's part of the answer.
struct KernelOccupancy {
    std::string text;
    Json json;
};

Result<KernelOccupancy> occupancy_of(const KernelResources& kernel,
                                     const MultiprocessorLimits& limits) {
    const auto name = lode::demangled(kernel.kernel).value_or(kernel.kernel);
    Table table({{"block", Align::right},
                 {"blocks per multiprocessor", Align::right},
                 {"occupancy", Align::right},
                 {"limited by"}});
    Json rows = Json::array();
    for (int threads = smallest_block; threads <= largest_block; threads *= 2) {
        LODE_TRY_ASSIGN(const auto estimate,
                        estimate_occupancy(limits, BlockNeeds::of(kernel, threads)));
        const auto factors = factors_text(estimate);
        table.row({std::to_string(threads), std::to_string(estimate.blocks),
                   fmt::format("{:.0f} %", estimate.fraction * full_percent), factors});
        Json limited_by = Json::array();
        for (const auto factor : estimate.limited_by())
            limited_by.push_back(to_string(factor));
        rows.push_back({{"threads", threads},
                        {"blocks", estimate.blocks},
                        {"occupancy", estimate.fraction},
                        {"limited_by", std::move(limited_by)}});
    }
    LODE_TRY_ASSIGN(const int best, best_block_size(limits, BlockNeeds::of(kernel, 0)));
    const std::string text = fmt::format(
        "{}\n  registers {}, shared {}, stack {}, spill stores {}, spill loads {}, barriers {}\n"
        "  blocks of {} threads have the most warps\n{}",
        name, kernel.registers, bytes_text(kernel.shared_bytes), bytes_text(kernel.stack_bytes),
        bytes_text(kernel.spill_store_bytes), bytes_text(kernel.spill_load_bytes), kernel.barriers,
        best, table.to_string());
    return KernelOccupancy{text,
                           {{"symbol", kernel.kernel},
                            {"name", name},
                            {"registers", kernel.registers},
                            {"shared_bytes", kernel.shared_bytes},
                            {"stack_bytes", kernel.stack_bytes},
                            {"spill_store_bytes", kernel.spill_store_bytes},
                            {"spill_load_bytes", kernel.spill_load_bytes},
                            {"barriers", kernel.barriers},
                            {"best_block_size", best},
                            {"block_sizes", std::move(rows)}}};
}

}  // namespace

Result<KernelsRequest> read_kernels_request(const std::string& file,
                                            const std::vector<std::string>& arch_names,
                                            const CompileFlags& flags) {
    LODE_TRY(check_options(file, flags));
    LODE_TRY_ASSIGN(auto options, to_compile_options(flags));
    LODE_TRY_ASSIGN(auto list, read_arch_list(arch_names, language_of(file, flags.llvm_ir)));
    if (list.all) {
        return fail(Errc::invalid_argument,
                    "--arch is 'all' but must be a list such as sm_80,sm_90a here.");
    }
    for (const Arch arch : list.archs) {
        if (arch.is_real()) continue;
        return fail(Errc::invalid_argument,
                    fmt::format("--arch is '{}' but must be machine code such as {}: PTX has no "
                                "registers yet.",
                                arch.to_string(), arch.as_real().to_string()));
    }
    return KernelsRequest{file, flags.llvm_ir, std::move(list.archs), std::move(options)};
}

Result<Answer> info_kernels(const KernelsRequest& request) {
    LODE_TRY_ASSIGN(const auto cache, options_to_compile({}));
    const CachedCompiler compiler({}, cache);
    auto archs = request.archs;
    if (archs.empty()) {
        LODE_TRY_ASSIGN(const auto visible,
                        read_target({}, language_of(request.file, request.is_llvm_ir)));
        LODE_TRY_ASSIGN(const auto target, choose_for(visible));
        archs.push_back(target.arch.as_real());
    }
    LODE_TRY_ASSIGN(const Source source, source_of(request.file, request.is_llvm_ir));
    Answer answer;
    Json images = Json::array();
    for (const Arch arch : archs) {
        LODE_TRY_ASSIGN(const auto limits, multiprocessor_limits(arch.cc()));
        LODE_TRY_ASSIGN(const auto cached, compiler.compile(source, arch, request.options, {}));
        answer.text += fmt::format("{}{}, {}\n", answer.text.empty() ? "" : "\n", source.name(),
                                   arch.to_string());
        Json kernels = Json::array();
        for (const auto& resources : cached.image->resources) {
            LODE_TRY_ASSIGN(auto kernel, occupancy_of(resources, limits));
            answer.text += "\n" + kernel.text;
            kernels.push_back(std::move(kernel.json));
        }
        if (kernels.empty()) answer.text += "  no kernels\n";
        images.push_back({{"arch", arch.to_string()}, {"kernels", std::move(kernels)}});
    }
    answer.fields = {{"source", request.file}, {"images", std::move(images)}};
    return answer;
}

}  // namespace lode::tool
