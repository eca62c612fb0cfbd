// Thrust's exception for memory that runs out, without the std::string of its message.
#pragma once
#include <new>
#include <thrust/detail/config.h>

THRUST_NAMESPACE_BEGIN
namespace system {
namespace detail {
class bad_alloc : public ::std::bad_alloc {
public:
    template <class Message>
    __device__ explicit bad_alloc(const Message&) {}
};
}  // namespace detail
}  // namespace system
THRUST_NAMESPACE_END
