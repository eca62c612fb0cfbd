#include "emulator/toolkit/redirect/static_runtime_table.hpp"

#include "emulator/toolkit/redirect/sha256.hpp"

namespace lode::emulator::redirect {
namespace {

struct Header {
    char magic[8];
    std::uint32_t rows;
    std::uint32_t names_at;
    std::uint32_t names;
    std::uint32_t name_bytes;
    std::uint32_t unused[2];
};
static_assert(sizeof(Header) == 32 && sizeof(RuntimeRow) == 72 && sizeof(FunctionRow) == 4);

/// A file of the folder.
struct TablePath {
    explicit TablePath(const char* folder) noexcept {
        std::size_t at = 0;
        if (!append(text, at, folder) || !append(text, at, "static_runtimes.bin")) text[0] = '\0';
    }
    char text[path_size];
};

/// The masked runs of a section, in order.
class Mask {
public:
    Mask(const unsigned char* codes, std::size_t bytes) noexcept
        : next_(codes), end_(codes + bytes) {
        advance();
    }

    /// Whether a byte is masked. To be asked for each byte in order.
    [[nodiscard]] bool covers(std::uint64_t place) noexcept {
        while (place >= run_end_ && !is_done_)
            advance();
        return place >= run_start_ && place < run_end_;
    }

private:
    static constexpr unsigned shorter = 4;
    static constexpr unsigned longer = 7;

    void advance() noexcept {
        if (next_ == end_) {
            is_done_ = true;
            return;
        }
        std::uint64_t number = 0;
        for (unsigned shift = 0; next_ != end_; shift += 7) {
            const unsigned char byte = *next_++;
            number |= std::uint64_t{byte & 127U} << shift;
            if (byte < 128) break;
        }
        run_start_ = run_end_ + number / 2;
        run_end_ = run_start_ + (number % 2 != 0 ? longer : shorter);
    }

    const unsigned char* next_;
    const unsigned char* end_;
    std::uint64_t run_start_ = 0;
    std::uint64_t run_end_ = 0;
    bool is_done_ = false;
};

}  // namespace

RuntimeTable::RuntimeTable(const char* folder) noexcept : file_(TablePath(folder).text) {
    const auto* header = file_.at<Header>(0);
    if (header == nullptr) return;
    constexpr const char* magic = "lodecrt1";
    for (unsigned i = 0; i < sizeof(header->magic); ++i)
        if (header->magic[i] != magic[i]) return;
    rows_ = file_.at<RuntimeRow>(sizeof(Header), header->rows);
    names_ = file_.at<char>(header->names_at, header->name_bytes);
    if (rows_ == nullptr || names_ == nullptr) return;
    row_count_ = header->rows;
    name_count_ = header->names;
}

const char* RuntimeTable::name(std::size_t number) const noexcept {
    if (number >= name_count_) return "";
    const char* text = names_;
    for (; number > 0; --number) {
        while (*text != '\0')
            ++text;
        ++text;
    }
    return text;
}

std::uint64_t RuntimeTable::hash_of(const unsigned char* bytes) noexcept {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < window; i += sizeof(value)) {
        std::uint64_t word = 0;
        __builtin_memcpy(&word, bytes + i, sizeof(word));
        value = (value ^ word) * 0x9E3779B97F4A7C15U;
        value ^= value >> 32U;
    }
    return value;
}

bool RuntimeTable::is_section(const RuntimeRow& row, const unsigned char* code) const noexcept {
    const auto* codes = file_.at<unsigned char>(row.mask_at, row.mask_bytes);
    if (codes == nullptr) return false;
    Mask mask(codes, row.mask_bytes);
    Sha256 digest;
    unsigned char block[Sha256::block_bytes];
    std::size_t filled = 0;
    for (std::uint64_t i = 0; i < row.bytes; ++i) {
        block[filled++] = mask.covers(i) ? 0 : code[i];
        if (filled < sizeof(block)) continue;
        digest.add(block);
        filled = 0;
    }
    return digest.ends_as(block, filled, row.digest);
}

}  // namespace lode::emulator::redirect
