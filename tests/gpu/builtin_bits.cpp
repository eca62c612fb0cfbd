// What the device's built-in functions make of tricky values, on any driver, bit by bit.
//
//   lode_builtin_bits print [FAMILY...]   prints a line for each function with all results
//   lode_builtin_bits condense FILE...    makes of such files what the repository keeps; a line
//                                         replaces that of an earlier file
//   lode_builtin_bits source FAMILY       prints the CUDA C++ of a family
//   lode_builtin_bits check FILE          runs all again, and fails where a line of either kind
//                                         differs; prints the values if the line has them
//
// Lines are in the order in which they become known. Calls of printf and statements, which may end
// a context or their process, run in processes of their own; how such a one ends is an answer.
//
// builtins/functions.txt lists the functions. builtins/results.txt has their results on an H200:
// digests for functions that PTX and IEEE 754 define, some values of those with bounds, and `open`
// where nothing is compared. NaNs of a type are the same, except where bits are only moved.
#include "tests/gpu/builtins/cases.hpp"
#include "tests/gpu/builtins/compare.hpp"

#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lode::test {
namespace {

constexpr int skipped = 77;
constexpr int lost_context = 3;    // Exit code of a process of calls that can't go on.
constexpr unsigned patience = 20;  // Seconds until a launch counts as one that hangs.
constexpr std::size_t calls_of_process = 40;
constexpr std::size_t most_processes = 8;

using Receive = std::function<void(const Function&, const std::string& results)>;

std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error(fmt::format("can't read {}", path));
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string own_file(const char* name) {
    return text_of(std::string(LODE_SOURCE_DIR "/tests/gpu/builtins/") + name);
}

std::string in_quotes(std::string_view text) {
    std::string out = "\"";
    for (const char letter : text) {
        const auto byte = static_cast<unsigned char>(letter);
        if (letter == '"' || letter == '\\')
            out += fmt::format("\\{}", letter);
        else
            out +=
                byte < 32 || byte > 126 ? fmt::format("\\x{:02x}", byte) : std::string(1, letter);
    }
    return out + "\"";
}

/// What a function writes to the process's stdout.
template <class Function>
std::string printed_by(const Function& function) {
    std::FILE* const file = std::tmpfile();
    std::fflush(stdout);
    const int before = ::dup(1);
    ::dup2(::fileno(file), 1);
    function();
    std::fflush(stdout);
    ::dup2(before, 1);
    ::close(before);
    std::string text(static_cast<std::size_t>(std::max(::lseek(::fileno(file), 0, SEEK_END), 0L)),
                     ' ');
    ::lseek(::fileno(file), 0, SEEK_SET);
    if (::read(::fileno(file), text.data(), text.size()) < 0) text = "unreadable";
    std::fclose(file);
    return text;
}

std::string source_of(const Family& family) {
    std::string headers;
    if (family.name == "half" || family.name == "fp8")
        headers = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cuda_fp8.h>\n";
    return family.source(headers + own_file("prelude.cuh"));
}

class Machine {
public:
    Machine() : runtime_(unwrap(Runtime::open())), device_(unwrap(runtime_.device())) {}

    [[nodiscard]] const Device& device() const { return device_; }

    [[nodiscard]] Image compile(const Family& family) const {
        CompileOptions options = unwrap(CompileOptions::parse(std::span(family.flags)));
        // The software device runs the PTX of the same compilation.
        const Arch arch(device_.cc());
        const bool is_real = !runtime_.driver().is_emulator();
        const auto source = Source::text(source_of(family), family.name + ".cu");
        return *unwrap(runtime_.compiler().compile(source, is_real ? arch : arch.as_virtual(),
                                                   options, {}))
                    .image;
    }

    /// Passes on each function's results, as a line has them.
    void run(const Family& family, const Image& image, const Receive& receive) {
        const Library library = unwrap(device_.load(image));
        const Stream stream = unwrap(device_.create_stream());
        for (std::size_t number = 0; number < family.functions.size(); ++number) {
            const auto kernel = unwrap(library.kernel(fmt::format("k{}", number)));
            receive(family.functions[number], apply(kernel, stream, family.functions[number]));
        }
    }

    /// Prints what some calls of printf give, each after its number; false if one ends the context.
    bool run_calls(Family family, std::size_t first, std::size_t last) {
        const auto calls = family.functions.begin();
        family.functions = {calls + static_cast<long>(first), calls + static_cast<long>(last)};
        const Library library = unwrap(device_.load(compile(family)));
        const Stream stream = unwrap(device_.create_stream());
        for (std::size_t number = first; number < last; ++number) {
            const auto kernel = unwrap(library.kernel(fmt::format("k{}", number - first)));
            const std::string results = print(kernel, stream);
            fmt::print("{} {}\n", number, results);
            if (results.starts_with("result ")) return false;
        }
        return true;
    }

    /// Runs a statement; returns the driver's result and what it leaves in `number`.
    std::string run_statement(const Family& family, std::size_t index) {
        static_cast<void>(unwrap(set_limit(device_, Limit::printf_fifo, 65536)));
        Family one = family;
        one.functions = {family.functions[index]};
        const Library library = unwrap(device_.load(compile(one)));
        const auto kernel = unwrap(library.kernel("k0"));
        const Stream stream = unwrap(device_.create_stream());
        auto out = unwrap(device_.alloc<int>(4));
        CUdeviceptr_ address = out.native();
        std::vector<void*> arguments{&address};
        const Status status = launch(kernel, stream, arguments);
        if (!status) return fmt::format("result {}", status.error().native.code);
        std::vector<int> number(4);
        unwrap(out.copy_to(number));
        return fmt::format("result 0, number {}", number[0]);
    }

private:
    using CUdeviceptr_ = unsigned long long;

    static void unwrap_status(const Status& status) {
        if (!status) throw std::runtime_error(status.error().describe());
    }

    /// Runs one thread; ends the process if it takes too long.
    static Status launch(const auto& kernel, const Stream& stream, std::span<void*> arguments) {
        ::alarm(patience);
        Status status = kernel.launch(stream, {.grid = {1}, .block = {1}}, arguments);
        return status ? stream.sync() : status;
    }

    std::string apply(const auto& kernel, const Stream& stream, const Function& function) {
        std::vector<DeviceBuffer<std::byte>> buffers;
        for (std::size_t k = 0; k < function.arguments.size(); ++k) {
            const auto values = values_of(function, k);
            buffers.push_back(unwrap(device_.alloc<std::byte>(values.size())));
            unwrap_status(buffers.back().copy_from(values));
        }
        std::vector<std::byte> bytes(values_count * function.result_bytes());
        buffers.push_back(unwrap(device_.alloc<std::byte>(bytes.size())));
        std::vector<CUdeviceptr_> addresses;
        for (const auto& buffer : buffers)
            addresses.push_back(buffer.native());
        std::vector<void*> arguments;
        for (auto& address : addresses)
            arguments.push_back(&address);
        int parameter = 42;
        arguments.push_back(&parameter);
        unwrap_status(kernel.launch(stream, {.grid = {1}, .block = {values_count}}, arguments));
        unwrap_status(stream.sync());
        unwrap_status(buffers.back().copy_to(bytes));
        const ScalarType type = scalar_type(function.result);
        std::string text;
        for (std::size_t at = 0; at < bytes.size(); at += type.bytes) {
            std::uint64_t value = 0;
            std::memcpy(&value, bytes.data() + at, type.bytes);
            const bool is_next = at % function.result_bytes() == 0;
            text += fmt::format("{}{:0{}x}",
                                at == 0   ? ""
                                : is_next ? " "
                                          : ",",
                                value, type.bytes * 2);
        }
        return text;
    }

    std::string print(const auto& kernel, const Stream& stream) {
        auto out = unwrap(device_.alloc<int>(2));
        CUdeviceptr_ address = out.native();
        std::vector<void*> arguments{&address};
        Status status;
        const std::string text = printed_by([&] { status = launch(kernel, stream, arguments); });
        if (!status)
            return fmt::format("result {}, {}", status.error().native.code, in_quotes(text));
        std::vector<int> number(2);
        unwrap_status(out.copy_to(number));
        return fmt::format("{} {} {}", number[0], number[1], in_quotes(text));
    }

    Runtime runtime_;
    Device device_;
};

/// Runs a command; returns its exit code, -1 if a signal ends it, and how it ends in words.
std::pair<int, std::string> run_process(const std::string& command,
                                        const std::function<void(std::string)>& receive_line) {
    std::FILE* const child = ::popen(command.c_str(), "r");
    if (child == nullptr) throw std::runtime_error("can't start " + command);
    std::string text;
    std::array<char, 4096> part{};
    while (std::fgets(part.data(), part.size(), child) != nullptr) {
        text += part.data();
        if (text.empty() || text.back() != '\n') continue;
        text.pop_back();
        receive_line(std::exchange(text, {}));
    }
    const int status = ::pclose(child);
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return {signal == 0 ? WEXITSTATUS(status) : -1,
            signal == SIGALRM ? "hangs"
            : signal != 0     ? fmt::format("ends by signal {}", signal)
                              : fmt::format("ends with {}", WEXITSTATUS(status))};
}

std::string run_statement(const std::string& self, std::size_t number) {
    std::string result;
    std::string first;
    std::string last;
    std::size_t count = 0;
    const std::string command = fmt::format("exec '{}' statement {} 2>&1", self, number);
    const auto end = run_process(command, [&](const std::string& text) {
        if (text.starts_with("result ")) result = text;
        if (!text.starts_with("line ") && text.find("Assertion") == std::string::npos) return;
        if (count++ == 0) first = text;
        last = text;
    });
    if (result.empty()) result = end.second;
    if (count > 0) result += fmt::format(", {} lines {}", count, in_quotes(first));
    if (count > 1) result += " to " + in_quotes(last);
    return result;
}

/// Runs calls of printf in a process, and those after one that ends it in another one.
void run_calls(const Family& family, const std::string& self, std::size_t first, std::size_t last,
               const Receive& receive) {
    while (first < last) {
        const std::string command = fmt::format("exec '{}' calls {} {}", self, first, last);
        const auto end = run_process(command, [&](const std::string& text) {
            const std::string number = fmt::format("{} ", first);
            if (first < last && text.starts_with(number))
                receive(family.functions[first++], text.substr(number.size()));
        });
        if (first < last && end.first != lost_context)
            receive(family.functions[first++], end.second);
    }
}

/// Runs calls or statements in processes of their own, some at a time.
void run_processes(const Family& family, const std::string& self, const Receive& receive) {
    const std::size_t step = family.prints() ? calls_of_process : 1;
    const std::size_t count = family.functions.size();
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    const Receive receive_one = [&](const Function& function, const std::string& results) {
        const std::lock_guard lock(mutex);
        receive(function, results);
    };
    std::vector<std::future<void>> workers;
    const std::size_t at_once = std::max(1U, std::thread::hardware_concurrency());
    for (std::size_t k = 0; k < std::min(at_once, most_processes); ++k)
        workers.push_back(std::async(std::launch::async, [&] {
            for (std::size_t at = 0; (at = next.fetch_add(step)) < count;) {
                if (family.prints())
                    run_calls(family, self, at, std::min(at + step, count), receive_one);
                else
                    receive_one(family.functions[at], run_statement(self, at));
            }
        }));
    for (auto& worker : workers)
        worker.get();
}

std::vector<Family> all_families() {
    return read_families(own_file("functions.txt"));
}

std::string key_of(const Family& family, const Function& function) {
    return in_quotes(family.name + " " + function.name);
}

/// Runs families, all if none is named; passes on each line, a key and its results.
void run(const std::vector<std::string>& names, const std::string& self,
         const std::function<void(const std::string& key, const std::string& results)>& receive) {
    auto families = all_families();
    std::erase_if(families, [&](const Family& family) {
        return !names.empty() && std::find(names.begin(), names.end(), family.name) == names.end();
    });
    Machine machine;
    std::vector<std::future<Image>> images;
    for (const Family& family : families)
        images.push_back(std::async(std::launch::async, [&] {
            return family.has_processes() ? Image{} : machine.compile(family);
        }));
    for (std::size_t k = 0; k < families.size(); ++k) {
        const Family& family = families[k];
        const Image image = images[k].get();
        const Receive receive_one = [&](const Function& function, const std::string& results) {
            receive(key_of(family, function), results);
        };
        if (family.has_processes())
            run_processes(family, self, receive_one);
        else
            machine.run(family, image, receive_one);
    }
}

using Lines = std::vector<std::pair<std::string, std::string>>;

/// Lines of a file: a quoted key, then the results.
Lines read_lines(const std::string& path) {
    std::istringstream file(text_of(path));
    Lines lines;
    for (std::string line; std::getline(file, line);) {
        std::size_t end = 1;
        while (end < line.size() && line[end] != '"')
            end += line[end] == '\\' ? 2 : 1;
        if (line[0] != '"' || end + 2 > line.size()) continue;
        lines.emplace_back(line.substr(0, end + 1), line.substr(end + 2));
    }
    return lines;
}

std::map<std::string, Function> functions_by_key() {
    std::map<std::string, Function> functions;
    for (const Family& family : all_families()) {
        for (const Function& function : family.functions) {
            if (!functions.emplace(key_of(family, function), function).second)
                throw std::runtime_error("functions.txt has twice: " + function.name);
        }
    }
    return functions;
}

int check(const std::string& path, const std::string& self) {
    if (const auto runtime = Runtime::open(); !runtime || runtime->device_count() == 0) {
        fmt::print("skipped: {}\n", runtime ? "no device" : runtime.error().message);
        return skipped;
    } else if (const auto cc = unwrap(runtime->device()).cc(); Arch(cc).to_string() != "sm_90") {
        fmt::print("skipped: the results are those of sm_90, not of {}\n", Arch(cc).to_string());
        return skipped;
    }
    const auto functions = functions_by_key();
    const auto expected = read_lines(path);
    std::map<std::string, std::string> got;
    run({}, self, [&](const std::string& key, const std::string& results) { got[key] = results; });
    std::size_t wrong = 0;
    std::size_t same = 0;
    std::size_t open = 0;
    for (const auto& [key, results] : expected) {
        const auto found = got.find(key);
        const auto function = functions.find(key);
        if (found == got.end() || function == functions.end()) {
            fmt::print("{} isn't in functions.txt\n", key);
            ++wrong;
        } else if (results == "open") {
            ++open;
        } else if (!agree(function->second, results, found->second)) {
            fmt::print("{} differs\n", key);
            print_differences(function->second, results, found->second);
            ++wrong;
        } else {
            ++same;
        }
    }
    fmt::print("{} of {} functions agree, {} differ, {} are open\n", same, functions.size(), wrong,
               open);
    return wrong == 0 && same + open == functions.size() ? 0 : 1;
}

int main_of(const std::vector<std::string>& words, const std::string& self) {
    const std::string command = words.empty() ? "" : words[0];
    if (command == "print") {
        run({words.begin() + 1, words.end()}, self,
            [](const std::string& key, const std::string& results) {
                fmt::print("{} {}\n", key, results);
            });
        return 0;
    }
    if (command == "condense" && words.size() > 1) {
        const auto functions = functions_by_key();
        std::map<std::string, std::string> lines;
        for (std::size_t k = 1; k < words.size(); ++k)
            for (const auto& [key, results] : read_lines(words[k]))
                lines[key] = results == "open" ? results : condensed(functions.at(key), results);
        std::istringstream first(text_of(words[1]));
        for (std::string line; std::getline(first, line) && line.starts_with('#');)
            fmt::print("{}\n", line);
        for (const Family& family : all_families()) {
            for (const Function& function : family.functions) {
                const std::string key = key_of(family, function);
                if (lines.contains(key)) fmt::print("{} {}\n", key, lines[key]);
            }
        }
        return 0;
    }
    if (command == "source" && words.size() == 2) {
        for (const Family& family : all_families())
            if (family.name == words[1]) fmt::print("{}", source_of(family));
        return 0;
    }
    if (command == "check" && words.size() == 2) return check(words[1], self);
    if (command == "calls" && words.size() == 3) {
        bool goes_on = true;
        for (const Family& family : all_families())
            if (family.prints())
                goes_on = Machine().run_calls(family, std::stoul(words[1]), std::stoul(words[2]));
        return goes_on ? 0 : lost_context;
    }
    if (command == "statement" && words.size() == 2) {
        for (const Family& family : all_families()) {
            if (!family.ends_contexts()) continue;
            const std::string result = Machine().run_statement(family, std::stoul(words[1]));
            fmt::print("\n{}\n", result);
        }
        return 0;
    }
    fmt::print(stderr,
               "usage: lode_builtin_bits print [FAMILY...] | condense FILE... | check FILE\n");
    return 2;
}

}  // namespace
}  // namespace lode::test

int main(int count, char** values) {
    try {
        std::setvbuf(stdout, nullptr, _IOLBF, 0);  // What is known stays, however a process ends.
        return lode::test::main_of({values + 1, values + count}, values[0]);
    } catch (const std::exception& failure) {
        std::fputs(failure.what(), stderr);
        return 2;
    }
}
