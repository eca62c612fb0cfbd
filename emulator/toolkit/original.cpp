// Stands in for NVIDIA's library while the linker makes a stand-in that depends on it.
