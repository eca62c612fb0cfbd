// assert is NVRTC's own; -DNDEBUG disables it.
#pragma once
