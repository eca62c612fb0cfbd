// Thrust's own file, with an end of the kernel where it throws.
#define throw __trap(), (void)
#include <./thrust/detail/allocator/temporary_allocator.inl>
#undef throw
