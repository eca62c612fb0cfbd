// The exception classes. An object keeps the pointer to its message, which must outlive it; a
// literal does.
#pragma once
#include <exception>

namespace std {

#define __LODE_EXCEPTION(name, base)                            \
    class name : public base {                                  \
    public:                                                     \
        __device__ explicit name(const char* what) : base(what) {} \
    };

class logic_error : public exception {
public:
    __device__ explicit logic_error(const char* what) : what_(what) {}
    __device__ const char* what() const noexcept override { return what_; }

private:
    const char* what_;
};
class runtime_error : public exception {
public:
    __device__ explicit runtime_error(const char* what) : what_(what) {}
    __device__ const char* what() const noexcept override { return what_; }

private:
    const char* what_;
};
__LODE_EXCEPTION(domain_error, logic_error)
__LODE_EXCEPTION(invalid_argument, logic_error)
__LODE_EXCEPTION(length_error, logic_error)
__LODE_EXCEPTION(out_of_range, logic_error)
__LODE_EXCEPTION(overflow_error, runtime_error)
__LODE_EXCEPTION(range_error, runtime_error)
__LODE_EXCEPTION(underflow_error, runtime_error)
#undef __LODE_EXCEPTION

}  // namespace std
