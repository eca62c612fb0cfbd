// A mutex for the threads of one device, and the classes that lock it.
#pragma once

namespace std {

struct adopt_lock_t {};
struct defer_lock_t {};
struct try_to_lock_t {};
static constexpr adopt_lock_t adopt_lock{};
static constexpr defer_lock_t defer_lock{};
static constexpr try_to_lock_t try_to_lock{};

class mutex {
public:
    __device__ constexpr mutex() noexcept : taken_(0) {}
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    __device__ void lock() {
        while (!try_lock()) {
#if __CUDA_ARCH__ >= 700
            __nanosleep(50);
#endif
        }
    }
    __device__ bool try_lock() {
        const bool is_mine = atomicExch(&taken_, 1) == 0;
        __threadfence();
        return is_mine;
    }
    __device__ void unlock() {
        __threadfence();
        atomicExch(&taken_, 0);
    }

private:
    int taken_;
};

// The other kinds are names of a template, so that only a use is an error.
template <class Mutex>
class __lode_absent_mutex {
    static_assert(sizeof(Mutex) == 0,
                  "Of the mutexes of <mutex>, kernels have std::mutex only: a device knows "
                  "neither the owner of a mutex nor a time-out.");
};
typedef __lode_absent_mutex<mutex> recursive_mutex;
typedef __lode_absent_mutex<mutex> timed_mutex;
typedef __lode_absent_mutex<mutex> recursive_timed_mutex;

template <class Mutex>
class lock_guard {
public:
    typedef Mutex mutex_type;
    __device__ explicit lock_guard(Mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
    __device__ lock_guard(Mutex& mutex, adopt_lock_t) : mutex_(mutex) {}
    __device__ ~lock_guard() { mutex_.unlock(); }
    lock_guard(const lock_guard&) = delete;
    lock_guard& operator=(const lock_guard&) = delete;

private:
    Mutex& mutex_;
};

template <class Mutex>
class unique_lock {
public:
    typedef Mutex mutex_type;
    __device__ unique_lock() noexcept : mutex_(nullptr), owns_(false) {}
    __device__ explicit unique_lock(Mutex& mutex) : mutex_(&mutex), owns_(false) { lock(); }
    __device__ unique_lock(Mutex& mutex, defer_lock_t) noexcept : mutex_(&mutex), owns_(false) {}
    __device__ unique_lock(Mutex& mutex, adopt_lock_t) : mutex_(&mutex), owns_(true) {}
    __device__ unique_lock(Mutex& mutex, try_to_lock_t)
        : mutex_(&mutex), owns_(mutex.try_lock()) {}
    __device__ unique_lock(unique_lock&& other) noexcept
        : mutex_(other.mutex_), owns_(other.owns_) {
        other.mutex_ = nullptr;
        other.owns_ = false;
    }
    __device__ unique_lock& operator=(unique_lock&& other) noexcept {
        if (owns_) unlock();
        mutex_ = other.mutex_;
        owns_ = other.owns_;
        other.mutex_ = nullptr;
        other.owns_ = false;
        return *this;
    }
    __device__ ~unique_lock() {
        if (owns_) unlock();
    }
    __device__ void lock() {
        mutex_->lock();
        owns_ = true;
    }
    __device__ bool try_lock() { return owns_ = mutex_->try_lock(); }
    __device__ void unlock() {
        owns_ = false;
        mutex_->unlock();
    }
    __device__ Mutex* release() noexcept {
        Mutex* const mutex = mutex_;
        mutex_ = nullptr;
        owns_ = false;
        return mutex;
    }
    __device__ Mutex* mutex() const noexcept { return mutex_; }
    __device__ bool owns_lock() const noexcept { return owns_; }
    __device__ explicit operator bool() const noexcept { return owns_; }

private:
    Mutex* mutex_;
    bool owns_;
};

/// Locks all of them or none.
__device__ inline int try_lock() {
    return -1;
}
template <class First, class... Rest>
__device__ int try_lock(First& first, Rest&... rest) {
    if (!first.try_lock()) return 0;
    const int failed = std::try_lock(rest...);
    if (failed < 0) return -1;
    first.unlock();
    return failed + 1;
}
template <class... Mutexes>
__device__ void lock(Mutexes&... mutexes) {
    while (std::try_lock(mutexes...) >= 0) {
#if __CUDA_ARCH__ >= 700
        __nanosleep(50);
#endif
    }
}

#if __cplusplus >= 201703L
template <class... Mutexes>
class scoped_lock {
public:
    __device__ explicit scoped_lock(Mutexes&... mutexes) : mutexes_(mutexes...) {
        std::lock(mutexes...);
    }
    __device__ ~scoped_lock() { mutexes_.unlock(); }
    scoped_lock(const scoped_lock&) = delete;
    scoped_lock& operator=(const scoped_lock&) = delete;

private:
    template <class...>
    struct References {
        __device__ void unlock() {}
    };
    template <class First, class... Rest>
    struct References<First, Rest...> {
        __device__ explicit References(First& first, Rest&... rest)
            : first_(first), rest_(rest...) {}
        __device__ void unlock() {
            first_.unlock();
            rest_.unlock();
        }
        First& first_;
        References<Rest...> rest_;
    };
    References<Mutexes...> mutexes_;
};
#endif

class once_flag {
public:
    __device__ constexpr once_flag() noexcept : state_(0) {}
    once_flag(const once_flag&) = delete;
    once_flag& operator=(const once_flag&) = delete;

private:
    template <class Function, class... Args>
    friend __device__ void call_once(once_flag& flag, Function&& function, Args&&... args);
    int state_;  ///< 0: not called, 1: being called, 2: called.
};

template <class Function, class... Args>
__device__ void call_once(once_flag& flag, Function&& function, Args&&... args) {
    for (;;) {
        const int before = atomicCAS(&flag.state_, 0, 1);
        __threadfence();
        if (before == 2) return;
        if (before == 1) continue;
        static_cast<Function&&>(function)(static_cast<Args&&>(args)...);
        __threadfence();
        atomicExch(&flag.state_, 2);
        return;
    }
}

}  // namespace std
