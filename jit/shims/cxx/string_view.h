// <string_view> from libcu++, or lode's own where libcu++ has none.
#pragma once
#if __has_include(<cuda/std/string_view>)
#include <cuda/std/string_view>

namespace std {
using namespace cuda::std;
}
#elif __cplusplus >= 201703L
#include <stddef.h>

namespace std {

template <class CharT, class Traits = void>
class basic_string_view {
public:
    typedef Traits traits_type;
    typedef CharT value_type;
    typedef const CharT* pointer;
    typedef const CharT* const_pointer;
    typedef const CharT& reference;
    typedef const CharT& const_reference;
    typedef const CharT* iterator;
    typedef const CharT* const_iterator;
    typedef size_t size_type;
    typedef ptrdiff_t difference_type;
    static constexpr size_type npos = static_cast<size_type>(-1);

    __device__ constexpr basic_string_view() noexcept : data_(nullptr), size_(0) {}
    __device__ constexpr basic_string_view(const CharT* text, size_type size)
        : data_(text), size_(size) {}
    __device__ constexpr basic_string_view(const CharT* text) : data_(text), size_(0) {
        while (text[size_] != CharT())
            ++size_;
    }
    basic_string_view(nullptr_t) = delete;

    __device__ constexpr const CharT* begin() const noexcept { return data_; }
    __device__ constexpr const CharT* end() const noexcept { return data_ + size_; }
    __device__ constexpr const CharT* cbegin() const noexcept { return data_; }
    __device__ constexpr const CharT* cend() const noexcept { return data_ + size_; }
    __device__ constexpr const CharT* data() const noexcept { return data_; }
    __device__ constexpr size_type size() const noexcept { return size_; }
    __device__ constexpr size_type length() const noexcept { return size_; }
    __device__ constexpr bool empty() const noexcept { return size_ == 0; }
    __device__ constexpr const CharT& operator[](size_type at) const { return data_[at]; }
    __device__ constexpr const CharT& front() const { return data_[0]; }
    __device__ constexpr const CharT& back() const { return data_[size_ - 1]; }

    __device__ constexpr void remove_prefix(size_type count) {
        data_ += count;
        size_ -= count;
    }
    __device__ constexpr void remove_suffix(size_type count) { size_ -= count; }
    __device__ constexpr void swap(basic_string_view& other) noexcept {
        const basic_string_view before = *this;
        *this = other;
        other = before;
    }
    /// The part from `at` on. The standard throws for an `at` beyond the end; this ends the kernel.
    __device__ constexpr basic_string_view substr(size_type at = 0, size_type count = npos) const {
        if (at > size_) __trap();
        return basic_string_view(data_ + at, count < size_ - at ? count : size_ - at);
    }
    __device__ constexpr int compare(basic_string_view other) const noexcept {
        for (size_type i = 0; i < size_ && i < other.size_; ++i) {
            if (data_[i] != other.data_[i]) return less(data_[i], other.data_[i]) ? -1 : 1;
        }
        return size_ == other.size_ ? 0 : size_ < other.size_ ? -1 : 1;
    }
    __device__ constexpr bool starts_with(basic_string_view text) const noexcept {
        return size_ >= text.size_ && substr(0, text.size_).compare(text) == 0;
    }
    __device__ constexpr bool ends_with(basic_string_view text) const noexcept {
        return size_ >= text.size_ && substr(size_ - text.size_).compare(text) == 0;
    }
    __device__ constexpr size_type find(basic_string_view text, size_type from = 0) const noexcept {
        for (size_type at = from; at <= size_ && text.size_ <= size_ - at; ++at) {
            if (substr(at, text.size_).compare(text) == 0) return at;
        }
        return npos;
    }
    __device__ constexpr size_type find(CharT wanted, size_type from = 0) const noexcept {
        return find(basic_string_view(&wanted, 1), from);
    }
    __device__ constexpr size_type rfind(basic_string_view text,
                                         size_type from = npos) const noexcept {
        if (text.size_ > size_) return npos;
        const size_type last = size_ - text.size_;
        for (size_type at = from < last ? from : last;; --at) {
            if (substr(at, text.size_).compare(text) == 0) return at;
            if (at == 0) return npos;
        }
    }
    __device__ constexpr size_type rfind(CharT wanted, size_type from = npos) const noexcept {
        return rfind(basic_string_view(&wanted, 1), from);
    }
    __device__ constexpr size_type find_first_of(basic_string_view any,
                                                 size_type from = 0) const noexcept {
        for (size_type at = from; at < size_; ++at) {
            if (any.find(data_[at]) != npos) return at;
        }
        return npos;
    }
    __device__ constexpr size_type find_first_not_of(basic_string_view any,
                                                     size_type from = 0) const noexcept {
        for (size_type at = from; at < size_; ++at) {
            if (any.find(data_[at]) == npos) return at;
        }
        return npos;
    }

    // Friends, so that a literal or an array converts on either side.
    friend __device__ constexpr bool operator==(basic_string_view a, basic_string_view b) noexcept {
        return a.size_ == b.size_ && a.compare(b) == 0;
    }
    friend __device__ constexpr bool operator!=(basic_string_view a, basic_string_view b) noexcept {
        return !(a == b);
    }
    friend __device__ constexpr bool operator<(basic_string_view a, basic_string_view b) noexcept {
        return a.compare(b) < 0;
    }
    friend __device__ constexpr bool operator>(basic_string_view a, basic_string_view b) noexcept {
        return b < a;
    }
    friend __device__ constexpr bool operator<=(basic_string_view a, basic_string_view b) noexcept {
        return !(b < a);
    }
    friend __device__ constexpr bool operator>=(basic_string_view a, basic_string_view b) noexcept {
        return !(a < b);
    }

private:
    /// Characters are ordered as unsigned ones, as std::char_traits<char> does.
    static __device__ constexpr bool less(CharT a, CharT b) noexcept {
        if constexpr (sizeof(CharT) == 1) {
            return static_cast<unsigned char>(a) < static_cast<unsigned char>(b);
        } else {
            return a < b;
        }
    }

    const CharT* data_;
    size_type size_;
};

typedef basic_string_view<char> string_view;
typedef basic_string_view<wchar_t> wstring_view;
typedef basic_string_view<char16_t> u16string_view;
typedef basic_string_view<char32_t> u32string_view;

inline namespace literals {
inline namespace string_view_literals {
__device__ constexpr string_view operator""sv(const char* text, size_t size) noexcept {
    return string_view(text, size);
}
}  // namespace string_view_literals
}  // namespace literals

}  // namespace std
#endif
