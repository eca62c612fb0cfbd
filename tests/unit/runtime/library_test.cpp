#include "base/cuda_additions.hpp"
#include "tests/unit/runtime/support.hpp"

using namespace lode;
using namespace lode::test;

TEST_CASE("library: loads an image's machine code, or its PTX if there is nothing else") {
    FakeMachine machine;
    const Device device = machine.device();
    const LoadOptions options{.max_registers = 64,
                              .optimization_level = 2,
                              .line_info = true,
                              .debug = true,
                              .verbose_log = true};
    (void)require(device.load(cubin_image({"k()"}), options));
    CHECK(machine.driver.jit_options().count(CU_JIT_MAX_REGISTERS) == 0);
    (void)require(device.load(ptx_image({"k()"}), options));
    const auto given = machine.driver.jit_options();
    CHECK(given.at(CU_JIT_MAX_REGISTERS) == 64);
    CHECK(given.at(CU_JIT_OPTIMIZATION_LEVEL) == 2);
    CHECK(given.at(CU_JIT_GENERATE_LINE_INFO) == 1);
    CHECK(given.at(CU_JIT_GENERATE_DEBUG_INFO) == 1);
    CHECK(given.at(CU_JIT_LOG_VERBOSE) == 1);
    (void)require(device.load(cubin_image({"k()"}), {.prefer_ptx = true}));
    CHECK(machine.driver.jit_options().count(CU_JIT_LOG_VERBOSE) == 1);
    CHECK(machine.driver.jit_options().count(CU_JIT_MAX_REGISTERS) == 0);
}

TEST_CASE("library: the PTX compiler's limits and modes are passed on, unless they are unset") {
    FakeMachine machine({.version = 13010});
    const Device device = machine.device();
    const auto options_of = [&](const LoadOptions& options) {
        (void)require(device.load(ptx_image({"k()"}), options));
        return machine.driver.jit_options();
    };
    constexpr CUjit_option all[] = {CU_JIT_CACHE_MODE,        CU_JIT_POSITION_INDEPENDENT_CODE,
                                    CU_JIT_THREADS_PER_BLOCK, CU_JIT_MAX_THREADS_PER_BLOCK,
                                    CU_JIT_MIN_CTA_PER_SM,    CU_JIT_OVERRIDE_DIRECTIVE_VALUES,
                                    CU_JIT_SPLIT_COMPILE,     jit_binary_loader_threads};
    const auto unset = options_of({});
    for (const CUjit_option option : all)
        CHECK(unset.count(option) == 0);

    const auto blocks = options_of({.caching = LoadCaching::l2_only,
                                    .position_independent = true,
                                    .max_threads_per_block = 256,
                                    .min_blocks_per_multiprocessor = 4,
                                    .override_directives = true,
                                    .split_compile = 0,
                                    .loader_threads = 0});
    CHECK(blocks.at(CU_JIT_CACHE_MODE) == CU_JIT_CACHE_OPTION_CG);
    CHECK(blocks.at(CU_JIT_POSITION_INDEPENDENT_CODE) == 1);
    CHECK(blocks.at(CU_JIT_MAX_THREADS_PER_BLOCK) == 256);
    CHECK(blocks.at(CU_JIT_MIN_CTA_PER_SM) == 4);
    CHECK(blocks.at(CU_JIT_OVERRIDE_DIRECTIVE_VALUES) == 1);
    CHECK(blocks.at(CU_JIT_SPLIT_COMPILE) == 0);
    CHECK(blocks.at(jit_binary_loader_threads) == 0);
    CHECK(blocks.count(CU_JIT_THREADS_PER_BLOCK) == 0);

    const auto threads = options_of({.caching = LoadCaching::l1,
                                     .min_threads_per_block = 512,
                                     .split_compile = 3,
                                     .loader_threads = 4});
    CHECK(threads.at(CU_JIT_CACHE_MODE) == CU_JIT_CACHE_OPTION_CA);
    CHECK(threads.at(CU_JIT_THREADS_PER_BLOCK) == 512);
    CHECK(threads.at(CU_JIT_SPLIT_COMPILE) == 3);
    CHECK(threads.at(jit_binary_loader_threads) == 4);
}

TEST_CASE("library: an option that the driver lacks is refused with both versions") {
    FakeMachine machine({.version = 12030});
    const Device device = machine.device();
    for (const auto& options :
         {LoadOptions{.max_threads_per_block = 256}, LoadOptions{.override_directives = true},
          LoadOptions{.split_compile = 4}, LoadOptions{.loader_threads = 0}}) {
        const auto error = require_error(device.load(ptx_image({"k()"}), options));
        CHECK(error.code == Errc::driver_too_old);
        CHECK_CONTAINS(error.message, "this one is for 12.3");
    }
    CHECK(machine.driver.calls("cuLibraryLoadData") == 0);
    CHECK(device.load(ptx_image({"k()"}), {.caching = LoadCaching::l1}));
}

TEST_CASE("library: an image is shared, not copied") {
    FakeMachine machine;
    const Device device = machine.device();
    const auto image = std::make_shared<const Image>(cubin_image({"k()"}));
    const auto library = require(device.load(image));
    CHECK(&library.image() == image.get());
    const auto error = require_error(device.load(std::shared_ptr<const Image>()));
    CHECK(error.code == Errc::invalid_argument);
    CHECK_CONTAINS(error.message, "the pointer is null");
}

TEST_CASE("library: options out of range are refused before the driver is asked") {
    FakeMachine machine;
    const Device device = machine.device();
    for (const auto& options :
         {LoadOptions{.max_registers = 256}, LoadOptions{.max_registers = -1},
          LoadOptions{.optimization_level = 5}, LoadOptions{.optimization_level = -2},
          LoadOptions{.min_threads_per_block = 1025}, LoadOptions{.max_threads_per_block = -1},
          LoadOptions{.max_threads_per_block = 64, .min_blocks_per_multiprocessor = 33},
          LoadOptions{.min_blocks_per_multiprocessor = 2},
          LoadOptions{
              .max_registers = 64, .max_threads_per_block = 64, .min_blocks_per_multiprocessor = 2},
          LoadOptions{.split_compile = -1}, LoadOptions{.loader_threads = -1}}) {
        CHECK(require_error(device.load(ptx_image({"k()"}), options)).code ==
              Errc::invalid_argument);
    }
    CHECK(machine.driver.calls("cuLibraryLoadData") == 0);
}

TEST_CASE("library: machine code for another architecture falls back to the PTX") {
    FakeMachine machine;
    const auto library = require(machine.device().load(cubin_image({"k()"}, true, 80)));
    CHECK(machine.driver.jit_options().count(CU_JIT_LOG_VERBOSE) == 1);  // PTX was loaded.
    CHECK(library.kernel("k"));
}

TEST_CASE("library: machine code alone for another architecture is refused with everything named") {
    FakeMachine machine;
    const auto error = require_error(machine.device().load(cubin_image({"k()"}, false, 80)));
    CHECK(error.code == Errc::unsupported_arch);
    CHECK_CONTAINS(error.message, "Image 'fake.cu' has machine code (sm_80, ");
    CHECK_CONTAINS(error.message, "device 0 (Fake H1, compute capability 9.0) can't run");
    CHECK_CONTAINS(error.message, "Compile for sm_90, or keep the PTX in the image.");
}

TEST_CASE("library: PTX for a newer device is refused, machine code beside it or not") {
    FakeMachine machine;
    const Device device = machine.device();
    const auto error = require_error(device.load(ptx_image({"k()"}, "sm_100")));
    CHECK(error.code == Errc::unsupported_arch);
    CHECK_CONTAINS(error.message, "PTX (compute_100, ISA 8.0), which device 0");
    const auto both = require_error(device.load(cubin_image({"k()"}, true, 100)));
    CHECK_CONTAINS(both.message, "machine code (sm_100, ");
    CHECK_CONTAINS(both.message, ") and PTX (compute_100, ISA 8.0), which device 0");
}

TEST_CASE("library: a host that loads code itself gets what load() would take, without a context") {
    FakeMachine machine;
    const Device device = machine.device();
    const Image image = cubin_image({"k()"});
    const auto code = require(device.code_for_driver(image));
    CHECK(code.data() == image.cubin.data());
    CHECK(code.size() == image.cubin.size());
    const Image older = cubin_image({"k()"}, true, 80);
    const auto ptx = require(device.code_for_driver(older));
    CHECK(static_cast<const void*>(ptx.data()) == older.ptx.c_str());
    CHECK(ptx.size() == older.ptx.size() + 1);
    CHECK(require_error(device.code_for_driver(ptx_image({"k()"}, "sm_100"))).code ==
          Errc::unsupported_arch);
    CHECK(machine.driver.calls("cuDevicePrimaryCtxRetain") == 0);
    CHECK(machine.driver.calls("cuLibraryLoadData") == 0);
}

TEST_CASE(
    "library: after the driver refuses machine code, lode loads the PTX and logs the refusal") {
    std::vector<std::string> lines;
    FakeMachine machine({}, {.log = Log([&](LogLevel level, std::string_view line) {
                                 if (level == LogLevel::warning) lines.emplace_back(line);
                             })});
    const Device device = machine.device();
    (void)require(device.memory_info());
    // The check for a reset, push, exchange, load.
    machine.driver.fail_call(4, CUDA_ERROR_NO_BINARY_FOR_GPU);
    const auto library = require(device.load(cubin_image({"k()"})));
    CHECK(machine.driver.failed_call() == "cuLibraryLoadData");
    CHECK(machine.driver.calls("cuLibraryLoadData") == 2);
    CHECK(library.kernel("k"));
    REQUIRE(lines.size() == 1);
    CHECK_CONTAINS(lines[0], "Trying the other form of 'fake.cu'");
}

TEST_CASE("library: a refused image names itself, the device and the driver, with the log") {
    FakeMachine machine;
    const Device device = machine.device();
    machine.driver.jit_log = "ptxas fatal: it doesn't parse";
    machine.driver.fail_always("cuLibraryGetModule", CUDA_ERROR_INVALID_PTX);
    const auto invalid = require_error(device.load(ptx_image({"k()"})));
    CHECK(invalid.code == Errc::link_failed);
    CHECK(invalid.log == "ptxas fatal: it doesn't parse");
    CHECK_CONTAINS(invalid.message, "cuLibraryGetModule fails: the driver can't compile the PTX");
    CHECK_CONTAINS(invalid.message,
                   "while loading 'fake.cu', PTX (compute_90, ISA 8.0), on device 0 (Fake H1, "
                   "compute capability 9.0) with a driver for CUDA 13.0");

    machine.driver.fail_always("cuLibraryGetModule", CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    const auto too_new = require_error(device.load(ptx_image({"k()"})));
    CHECK(too_new.code == Errc::driver_too_old);
    CHECK_CONTAINS(too_new.message, "newer ISA version than the driver knows. Update the driver");

    machine.driver.fail_always("cuLibraryGetModule", CUDA_SUCCESS);
    machine.driver.fail_always("cuLibraryLoadData", CUDA_ERROR_INVALID_IMAGE);
    const auto damaged = require_error(device.load(cubin_image({"k()"})));
    CHECK(damaged.code == Errc::invalid_image);
    CHECK_CONTAINS(damaged.message, "it is damaged");
    CHECK(machine.driver.live_handles() == 1);  // The context: nothing stays loaded.
}

TEST_CASE("library: an empty image is refused") {
    FakeMachine machine;
    Image image;
    image.name = "nothing.cu";
    const auto error = require_error(machine.device().load(image));
    CHECK(error.code == Errc::invalid_image);
    CHECK(error.message == "Image 'nothing.cu' has neither machine code nor PTX.");
}

TEST_CASE("library: Tile IR is for drivers from CUDA 13.1 on that know its version") {
    FakeMachine machine({.version = 13030});
    const Device device = machine.device();
    CHECK(require(device.load(tile_image({"tiles()"}, 13, 3))).kernel("tiles"));
    CHECK(device.load(tile_image({"tiles()"}, 13, 1)));
    const auto loads = machine.driver.calls("cuLibraryLoadData");
    const auto newer = require_error(device.load(tile_image({"tiles()"}, 13, 5)));
    CHECK(newer.code == Errc::driver_too_old);
    CHECK(newer.message ==
          "Image 'tile.cu', Tile IR 13.5, needs a driver for CUDA 13.5; this one is for 13.3.");
    Image damaged = tile_image({"tiles()"}, 13, 3);
    damaged.tile_ir[2] = std::byte{0};
    CHECK(require_error(device.load(damaged)).code == Errc::invalid_image);
    CHECK(machine.driver.calls("cuLibraryLoadData") == loads);

    FakeMachine older({.version = 13000});
    const auto error = require_error(older.device().load(tile_image({"tiles()"}, 13, 0)));
    CHECK(error.code == Errc::driver_too_old);
    CHECK_CONTAINS(error.message, "needs a driver for CUDA 13.1; this one is for 13.0");
}

TEST_CASE("library: Tile IR beside other code isn't loaded") {
    FakeMachine machine({.version = 13030});
    Image image = cubin_image({"threads()"});
    image.tile_ir = tile_image({"tiles()"}, 13, 3).tile_ir;
    const auto library = require(machine.device().load(image));
    CHECK(library.kernel("threads"));
    const auto error = require_error(library.kernel("tiles"));
    CHECK(error.code == Errc::not_found);
    CHECK_CONTAINS(error.message, "compile them with Tile::only");
    CHECK(require_error(require(machine.device().load(cubin_image({"threads()"}))).kernel("tiles"))
              .message.find("tile kernels") == std::string::npos);
}

TEST_CASE("library: the driver's refusal of Tile IR says what was loaded") {
    FakeMachine machine({.version = 13030});
    machine.driver.fail_always("cuLibraryGetModule", CUDA_ERROR_INVALID_IMAGE);
    const auto error = require_error(machine.device().load(tile_image({"tiles()"}, 13, 3)));
    CHECK(error.code == Errc::invalid_image);
    CHECK_CONTAINS(error.message, "Tile IR (13.3, ");
}

TEST_CASE("library: the log of the driver's compiler is kept") {
    FakeMachine machine;
    machine.driver.jit_log = "k spills 8 bytes";
    CHECK(require(machine.device().load(ptx_image({"k()"}))).load_log() == "k spills 8 bytes");
}

TEST_CASE("library: kernels are found by symbol and by name expression") {
    FakeMachine machine;
    Image image = cubin_image({"_Z5scaleIfEvPT_i(.param .u64 x, .param .u32 n)"});
    image.lowered_names["scale<float>"] = "_Z5scaleIfEvPT_i";
    const auto library = require(machine.device().load(image));
    for (const char* name : {"scale<float>", "_Z5scaleIfEvPT_i"}) {
        const auto kernel = require(library.kernel(name));
        CHECK(kernel.name() == name);
        CHECK(kernel.symbol() == "_Z5scaleIfEvPT_i");
    }
    CHECK(require(library.kernel_names()) == std::vector<std::string>{"_Z5scaleIfEvPT_i"});
}

TEST_CASE("library: kernels are found by any spelling of their C++ name") {
    const auto check = [](const Library& library, const char* name, std::string_view symbol) {
        INFO(name);
        const auto kernel = require(library.kernel(name));
        CHECK(kernel.name() == name);
        CHECK(kernel.symbol() == symbol);
    };
    const std::string_view of_template = "_ZN2ns9my_kernelILi3EfEEvPT0_";
    const std::string_view plain = "_ZN2ns5scaleEPfi";
    FakeMachine machine;
    for (const bool with_ptx : {true, false}) {
        const auto library = require(machine.device().load(
            cubin_image({std::string(of_template) + "(.param .u64 x)",
                         std::string(plain) + "(.param .u64 x, .param .u32 n)", "saxpy()"},
                        with_ptx)));
        for (const char* name :
             {"ns::my_kernel<3, float>", "ns::my_kernel<3,float>", "ns::my_kernel< 3, float >",
              "::ns::my_kernel<(int)3, float>", "ns :: my_kernel<3U, float>"})
            check(library, name, of_template);
        for (const char* name : {"ns::scale", "ns::scale(float*, int)", "&ns::scale"})
            check(library, name, plain);
        check(library, "::saxpy", "saxpy");
        for (const char* name : {"my_kernel<3, float>", "ns::my_kernel<4, float>", "ns::my_kernel",
                                 "ns::scale(float*)", ""})
            CHECK(require_error(library.kernel(name)).code == Errc::not_found);
    }
}

TEST_CASE("library: name expressions are found by any spelling, symbols known or not") {
    for (const int version : {13000, 12030}) {  // The older one can't list kernels.
        FakeMachine machine({.version = version});
        Image image = cubin_image({"_Z5blockILi256EEvPf(.param .u64 x)"}, false);
        image.lowered_names["block<1 << 8>"] = "_Z5blockILi256EEvPf";
        image.lowered_names["&block<1 << 8>"] = "_Z5blockILi256EEvPf";
        const auto library = require(machine.device().load(image));
        CHECK(require(library.kernel("block<1<<8>")).symbol() == "_Z5blockILi256EEvPf");
        CHECK(require_error(library.kernel("block<1<<9>")).code == Errc::not_found);
    }
}

TEST_CASE("library: a name of several kernels is refused and lists them, an exact one is found") {
    FakeMachine machine;
    Image image = cubin_image({"_Z1kPf(.param .u64 x)", "_Z1kPi(.param .u64 x)"});
    const auto library = require(machine.device().load(image));
    const auto error = require_error(library.kernel("k"));
    CHECK(error.code == Errc::not_found);
    CHECK_CONTAINS(error.message,
                   "'k' is the name of 2 kernels of image 'fake.cu': k(float*) (_Z1kPf), k(int*) "
                   "(_Z1kPi). Name one with its parameters or by its symbol.");
    CHECK(require(library.kernel("k(int *)")).symbol() == "_Z1kPi");
    image.lowered_names["k"] = "_Z1kPf";  // Names from the compilation come first.
    CHECK(require(require(machine.device().load(image)).kernel("k")).symbol() == "_Z1kPf");
}

TEST_CASE(
    "library: the error for an unknown kernel lists the kernels and suggests the nearest name") {
    FakeMachine machine;
    Image image = cubin_image({"saxpy()", "_Z5scaleIfEvPT_i()"});
    image.lowered_names["scale<float>"] = "_Z5scaleIfEvPT_i";
    const auto library = require(machine.device().load(image));
    const auto typo = require_error(library.kernel("saxpi"));
    CHECK(typo.code == Errc::not_found);
    CHECK_CONTAINS(typo.message,
                   "Image 'fake.cu' has no kernel 'saxpi'. Did you mean 'saxpy'? It has: "
                   "saxpy, void scale<float>(float*, int) (_Z5scaleIfEvPT_i).");
    const auto wrong_type = require_error(library.kernel("scale<floaty>"));
    CHECK_CONTAINS(wrong_type.message,
                   "Did you mean 'scale<float>'? The template arguments differ.");
    const auto mangled = require_error(library.kernel("_Z5saxpyPf"));
    CHECK_CONTAINS(
        mangled.message,
        "It is the symbol of 'saxpy'. Did you mean 'saxpy'? Its symbol differs. It has: saxpy, ");
    const auto far_off = require_error(library.kernel("entirely_else"));
    CHECK_FALSE(contains(far_off.message, "Did you mean"));
}

TEST_CASE("library: of 1,500 kernels the error lists those nearest to the unknown name") {
    FakeMachine machine;
    std::string ptx = ptx_of({});
    for (int i = 0; i < 1500; ++i)
        ptx += ".visible .entry kernel_" + std::to_string(i) + "()\n{\n\tret;\n}\n";
    const Device device = machine.device();
    const auto library = require(device.load(require(Image::from_ptx(ptx, "many.ptx"))));
    for (const auto& error : {require_error(library.kernel("kernel_1234x")),
                              require_error(device.load(Source::ptx(ptx), "kernel_1234x"))}) {
        CHECK(error.code == Errc::not_found);
        CHECK_CONTAINS(error.message, "Did you mean 'kernel_1234'? It has: kernel_1234, ");
        CHECK_CONTAINS(error.message, " and 1,488 more.");
        CHECK_MESSAGE(error.message.size() < 500, error.message);
    }
}

TEST_CASE("library: a long name is cut in the middle of an error") {
    FakeMachine machine;
    const std::string name = "begin" + std::string(6000, '_') + "end";
    const auto library = require(machine.device().load(cubin_image({name + "()"})));
    const auto error = require_error(library.kernel(name + "x"));
    CHECK_CONTAINS(error.message, "'begin___");
    CHECK_CONTAINS(error.message, "___endx'.");
    CHECK_CONTAINS(error.message, "Did you mean 'begin___");
    CHECK_MESSAGE(error.message.size() < 1000, error.message);
    CHECK(require(library.kernel(name)).symbol() == name);
}

TEST_CASE("library: kernel names come from the driver where the image has no PTX") {
    FakeMachine machine;
    const auto library = require(machine.device().load(cubin_image({"a()", "b()"}, false)));
    CHECK(require(library.kernel_names()) == std::vector<std::string>{"a", "b"});

    FakeMachine older({.version = 12030});
    const auto known = require(older.device().load(cubin_image({"a()"})));
    CHECK(require(known.kernel_names()) == std::vector<std::string>{"a"});
    const auto unknown = require(older.device().load(cubin_image({"a()"}, false)));
    const auto error = require_error(unknown.kernel_names());
    CHECK(error.code == Errc::not_supported);
    CHECK_CONTAINS(error.message,
                   "needs a driver for CUDA 12.4 or newer: the fake driver supports "
                   "CUDA 12.3 and has no cuLibraryEnumerateKernels");
    CHECK(require_error(unknown.kernel("b")).code == Errc::not_found);
}

TEST_CASE("library: two libraries may have a kernel of the same name") {
    FakeMachine machine;
    const Device device = machine.device();
    const auto one = require(device.load(cubin_image({"k(.param .u32 n)"})));
    const auto two = require(device.load(cubin_image({"k(.param .f32 x)"})));
    CHECK(one.kernel<void(int)>("k"));
    CHECK(two.kernel<void(float)>("k"));
    CHECK(one.kernel("k")->native() != two.kernel("k")->native());
}

TEST_CASE("library: variables are read and written within their size") {
    FakeMachine machine;
    Image image = cubin_image({"k()"});
    image.lowered_names["&ns::numbers"] = "table";
    const auto library = require(machine.device().load(image));
    for (const char* name :
         {"table", "&ns::numbers", "ns::numbers", "& ::ns :: numbers", "::table"}) {
        const auto variable = require(library.global(name));
        CHECK(variable.size == 256);
        CHECK(variable.address != 0);
    }
    const int numbers[] = {1, 2, 3};
    require(library.write_global("table", numbers, sizeof(numbers)));
    int back[3] = {};
    require(library.read_global("ns::numbers", back, sizeof(back)));
    CHECK(back[2] == 3);
    const std::vector<char> large(257);
    const auto error = require_error(library.write_global("table", large.data(), large.size()));
    CHECK(error.code == Errc::invalid_argument);
    CHECK(error.message ==
          "A copy of 257 bytes exceeds the size of the variable 'table' (256 bytes).");
    const auto missing = require_error(library.global("nothing"));
    CHECK(missing.code == Errc::not_found);
    CHECK_CONTAINS(missing.message, "Image 'fake.cu' has no variable 'nothing'");
}

TEST_CASE("library: a variable is a span of its elements, with its size checked") {
    FakeMachine machine;
    Image image = cubin_image({"k()"});
    image.lowered_names["&ns::numbers"] = "table";
    const auto library = require(machine.device().load(image));
    const auto numbers = require(library.global<int>("ns::numbers"));
    CHECK(numbers.size() == 64);
    CHECK(numbers.native() == require(library.global("table")).address);
    require(numbers.fill(7));
    CHECK(require(numbers.to_vector()) == std::vector<int>(64, 7));
    CHECK(require(library.global<double>("table", 32)).size() == 32);
    CHECK(require_error(library.global<double>("table", 64)).message ==
          "The variable 'table' has 32 elements of 8 bytes, not 64.");
    struct Odd {
        char bytes[7];
    };
    const auto odd = require_error(library.global<Odd>("table"));
    CHECK(odd.code == Errc::invalid_argument);
    CHECK(odd.message ==
          "The variable 'table' has 256 bytes, which isn't a whole number of elements of 7 bytes.");
    CHECK(require_error(library.global<int>("nothing")).code == Errc::not_found);
    CHECK(require_error(Library().global<int>("table")).code == Errc::invalid_argument);
    CHECK(require_error(Library().managed<int>("table")).code == Errc::invalid_argument);
}
