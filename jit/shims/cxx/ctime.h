// <time.h> in namespace std.
#pragma once
#include <time.h>

namespace std {
using ::asctime;
using ::clock;
using ::clock_t;
using ::ctime;
using ::difftime;
using ::gmtime;
using ::localtime;
using ::mktime;
using ::size_t;
using ::strftime;
using ::time;
using ::time_t;
using ::timespec;
using ::timespec_get;
using ::tm;
}  // namespace std
