// Tile kernels: their Tile IR in images, workers and the cache.
//
// tests/nvrtc_versions/run runs these cases with an NVRTC that has them too.
#include "base/tile_ir.hpp"
#include "jit/worker/message.hpp"
#include "tests/support/result.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/jit/support.hpp"

#include <lode/jit/cache.hpp>
#include <lode/jit/compiler.hpp>
#include <lode/jit/linker.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace lode;
using namespace lode::test;

namespace {

const Source& both_kinds() {
    static const Source source = Source::text(
        "extern \"C\" __tile_global__ void tiles(float* x) {}\n"
        "template <class T> __tile_global__ void any(T* x) {}\n"
        "extern \"C\" __global__ void threads(float* x) { *x = 1; }\n",
        "tile.cu");
    return source;
}

CompileOptions options_for(Tile tile) {
    CompileOptions options;
    options.tile = tile;
    return options;
}

/// Whether NVRTC has tile kernels; if not, says so.
bool has_tiles() {
    const auto info = require(Compiler().info());
    const bool has =
        info.version_major > 13 || (info.version_major == 13 && info.version_minor >= 3);
    if (!has)
        MESSAGE("NVRTC " << info.build << " has no tile kernels; 13.3 is the first with them.");
    return has;
}

CachedCompiler tile_compiler_in(const std::filesystem::path& folder, WorkerPolicy policy) {
    CacheOptions cache;
    cache.folder = folder;
    cache.workers.policy = policy;
    cache.workers.max_processes = 1;
    cache.workers.program = LODE_WORKER_PROGRAM;
    return CachedCompiler({}, cache);
}

}  // namespace

TEST_CASE("tile: an NVRTC without tile kernels is named, and the version that has them") {
    const auto info = require(Compiler().info());
    if (info.version_major > 13 || (info.version_major == 13 && info.version_minor >= 3)) return;
    for (const Tile tile : {Tile::enabled, Tile::only}) {
        const auto error =
            require_error(Compiler().compile(both_kinds(), sm(90), options_for(tile)));
        CHECK(error.code == Errc::compiler_too_old);
        CHECK_CONTAINS(error.message,
                       "CompileOptions::tile needs NVRTC 13.3 or newer; this one is ");
    }
}

TEST_CASE("tile: Tile IR comes beside machine code, or alone") {
    if (!has_tiles()) return;
    const std::vector<std::string> names{"any<int>"};
    const auto both =
        require(Compiler().compile(both_kinds(), sm(90), options_for(Tile::enabled), names));
    CHECK(tile_ir_version(both.tile_ir).value_or(0) >= 13030);
    CHECK_FALSE(both.cubin.empty());
    CHECK_CONTAINS(both.ptx, ".entry threads");
    CHECK_FALSE(both.ptx.find("tiles") != std::string::npos);
    REQUIRE(both.kernels.size() == 1);
    CHECK(both.lowered_names.at("any<int>") == "_Z3anyIiEvPT_");

    const auto alone =
        require(Compiler().compile(both_kinds(), sm(90), options_for(Tile::only), names));
    CHECK(tile_ir_version(alone.tile_ir) == tile_ir_version(both.tile_ir));
    CHECK(alone.cubin.empty());
    CHECK(alone.ptx.empty());
    CHECK(alone.resources.empty());
    CHECK(alone.lowered_names == both.lowered_names);
    CHECK(alone.compiler == both.compiler);
    CHECK_FALSE(require(Compiler().compile(both_kinds(), Arch(sm(90)).as_virtual(),
                                           options_for(Tile::only)))
                    .tile_ir.empty());

    const auto none = require_error(Compiler().compile(both_kinds(), sm(90)));
    CHECK(none.code == Errc::compile_failed);
    CHECK_CONTAINS(none.message, "Tile kernels are compiled with CompileOptions::tile.");

    const auto error = require_error(LinkInput::from_bytes(alone.tile_ir, "k.tileir"));
    CHECK_CONTAINS(error.message, "'k.tileir' is Tile IR, which can't be linked");
}

TEST_CASE("tile: Tile IR is the same from a worker, and is kept in memory and on disk") {
    if (!has_tiles()) return;
    for (const Tile tile : {Tile::enabled, Tile::only}) {
        const auto folder = make_scratch();
        const auto options = options_for(tile);
        const auto compile = [&](const CachedCompiler& compiler) {
            return require(compiler.compile(both_kinds(), sm(90), options));
        };
        const auto direct = require(Compiler().compile(both_kinds(), sm(90), options));
        const auto here = tile_compiler_in(folder.path() / "a", WorkerPolicy::never);
        const auto there = tile_compiler_in(folder.path() / "b", WorkerPolicy::always);
        CHECK(*compile(here).image == direct);
        const auto made = compile(there);
        CHECK(made.report.not_kept.empty());
        CHECK(*made.image == direct);
        CHECK(compile(there).report.tier == "memory");
        const auto kept = compile(tile_compiler_in(folder.path() / "b", WorkerPolicy::never));
        CHECK(kept.report.tier == "disk");
        CHECK(*kept.image == direct);
    }
}

TEST_CASE("tile: an answer of a worker holds Tile IR") {
    Image image;
    image.name = "tile.cu";
    image.arch = sm(90);
    for (const char c : std::string("\x7fTileIR\0\r\3\0\0", 12))
        image.tile_ir.push_back(static_cast<std::byte>(c));
    const auto answer = require(worker::parse_answer(worker::format_answer({image, {}})));
    CHECK(require(answer.image) == image);
}
