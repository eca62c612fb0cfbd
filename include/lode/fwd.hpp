/// \file
/// Declarations of the classes that hosts name in their own headers. It includes no other header.
#pragma once

#include <lode/base/api.hpp>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

struct Error;
template <class T>
class Pending;

class Arch;
class Batch;
class CachedCompiler;
class Compiler;
class Linker;
class Source;
struct CacheOptions;
struct CompileOptions;
struct CompileRequest;
struct Image;

class Capture;
class Device;
class Event;
class Graph;
class GraphExec;
class Library;
class MemoryPool;
class Runtime;
class Stream;
class StreamRef;
class Surface;
class Texture;
class UntypedKernel;
class VariantLoader;
class Watcher;
struct Dim3;
struct KernelFamily;
struct LaunchShape;
struct RuntimeOptions;

template <class Signature>
class Kernel;
template <class Signature>
class PreparedLaunch;

template <class T>
class Array;
template <class T>
class AsyncBuffer;
template <class T>
class DeviceBuffer;
template <class T>
class DeviceSpan;
template <class T>
class GrowableBuffer;
template <class T>
class ManagedBuffer;
template <class T>
class PinnedBuffer;
template <class T>
class PitchedBuffer;
template <class T>
class SharedBuffer;

}  // namespace LODE_NAMESPACE

LODE_API_END
