// Runs one program of the list of bugs: a plan on stdin, which tests/bugs/run makes of a kernel
// file's header, says which buffers to make and which kernels to launch. It works with any driver
// that lode opens, and so on the software device and, on a GPU, under compute-sanitizer.
//
// Exit code: 0 if every step succeeded, 1 if one failed (the error is printed), 2 for a wrong plan,
// 3 if the device refuses the code before any launch.
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr int exit_failed = 1;
constexpr int exit_wrong_plan = 2;
constexpr int exit_refused = 3;

/// A line of the plan that isn't understood.
struct PlanError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The device doesn't accept the program's code.
struct Refused : std::runtime_error {
    using std::runtime_error::runtime_error;
};

std::vector<std::byte> read_bytes(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw PlanError("can't read " + path);
    std::ostringstream text;
    text << file.rdbuf();
    const std::string content = text.str();
    const auto* const first = reinterpret_cast<const std::byte*>(content.data());
    return {first, first + content.size()};
}

/// Device memory or page-locked memory with the address that kernels get.
struct Memory {
    lode::DeviceBuffer<std::byte> device;
    lode::PinnedBuffer<std::byte> pinned;
    lode::AsyncBuffer<std::byte> on_stream;
    std::size_t size = 0;
    std::uint64_t address = 0;
};

/// The values of a launch's arguments, each in eight bytes.
using Values = std::vector<std::uint64_t>;

class Program {
public:
    explicit Program(const lode::Device& device)
        : device_(device), stream_(lode::unwrap(device.create_stream())), now_(stream_.ref()) {}

    /// Executes one line of the plan.
    void execute(const std::string& line) {
        std::istringstream words(line);
        std::string verb;
        words >> verb;
        if (verb == "source")
            load_source(word(words), lode::SuffixPolicy::none);
        else if (verb == "specific")
            load_source(word(words), lode::SuffixPolicy::specific);
        else if (verb == "image")
            load_image(word(words));
        else if (verb == "heap")
            set_heap(std::stoull(word(words)));
        else if (verb == "buffer")
            make_buffer(words);
        else if (verb == "launch")
            launch(words);
        else if (verb == "sync")
            sync(words);
        else if (verb == "stream")
            make_stream(words);
        else if (verb == "on")
            now_ = stream(word(words));
        else if (verb == "record")
            record(word(words));
        else if (verb == "await")
            lode::unwrap(now_.wait(events_.at(word(words))));
        else if (verb == "copy")
            copy(words);
        else if (verb == "fill")
            fill(words);
        else if (verb == "allocate")
            allocate(words);
        else if (verb == "capture")
            capture_.emplace(lode::unwrap(lode::Capture::begin(now_)));
        else if (verb == "replay")
            replay();
        else if (verb == "free")
            buffers_.erase(word(words));
        else if (verb == "leak")
            leak(word(words));
        else if (verb == "read")
            read(words);
        else
            throw PlanError("unknown step: " + line);
    }

private:
    static std::string word(std::istringstream& words) {
        std::string text;
        if (!(words >> text)) throw PlanError("the line ends early: " + words.str());
        return text;
    }

    static std::uint32_t number(std::istringstream& words) {
        return static_cast<std::uint32_t>(std::stoul(word(words)));
    }

    void load_source(const std::string& path, lode::SuffixPolicy suffix) {
        auto image = device_.compile(lode::Source::file(path),
                                     {.compile = {.line_info = true}, .suffix = suffix});
        if (!image) throw PlanError(image.error().describe());
        load(std::move(*image));
    }

    void load_image(const std::string& path) {
        auto image = lode::Image::from_cubin(read_bytes(path), path);
        if (!image) throw Refused(image.error().describe());
        load(std::move(*image));
    }

    void load(lode::Image image) {
        auto library = device_.load(std::move(image));
        if (!library) throw Refused(library.error().describe());
        library_ = std::move(*library);
    }

    void set_heap(std::size_t bytes) {
        lode::unwrap(lode::set_limit(device_, lode::Limit::malloc_heap, bytes));
    }

    /// A stream by its name; "default" is the legacy default stream.
    lode::StreamRef stream(const std::string& name) const {
        return name == "default" ? device_.default_stream() : streams_.at(name).ref();
    }

    void make_stream(std::istringstream& words) {
        const auto name = word(words);
        std::string kind;
        words >> kind;
        streams_[name] = lode::unwrap(device_.create_stream({.blocking = kind == "blocking"}));
    }

    /// Waits for a stream, for an event, or for all streams.
    void sync(std::istringstream& words) {
        std::string name;
        words >> name;
        if (events_.contains(name)) return lode::unwrap(events_.at(name).sync());
        if (!name.empty()) return lode::unwrap(stream(name).sync());
        lode::unwrap(stream_.sync());
        for (const auto& [unused, other] : streams_)
            lode::unwrap(other.sync());
        if (!streams_.empty()) lode::unwrap(device_.default_stream().sync());
    }

    void record(const std::string& name) {
        if (!events_.contains(name)) events_[name] = lode::unwrap(device_.create_event());
        lode::unwrap(events_.at(name).record(now_));
    }

    /// `@name+offset` and a size.
    lode::DeviceSpan<std::byte> span(const std::string& place, std::size_t bytes) {
        const auto plus = place.find('+');
        auto& memory = buffers_.at(place.substr(1, plus - 1));
        const auto all = memory.device      ? memory.device.span()
                         : memory.on_stream ? memory.on_stream.span()
                                            : lode::unwrap(memory.pinned.device_span());
        return lode::unwrap(all.subspan(std::stoull(place.substr(plus + 1)), bytes));
    }

    void copy(std::istringstream& words) {
        const auto to = word(words);
        const auto from = word(words);
        const std::size_t bytes = number(words);
        lode::unwrap(span(to, bytes).copy_from_async(
            now_, lode::DeviceSpan<const std::byte>(span(from, bytes))));
    }

    void fill(std::istringstream& words) {
        const auto to = word(words);
        const auto value = static_cast<std::byte>(number(words));
        lode::unwrap(span(to, number(words)).fill_async(now_, value));
    }

    void allocate(std::istringstream& words) {
        const auto name = word(words);
        Memory memory;
        memory.size = number(words);
        memory.on_stream =
            lode::unwrap(lode::AsyncBuffer<std::byte>::allocate(device_, now_, memory.size));
        addresses_[name] = memory.address = memory.on_stream.native();
        buffers_[name] = std::move(memory);
    }

    /// Launches what has been captured.
    void replay() {
        const auto graph = lode::unwrap(capture_->finish());
        capture_.reset();
        graphs_.push_back(lode::unwrap(graph.instantiate()));
        lode::unwrap(graphs_.back().launch(now_));
    }

    void make_buffer(std::istringstream& words) {
        const auto name = word(words);
        const auto kind = word(words);
        Memory memory;
        memory.size = std::stoull(word(words));
        const auto content = word(words);
        std::vector<std::byte> bytes;
        if (content != "-") bytes = read_bytes(content);
        if (kind == "pinned") {
            memory.pinned = lode::unwrap(device_.alloc_pinned<std::byte>(memory.size));
            if (!bytes.empty()) std::memcpy(memory.pinned.data(), bytes.data(), bytes.size());
            memory.address =
                reinterpret_cast<std::uint64_t>(lode::unwrap(memory.pinned.device_span()).data());
        } else {
            memory.device = lode::unwrap(device_.alloc<std::byte>(memory.size));
            if (!bytes.empty()) lode::unwrap(memory.device.copy_from(bytes));
            memory.address = memory.device.native();
        }
        addresses_[name] = memory.address;
        buffers_[name] = std::move(memory);
    }

    /// A hexadecimal value, or `@name+bytes`: an address in a buffer that exists or existed.
    std::uint64_t argument(const std::string& text) const {
        if (text.starts_with("@")) {
            const auto plus = text.find('+');
            return addresses_.at(text.substr(1, plus - 1)) + std::stoull(text.substr(plus + 1));
        }
        return std::stoull(text, nullptr, 16);
    }

    void launch(std::istringstream& words) {
        auto kernel = library_.kernel(word(words));
        if (!kernel) throw Refused(kernel.error().describe());
        lode::LaunchShape shape;
        for (auto* const extents : {&shape.grid, &shape.block}) {
            extents->x = number(words);
            extents->y = number(words);
            extents->z = number(words);
        }
        shape.dynamic_shared_bytes = number(words);
        shape.cooperative = number(words) != 0;
        Values values;
        for (std::string text; words >> text;)
            values.push_back(argument(text));
        std::vector<void*> pointers;
        for (auto& value : values)
            pointers.push_back(&value);
        lode::unwrap(kernel->launch(now_, shape, pointers));
    }

    /// Gives up a buffer's memory without freeing it.
    void leak(const std::string& name) {
        auto& memory = buffers_.at(name);
        if (memory.device) {
            static_cast<void>(std::move(memory.device).release());
            buffers_.erase(name);
        } else {
            // Page-locked memory can't be released by its owner; an owner that never dies keeps it.
            static_cast<void>(new Memory(std::move(memory)));
        }
    }

    void read(std::istringstream& words) {
        const auto& memory = buffers_.at(word(words));
        std::vector<std::byte> bytes(memory.size);
        if (memory.device)
            lode::unwrap(memory.device.copy_to(bytes));
        else
            std::memcpy(bytes.data(), memory.pinned.data(), bytes.size());
        std::ofstream file(word(words), std::ios::binary);
        file.write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
    }

    lode::Device device_;
    lode::Stream stream_;
    lode::StreamRef now_;  ///< The stream of the next steps.
    lode::Library library_;
    std::map<std::string, lode::Stream> streams_;
    std::map<std::string, lode::Event> events_;
    std::optional<lode::Capture> capture_;
    std::vector<lode::GraphExec> graphs_;
    std::map<std::string, Memory> buffers_;
    std::map<std::string, std::uint64_t> addresses_;
};

void run_plan() {
    const auto runtime = lode::unwrap(lode::Runtime::open());
    Program program(lode::unwrap(runtime.device()));
    for (std::string line; std::getline(std::cin, line);)
        program.execute(line);
}

/// Runs several programs in one process, each after a line "program NAME"; a line of the output
/// says how each ended. If one fails, its other steps are left out.
void run_plans() {
    const auto runtime = lode::unwrap(lode::Runtime::open());
    const auto device = lode::unwrap(runtime.device());
    std::optional<Program> program;
    std::string name;
    bool failed = false;
    const auto end = [&] {
        program.reset();
        if (!name.empty()) std::printf("%s %s\n", failed ? "failed" : "ended", name.c_str());
        std::fflush(stdout);
    };
    for (std::string line; std::getline(std::cin, line);) {
        if (line.starts_with("program ")) {
            end();
            name = line.substr(line.find(' ') + 1);
            failed = false;
            program.emplace(device);
            continue;
        }
        if (failed) continue;
        try {
            program->execute(line);
        } catch (const std::exception& error) {
            std::printf("%s: %s\n", name.c_str(), error.what());
            failed = true;
        }
    }
    end();
}

/// `lode_bugs compile ARCH SOURCE CUBIN`: compiles as a run would, without a device.
void compile(const std::string& arch, const std::string& source, const std::string& cubin) {
    const auto image = lode::unwrap(lode::Compiler().compile(
        lode::Source::file(source), lode::unwrap(lode::Arch::parse(arch)), {.line_info = true}));
    std::ofstream file(cubin, std::ios::binary);
    file.write(reinterpret_cast<const char*>(image.cubin.data()),
               static_cast<std::streamsize>(image.cubin.size()));
    if (!file) throw PlanError("can't write " + cubin);
}

}  // namespace

int main(int count, char** words) {
    try {
        const std::string verb = count > 1 ? words[1] : "";
        if (count == 5 && verb == "compile")
            compile(words[2], words[3], words[4]);
        else if (count == 1)
            run_plan();
        else if (count == 2 && verb == "several") {
            run_plans();
        } else
            throw PlanError(
                "usage: lode_bugs < PLAN, lode_bugs several < PLANS, or lode_bugs compile ARCH "
                "SOURCE CUBIN");
        return 0;
    } catch (const Refused& refused) {
        std::printf("refused: %s\n", refused.what());
        return exit_refused;
    } catch (const PlanError& error) {
        std::printf("wrong plan: %s\n", error.what());
        return exit_wrong_plan;
    } catch (const std::exception& error) {
        std::printf("failed: %s\n", error.what());
        return exit_failed;
    }
}
