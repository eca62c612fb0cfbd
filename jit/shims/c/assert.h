// assert is NVRTC's own; -DNDEBUG switches it off.
#pragma once
