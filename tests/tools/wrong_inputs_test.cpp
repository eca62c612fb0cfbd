// Wrong command lines: what the first line of each message says, and the exit code. Nothing may be
// written or changed.
#include "tests/support/scratch.hpp"
#include "tests/tools/process.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace lode::test;

struct WrongLine {
    const char* line;  ///< % stands for the folder of the files.
    int exit_code;
    const char* says;  ///< The message's first line, without where to find the usage.
};

constexpr WrongLine without_driver[] = {
    {"compile %dir --arch sm_90", 1, "'%dir' is a folder, not a file."},
    {"compile %nul.cu --arch sm_90", 2, "'%nul.cu' isn't source text: byte 6 of 7 is NUL."},
    {"compile %empty.ptx --arch compute_90", 2,
     "%empty.ptx is PTX already. Name machine code to make of it: --arch sm_90."},
    {"compile - - --arch sm_90", 2,
     "Standard input (-) is named twice, but it can be read only once."},
    {"compile %k.cu %k.cu --arch sm_90", 2, "'%k.cu' is named twice; name each source once."},
    {"compile %k.cu --arch", 2, "--arch needs a value (ARCH)."},
    {"compile %k.cu --arch sm_90 --arch nativ", 2,
     "Architecture 'nativ' isn't valid: it starts with neither sm_ nor compute_. Write it as "
     "sm_90, sm_90a, sm_100f or compute_80. Did you mean 'native'?"},
    {"compile %k.cu --arch sm_90 -o", 2, "--output needs a value (FILE)."},
    {"compile %k.cu --arch sm_90 -o %dir", 2,
     "--output is '%dir', a folder; it must name a file. --out-dir %dir writes the results to it."},
    {"compile %k.cu --arch sm_90 -o %k.cu", 2,
     "--output is '%k.cu', which is an input too. Name another file."},
    {"compile %k.cu --arch sm_90 -o %k.cu/k.cubin", 2,
     "--output is '%k.cu/k.cubin', but '%k.cu' isn't a folder."},
    {"compile %k.cu --arch sm_90 -o a -o b", 2, "--output is given 2 times; it may be given once."},
    {"compile %k.cu --arch sm_90 -o %k.ptx", 2,
     "--output is '%k.ptx', but the result is k.sm_90.cubin. --arch compute_90 gives PTX alone."},
    {"compile %k.cu --arch sm_90 -o /dev/full", 1,
     "Writing a file fails: No space left on device ('/dev/full')."},
    {"compile %k.cu --arch sm_90 --out-dir %k.cu", 2,
     "--out-dir is '%k.cu', but '%k.cu' isn't a folder."},
    {"compile %k.cu --arch sm_90 --out-dir %dir -o %x", 2,
     "--output can't be combined with --out-dir."},
    {"compile %k.cu --arch sm_90 --json=%k.sm_90.cubin", 2,
     "--json is '%k.sm_90.cubin', which may replace a result. Name the report '%k.sm_90.json'."},
    {"compile %k.cu --arch sm_80,sm_90 -o %x", 2,
     "--output names one file, but the results are k.sm_80.cubin, k.sm_90.cubin. Name their folder "
     "with --out-dir."},
    {"compile %k.cu --arch sm_90 --ptx=maybe", 2, "--ptx is an option without a value."},
    {"compile %k.cu --arch sm_90 --ptx --lto", 2,
     "--ptx and --lto exclude each other: there is no PTX."},
    {"compile %k.cu --arch sm_90 --ptx --optix-ir", 2,
     "--ptx and --optix-ir exclude each other: there is no PTX."},
    {"compile %k.cu --arch sm_90 --std 17 --std 20", 2,
     "--std is given 2 times; it may be given once."},
    {"compile %k.cu --arch sm_90 --fast-math --math ieee", 2,
     "--fast-math and --math ieee contradict each other."},
    {"compile %k.cu --arch sm_90 --max-registers 256", 2,
     "--max-registers is '256'; it must be a whole number from 0 to 255."},
    {"compile %k.cu --arch sm_90 --jobs 0", 2,
     "--jobs is '0'; it must be a whole number from 1 to 1024."},
    {"compile %k.cu --arch sm_90 -I %k.cu", 2, "Include folder '%k.cu' isn't a folder."},
    {"compile %k.cu --for 9.0 --driver new", 2,
     "--driver is 'new', not a CUDA version: write it as 12.4."},
    {"compile %k.cu --arch native", 2,
     "--arch is 'native', and there is no device to take it from. Pass --arch sm_90, or set "
     "LODE_DRIVER=emulator for lode's software device."},
    {"link", 2, "FILE is required."},
    {"link %k.cu --arch sm_90 -o %x", 1,
     "'k.cu' (164 bytes) is neither PTX nor a cubin, LTO-IR, a fat binary, a host object or an "
     "archive. `lode compile` compiles CUDA C++ first."},
    {"link %dir --arch sm_90 -o %x", 1, "'%dir' is a folder, not a file."},
    {"link %empty --arch sm_90 -o %x", 1,
     "'empty' (0 bytes) is neither PTX nor a cubin, LTO-IR, a fat binary, a host object or an "
     "archive."},
    {"link %k.ptx --arch sm_80,sm_90 -o %x", 2,
     "--arch is 'sm_80,sm_90', but one architecture is needed here, such as sm_90."},
    {"link %k.ptx --arch all -o %x", 2,
     "--arch is 'all', but one architecture is needed here, such as sm_90."},
    {"link %k.ptx --arch sm_90 -o %k.ptx", 2,
     "--output is '%k.ptx', which is an input too. Name another file."},
    {"link %k.ptx --arch sm_90 -o %x.ptx", 2,
     "--output is '%x.ptx', but the result is machine code for sm_90. --arch compute_90 gives PTX "
     "alone."},
    {"link %k.ptx --arch sm_90 -o %dir", 2,
     "--output is '%dir', a folder; it must name a file. Name one in it."},
    {"link %k.ptx %k.ptx --arch sm_90 -o %x", 1, "Both 'k.ptx' and 'k.ptx' define 'k'."},
    {"link %k.ptx --arch compute_90 -o %x", 2,
     "Linking for compute_90, a virtual target, gives PTX, which needs LTO-IR in every input; "
     "'k.ptx' is PTX."},
    {"link %k.ptx --arch sm_90", 2, "--output is required."},
    {"cache gc --max-bytes lots", 2,
     "--max-bytes is 'lots'; it must be a number of bytes, such as 48KB or 1GiB."},
    {"cache gc --max-bytes 1.5G", 2,
     "--max-bytes is '1.5G'; it must be a number of bytes, such as 48KB or 1GiB."},
    {"cache gc --folder %none", 1, "--folder is '%none', which doesn't exist."},
    {"cache show zz", 1,
     "No entry has a key, or answers a request with a key, that begins with 'zz'."},
    {"cache verify %k.pack", 2,
     "A pack is verified as a whole when it is read; with --trust, its records are too."},
    {"cache verify --keys %k.pack", 2, "--keys needs --trust, which checks signatures."},
    {"cache verify --trust --repair", 2,
     "--repair removes damaged records, and --trust checks signatures. Verify twice for both."},
    {"cache unpack %dir", 1, "'%dir' is a folder, not a file."},
    {"cache unpack %k.pack", 1,
     "'%k.pack' isn't a pack; `lode cache pack` and `lode warm --pack` make packs."},
    {"cache merge %k.pack -o %k.pack", 2,
     "--output is '%k.pack', which is an input too. Name another file."},
    {"cache diff %k.pack", 2, "PACK needs 2 values and has 1."},
    {"cache merge %k.pack", 2, "--output is required."},
    {"cache pack", 2,
     "Pass --output FILE for one pack, or --out-dir DIR for a pack of each architecture."},
    {"cache pack -o %dir", 2,
     "--output is '%dir', a folder; it must name a file. --out-dir %dir writes the results to it."},
    {"cache pack -o /dev/full", 1, "Writing a file fails: No space left on device ('/dev/full')."},
    {"cache pack --out-dir %k.cu", 2, "--out-dir is '%k.cu', but '%k.cu' isn't a folder."},
    {"cache keygen %k.cu", 1,
     "'%k.cu' exists already, and keys aren't replaced: choose another name, or remove it."},
    {"cache why %k.cu --arch all", 2,
     "--arch is 'all', but one architecture is needed here, such as sm_90."},
    {"cache why %k.cu --arch sm90", 2,
     "Architecture 'sm90' isn't valid: it starts with neither sm_ nor compute_. Write it as sm_90, "
     "sm_90a, sm_100f or compute_80. Did you mean 'sm_90'?"},
    {"warm %dir", 1, "'%dir' is a folder, not a file."},
    {"warm %empty", 2, "%empty isn't valid JSON from line 1, column 1 on."},
    {"warm %none.json --jobs many", 2,
     "--jobs is 'many'; it must be a whole number from 1 to 1024."},
    {"warm %none.json --timeout 5x", 2,
     "--timeout is '5x'; it must be a time, such as 30s, or a number of milliseconds from 1 to "
     "2147483647."},
    {"warm %none.json --max-size 1MB", 2, "--max-size is for packs: name them with --pack."},
    {"warm %none.json --pack %dir", 2,
     "--pack is '%dir', a folder; it must name a file. Name one in it."},
    {"warm %none.json --check --from-remote", 2,
     "--from-remote can't be combined with --check or --pack."},
    {"warm %none.json --pack *.pack", 2, "--pack is '*.pack', a pattern. Name a file."},
    {"info %k.ptx --json=%k.ptx", 2,
     "--json is '%k.ptx', which is an input too. Name another file."},
    {"info %k.ptx --nosuch --json=%k.ptx", 2, "`lode info` has no option '--nosuch'."},
    {"info --kernels %missing --arch", 1, "File '%missing' doesn't exist."},
    {"info %missing --all", 1, "File '%missing' doesn't exist."},
    {"info --json=%dir", 2, "--json is '%dir', a folder; it must name a file. Name one in it."},
    {"info --json=%k.cu/x", 2, "--json is '%k.cu/x', but '%k.cu' isn't a folder."},
    {"doctor %missing --jsn", 2, "`lode doctor` has no option '--jsn'. Did you mean '--json'?"},
    {"doctor %missing", 1, "File '%missing' doesn't exist."},
    {"compile %k.cu --arch sm_90 -o %x --json=%dir/../x", 2,
     "--json is '%dir/../x', which --output names too. Name another file."},
    {"compile %k.cu --arch sm_90 -o /dev/stdout", 2,
     "--output is '/dev/stdout', but the command's own text goes there. Name a file."},
    {"compile %k.cu --arch sm_90 -o /dev/stderr", 2,
     "--output is '/dev/stderr', but the command's own text goes there. Name a file."},
    {"bench --json=%x --html %x", 2, "--html is '%x', which --json names too. Name another file."},
    {"bench --html %dir", 2, "--html is '%dir', a folder; it must name a file. Name one in it."},
    {"bench --compare %k.ptx --json=%k.ptx", 2,
     "--json is '%k.ptx', which is an input too. Name another file."},
    {"compile %k.cu --arch sm_90 --output= %k.ptx", 2,
     "--output is empty; it needs a value (FILE)."},
    {"compile %k.cu --arch= sm_90", 2, "--arch is empty; it needs a value (ARCH)."},
    {"compile %k.cu --arch sm_90 -o=%x", 2,
     "'-o=%x' has an equals sign after a short option; write -o %x."},
    {"compile %k.cu --arch sm_90 --json= -o %x", 2,
     "--json is empty; write --json or --json=FILE."},
    {"compile %k.cu --arch sm_90 --json=%a --json=%b", 2,
     "--json is given 2 times; it may be given once."},
    {"cache clear --folder=", 2, "--folder is empty; it needs a value (DIR)."},
    {"cache clear --folder %dir", 1,
     "--folder is '%dir', which has no cache of this version of lode."},
    {"cache gc --folder %k.cu", 1, "--folder is '%k.cu', which isn't a folder."},
    {"cache keygen -", 2, "FILE is '-', but the command's own text goes there. Name a file."},
    {"cache keygen %k.cu/key", 2, "FILE is '%k.cu/key', but '%k.cu' isn't a folder."},
    {"variants --problem 4kx-1", 2,
     "--problem is '4kx-1'; it must be up to three numbers from 1, as in 4096, 4Ki or 64x128x32."},
    {"variants --problem 1x2x3x4", 2,
     "--problem is '1x2x3x4'; it must be up to three numbers from 1, as in 4096, 4Ki or "
     "64x128x32."},
    {"variants --tune --choices", 2, "--tune can't be combined with --choices."},
    {"variants --cc 0", 2, "Compute capability '0' isn't valid: write it as 9.0 or 90."},
};

#ifdef LODE_EMULATE_CLIENT
constexpr WrongLine on_software_device[] = {
    {"run %k.cu", 2, "KERNEL is required."},
    {"run %k.cu saxpy", 2,
     "Pass exactly one of --grid and --cover to say how many blocks to launch."},
    {"run %k.cu saxpy --cover 4 --grid 1", 2,
     "Pass exactly one of --grid and --cover to say how many blocks to launch."},
    {"run %k.cu --cover 4 -- 2.5f", 2,
     "KERNEL is '2.5f', which isn't a kernel's name. It stands after FILE, and its arguments after "
     "--: lode run %k.cu KERNEL … -- 2.5f"},
    {"run %k.cu saxpy --cover 1e6", 2,
     "--cover is '1e6'; it must be a whole number from 1 to 18446744073709551615."},
    {"run %k.cu saxpy --cover 9T", 2,
     "--cover is 9000000000000, which takes 35156250000 blocks of 256 threads; a grid has at most "
     "2147483647."},
    {"run %k.cu saxpy --grid 1x2", 2,
     "--grid is '1x2' but must be X, X,Y or X,Y,Z with whole numbers from 1 to 4294967295."},
    {"run %k.cu saxpy --grid 5G", 2,
     "--grid is '5G' but must be X, X,Y or X,Y,Z with whole numbers from 1 to 4294967295."},
    {"run %k.cu saxpy --grid 1 --block 0", 2,
     "--block is '0' but must be X, X,Y or X,Y,Z with whole numbers from 1 to 4294967295."},
    {"run %k.cu saxpy --grid 4G -- 2 f32[4] f32[4] 4", 1,
     "Grid extent x (4000000000) exceeds 2147483647, the limit of device 0 (lode emulator (CPU) "
     "sm_90, compute capability 9.0)."},
    {"run %k.cu saxpy --grid 1 --block 2k -- 2 f32[4] f32[4] 4", 1,
     "Block extent x (2000) exceeds 1024, the limit of device 0 (lode emulator (CPU) sm_90, "
     "compute "
     "capability 9.0)."},
    {"run %k.cu saxpy --grid 1 --shared 48X", 2,
     "--shared is '48X'; it must be a number of bytes, such as 48KB or 1GiB."},
    {"run %k.cu saxpy --grid 1 --shared 300K -- 2 f32[4] f32[4] 4", 1,
     "Shared memory per block (307200) exceeds 232448, the limit of device 0 (lode emulator (CPU) "
     "sm_90, compute capability 9.0)."},
    {"run %k.cu saxpy --grid 1 --device 3", 1,
     "Device 3 doesn't exist; the driver reports devices 0 to 0."},
    {"run %k.cu saxpy --grid 1 --repeat 1M", 2,
     "--repeat is '1M'; it must be a whole number from 1 to 10000."},
    {"run %k.cu saxpy --grid 1 --grid 2", 2, "--grid is given 2 times; it may be given once."},
    {"run %k.cu saxpy --grid 1 --arch all", 2,
     "--arch is 'all', but one architecture is needed here, such as sm_90."},
    {"run %k.cu saxpy --grid 1 --check memry", 2,
     "--check contains 'memry'; the possible values are memory, race, init, sync, streams, all "
     "and none. Did you mean 'memory'?"},
    {"run %k.cu saxpy --grid 1 --findings %dir", 2,
     "--findings is '%dir', a folder; it must name a file. Name one in it."},
    {"run %k.cu saxpy --grid 1 -- 2", 1,
     "saxpy takes 4 arguments: f32, pointer/int64, pointer/int64, int32, but 1 is given."},
    {"run %k.cu saxpy --grid 1 -- 2 4 f32[4] 4", 1,
     "Argument 2 ('4') is a number, but saxpy takes pointer/int64 there; pass a buffer, or write "
     "i64:4 or u64:4."},
    {"run %k.cu saxpy --grid 1 -- 2 f32[4] f32[4] 2.5", 1,
     "Argument 4 ('2.5') isn't a whole number; saxpy takes int32 there."},
    {"run %k.cu saxpy --grid 1 -- 1e39 f32[4] f32[4] 4", 1,
     "Argument 1 ('1e39') is outside the range of f32, 1.4013e-45 to 3.40282e+38 in size; saxpy "
     "takes f32 there."},
    {"run %k.cu saxpy --grid 1 -- f64:2 f32[4] f32[4] 4", 1,
     "Argument 1 ('f64:2') is a number of type f64 (8 bytes), but saxpy takes f32 (4 bytes) there; "
     "write 2."},
    {"run %k.cu saxpy --grid 1 -- 2 f32[4] f32[4] 5G", 1,
     "Argument 4 ('5G') is outside the range of u32, 0 to 4294967295; saxpy takes int32 there."},
    {"run %k.cu saxpy --grid 1 -- 2 f32[4]@%k.pack f32[4] 4", 2,
     "The file %k.pack has 8 bytes, but f32[4] holds 16."},
    {"run %k.cu saxpy --grid 1 -- 2 f32[4]@%missing f32[4] 4", 1, "File '%missing' doesn't exist."},
    {"run %k.cu typed --grid 1 -- 1 f64[1] 1 1", 1,
     "Argument 1 ('1') is a number of type i32 (4 bytes), but typed takes S (12 bytes) there; "
     "`lode run` passes numbers and buffers alone, so let the kernel take a pointer."},
    {"run %k.cu typed --grid 1 -- f32[1] f64[1] 1 1", 1,
     "Argument 1 ('f32[1]') is a buffer (8 bytes), but typed takes S (12 bytes) there; `lode run` "
     "passes numbers and buffers alone, so let the kernel take a pointer."},
    {"run %k.cu saxpy --grid 1 --findings %k.ptx -- 2 f32[4]@%k.ptx f32[4] 4", 2,
     "--findings is '%k.ptx', which is an input too. Name another file."},
    {"run %k.cu saxpy --grid 1 2 -- f32[4] f32[4] 4", 2,
     "`lode run` doesn't expect '2' before `--`."},
    {"run %k.cu saxpy -DX=1 --grd 1 -- 2 f32[4] f32[4] 4", 2,
     "`lode run` has no option '--grd'. Did you mean '--grid'?"},
    {"run %k.cu saxpy --grid= -- 2 f32[4] f32[4] 4", 2,
     "--grid is empty; it needs a value (X[,Y[,Z]])."},
    {"run %empty.ptx k --grid 1", 1, "'%empty.ptx' isn't PTX: it has no readable .target line."},
    {"run %dir k --grid 1", 1, "'%dir' is a folder, not a file."},
};
#endif

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    return text;
}

/// The files that the lines name.
class WrongInputs {
public:
    WrongInputs() {
        std::filesystem::create_directory(folder_.path() / "dir");
        const std::map<std::string, std::string> texts = {
            {"k.cu",
             "extern \"C\" __global__ void saxpy(float a, const float* x, float* y, int n) {}\n"
             "struct S { float x, y, z; };\n"
             "__global__ void typed(S s, double* x, long n, bool b) {}\n"},
            {"k.ptx", ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {}\n"},
            {"k.pack", "no pack\n"},
            {"none.json", "{\"manifest\": 1, \"requests\": []}\n"},
            {"nul.cu", std::string("int x;\0", 7)},
            {"empty", ""},
            {"empty.ptx", ""}};
        for (const auto& [name, text] : texts)
            put(folder_.path() / name, text);
    }

    void check(const WrongLine& row, const std::string& driver) const {
        const std::string folder = folder_.path().string() + '/';
        std::vector<std::string> words;
        std::istringstream line(row.line);
        for (std::string word; line >> word;)
            words.push_back(replaced(word, "%", folder));
        const auto outcome =
            lode::test::lode(words, {{"LODE_DRIVER", driver},
                                     {"LODE_CACHE", "on"},
                                     {"LODE_CACHE_DIR", (cache_.path() / "cache").string()}});
        std::string said = replaced(outcome.err, folder, "%");
        said.resize(std::min(said.find('\n'), said.size()));
        if (said.ends_with("` shows its usage.")) said.resize(said.rfind(" `lode "));
        const std::string expected = std::string("lode: ") + row.says;
        CHECK_MESSAGE(said == expected, row.line, "\n", said);
        CHECK_MESSAGE(outcome.exit_code == row.exit_code, std::string(row.line));
        CHECK(outcome.out.empty());
    }

    /// Every file with its contents.
    [[nodiscard]] std::map<std::string, std::string> contents() const {
        std::map<std::string, std::string> all;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
            const bool is_file = entry.is_regular_file();
            all[entry.path().string()] = is_file ? lode::read_text(entry.path()).value() : "";
        }
        return all;
    }

private:
    lode::ScratchFolder folder_ = make_scratch();
    lode::ScratchFolder cache_ = make_scratch();
};

}  // namespace

TEST_CASE(
    "wrong inputs: each message names the value, the limit or the cure, and nothing is lost") {
    const WrongInputs files;
    const auto before = files.contents();
    for (const auto& row : without_driver)
        files.check(row, no_driver.at("LODE_DRIVER"));
#ifdef LODE_EMULATE_CLIENT
    for (const auto& row : on_software_device)
        files.check(row, "emulator");
#endif
    CHECK(files.contents() == before);
}
