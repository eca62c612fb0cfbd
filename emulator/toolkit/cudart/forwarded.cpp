// Functions that are those of the driver under another name.
#include "emulator/toolkit/cudart/runtime.hpp"

using namespace lode::emulator::cudart;

LODE_RUNTIME cudaDeviceSynchronize() {
    return forward(cuCtxSynchronize);
}

LODE_RUNTIME cudaDeviceGetLimit(size_t* pValue, cudaLimit limit) {
    return forward(cuCtxGetLimit, pValue, limit);
}

LODE_RUNTIME cudaDeviceSetLimit(cudaLimit limit, size_t value) {
    return forward(cuCtxSetLimit, limit, value);
}

LODE_RUNTIME cudaDeviceGetCacheConfig(cudaFuncCache* pCacheConfig) {
    return forward(cuCtxGetCacheConfig, pCacheConfig);
}

LODE_RUNTIME cudaDeviceSetCacheConfig(cudaFuncCache cacheConfig) {
    return forward(cuCtxSetCacheConfig, cacheConfig);
}

LODE_RUNTIME cudaDeviceGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
    return forward(cuCtxGetStreamPriorityRange, leastPriority, greatestPriority);
}

LODE_RUNTIME cudaCtxResetPersistingL2Cache() {
    return forward(cuCtxResetPersistingL2Cache);
}

LODE_RUNTIME cudaDeviceGetAttribute(int* value, cudaDeviceAttr attr, int device) {
    return forward(cuDeviceGetAttribute, value, attr, device);
}

LODE_RUNTIME cudaDeviceCanAccessPeer(int* canAccessPeer, int device, int peerDevice) {
    return forward(cuDeviceCanAccessPeer, canAccessPeer, device, peerDevice);
}

LODE_RUNTIME cudaDeviceGetPCIBusId(char* pciBusId, int len, int device) {
    return forward(cuDeviceGetPCIBusId, pciBusId, len, device);
}

LODE_RUNTIME cudaDeviceGetByPCIBusId(int* device, const char* pciBusId) {
    return forward(cuDeviceGetByPCIBusId, device, pciBusId);
}

LODE_RUNTIME cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attr, int srcDevice,
                                       int dstDevice) {
    return forward(cuDeviceGetP2PAttribute, value, attr, srcDevice, dstDevice);
}

LODE_RUNTIME cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attr,
                                            void* value) {
    return forward(cuDeviceGetGraphMemAttribute, device, attr, value);
}

LODE_RUNTIME cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attr,
                                            void* value) {
    return forward(cuDeviceSetGraphMemAttribute, device, attr, value);
}

LODE_RUNTIME cudaDeviceGraphMemTrim(int device) {
    return forward(cuDeviceGraphMemTrim, device);
}

LODE_RUNTIME cudaDeviceGetDefaultMemPool(cudaMemPool_t* memPool, int device) {
    return forward(cuDeviceGetDefaultMemPool, memPool, device);
}

LODE_RUNTIME cudaDeviceGetMemPool(cudaMemPool_t* memPool, int device) {
    return forward(cuDeviceGetMemPool, memPool, device);
}

LODE_RUNTIME cudaDeviceSetMemPool(int device, cudaMemPool_t memPool) {
    return forward(cuDeviceSetMemPool, device, memPool);
}

LODE_RUNTIME cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
    return forward(cuEventCreate, event, flags);
}

LODE_RUNTIME cudaEventDestroy(cudaEvent_t event) {
    return forward(cuEventDestroy, event);
}

LODE_RUNTIME cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
    return forward(cuEventElapsedTime, ms, start, end);
}

LODE_RUNTIME cudaEventQuery(cudaEvent_t event) {
    return forward(cuEventQuery, event);
}

LODE_RUNTIME cudaEventSynchronize(cudaEvent_t event) {
    return forward(cuEventSynchronize, event);
}

LODE_RUNTIME cudaStreamDestroy(cudaStream_t stream) {
    return forward(cuStreamDestroy, stream);
}

LODE_RUNTIME cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
    return forward(cuThreadExchangeStreamCaptureMode, mode);
}

LODE_RUNTIME cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event) {
    return forward(cuIpcGetEventHandle, handle, event);
}

LODE_RUNTIME cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle) {
    return forward(cuIpcOpenEventHandle, event, handle);
}

LODE_RUNTIME cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* devPtr) {
    return forward(cuIpcGetMemHandle, handle, devPtr);
}

LODE_RUNTIME cudaIpcOpenMemHandle(void** devPtr, cudaIpcMemHandle_t handle, unsigned int flags) {
    return forward(cuIpcOpenMemHandle, devPtr, handle, flags);
}

LODE_RUNTIME cudaIpcCloseMemHandle(void* devPtr) {
    return forward(cuIpcCloseMemHandle, devPtr);
}

LODE_RUNTIME cudaHostGetDevicePointer(void** pDevice, void* pHost, unsigned int flags) {
    return forward(cuMemHostGetDevicePointer, pDevice, pHost, flags);
}

LODE_RUNTIME cudaHostGetFlags(unsigned int* pFlags, void* pHost) {
    return forward(cuMemHostGetFlags, pFlags, pHost);
}

LODE_RUNTIME cudaHostRegister(void* ptr, size_t size, unsigned int flags) {
    return forward(cuMemHostRegister, ptr, size, flags);
}

LODE_RUNTIME cudaHostUnregister(void* ptr) {
    return forward(cuMemHostUnregister, ptr);
}

LODE_RUNTIME cudaHostAlloc(void** pHost, size_t size, unsigned int flags) {
    return forward(cuMemHostAlloc, pHost, size, flags);
}

LODE_RUNTIME cudaMallocManaged(void** devPtr, size_t size, unsigned int flags) {
    return forward(cuMemAllocManaged, devPtr, size, flags);
}

LODE_RUNTIME cudaMemGetInfo(size_t* free, size_t* total) {
    return forward(cuMemGetInfo, free, total);
}

LODE_RUNTIME cudaMemAdvise(const void* devPtr, size_t count, cudaMemoryAdvise advice,
                           cudaMemLocation location) {
    return forward(cuMemAdvise, devPtr, count, advice, location);
}

LODE_RUNTIME cudaMemRangeGetAttribute(void* data, size_t dataSize, cudaMemRangeAttribute attribute,
                                      const void* devPtr, size_t count) {
    return forward(cuMemRangeGetAttribute, data, dataSize, attribute, devPtr, count);
}

LODE_RUNTIME cudaMemRangeGetAttributes(void** data, size_t* dataSizes,
                                       cudaMemRangeAttribute* attributes, size_t numAttributes,
                                       const void* devPtr, size_t count) {
    return forward(cuMemRangeGetAttributes, data, dataSizes, attributes, numAttributes, devPtr,
                   count);
}

LODE_RUNTIME cudaMemPoolCreate(cudaMemPool_t* memPool, const cudaMemPoolProps* poolProps) {
    return forward(cuMemPoolCreate, memPool, poolProps);
}

LODE_RUNTIME cudaMemPoolDestroy(cudaMemPool_t memPool) {
    return forward(cuMemPoolDestroy, memPool);
}

LODE_RUNTIME cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep) {
    return forward(cuMemPoolTrimTo, memPool, minBytesToKeep);
}

LODE_RUNTIME cudaMemPoolGetAttribute(cudaMemPool_t memPool, cudaMemPoolAttr attr, void* value) {
    return forward(cuMemPoolGetAttribute, memPool, attr, value);
}

LODE_RUNTIME cudaMemPoolSetAttribute(cudaMemPool_t memPool, cudaMemPoolAttr attr, void* value) {
    return forward(cuMemPoolSetAttribute, memPool, attr, value);
}

LODE_RUNTIME cudaMemPoolSetAccess(cudaMemPool_t memPool, const cudaMemAccessDesc* descList,
                                  size_t count) {
    return forward(cuMemPoolSetAccess, memPool, descList, count);
}

LODE_RUNTIME cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t memPool,
                                  cudaMemLocation* location) {
    return forward(cuMemPoolGetAccess, flags, memPool, location);
}

LODE_RUNTIME cudaMemPoolExportPointer(cudaMemPoolPtrExportData* exportData, void* ptr) {
    return forward(cuMemPoolExportPointer, exportData, ptr);
}

LODE_RUNTIME cudaMemPoolExportToShareableHandle(void* shareableHandle, cudaMemPool_t memPool,
                                                cudaMemAllocationHandleType handleType,
                                                unsigned int flags) {
    return forward(cuMemPoolExportToShareableHandle, shareableHandle, memPool, handleType, flags);
}

LODE_RUNTIME cudaMemPoolImportFromShareableHandle(cudaMemPool_t* memPool, void* shareableHandle,
                                                  cudaMemAllocationHandleType handleType,
                                                  unsigned int flags) {
    return forward(cuMemPoolImportFromShareableHandle, memPool, shareableHandle, handleType, flags);
}

LODE_RUNTIME cudaMemPoolImportPointer(void** ptr, cudaMemPool_t memPool,
                                      cudaMemPoolPtrExportData* exportData) {
    return forward(cuMemPoolImportPointer, ptr, memPool, exportData);
}

LODE_RUNTIME cudaDestroyExternalMemory(cudaExternalMemory_t extMem) {
    return forward(cuDestroyExternalMemory, extMem);
}

LODE_RUNTIME cudaDestroyExternalSemaphore(cudaExternalSemaphore_t extSem) {
    return forward(cuDestroyExternalSemaphore, extSem);
}

LODE_RUNTIME cudaDestroyTextureObject(cudaTextureObject_t texObject) {
    return forward(cuTexObjectDestroy, texObject);
}

LODE_RUNTIME cudaDestroySurfaceObject(cudaSurfaceObject_t surfObject) {
    return forward(cuSurfObjectDestroy, surfObject);
}

LODE_RUNTIME cudaFreeMipmappedArray(cudaMipmappedArray_t mipmappedArray) {
    return forward(cuMipmappedArrayDestroy, mipmappedArray);
}

LODE_RUNTIME cudaGetMipmappedArrayLevel(cudaArray_t* levelArray,
                                        cudaMipmappedArray_const_t mipmappedArray,
                                        unsigned int level) {
    return forward(cuMipmappedArrayGetLevel, levelArray, mipmappedArray, level);
}

LODE_RUNTIME cudaArrayGetPlane(cudaArray_t* pPlaneArray, cudaArray_t hArray,
                               unsigned int planeIdx) {
    return forward(cuArrayGetPlane, pPlaneArray, hArray, planeIdx);
}

LODE_RUNTIME cudaArrayGetMemoryRequirements(cudaArrayMemoryRequirements* memoryRequirements,
                                            cudaArray_t array, int device) {
    return forward(cuArrayGetMemoryRequirements, memoryRequirements, array, device);
}

LODE_RUNTIME cudaArrayGetSparseProperties(cudaArraySparseProperties* sparseProperties,
                                          cudaArray_t array) {
    return forward(cuArrayGetSparseProperties, sparseProperties, array);
}

LODE_RUNTIME cudaMipmappedArrayGetMemoryRequirements(
    cudaArrayMemoryRequirements* memoryRequirements, cudaMipmappedArray_t mipmap, int device) {
    return forward(cuMipmappedArrayGetMemoryRequirements, memoryRequirements, mipmap, device);
}

LODE_RUNTIME cudaMipmappedArrayGetSparseProperties(cudaArraySparseProperties* sparseProperties,
                                                   cudaMipmappedArray_t mipmap) {
    return forward(cuMipmappedArrayGetSparseProperties, sparseProperties, mipmap);
}

LODE_RUNTIME cudaLibraryGetGlobal(void** dptr, size_t* bytes, cudaLibrary_t library,
                                  const char* name) {
    return forward(cuLibraryGetGlobal, dptr, bytes, library, name);
}

LODE_RUNTIME cudaLibraryGetManaged(void** dptr, size_t* bytes, cudaLibrary_t library,
                                   const char* name) {
    return forward(cuLibraryGetManaged, dptr, bytes, library, name);
}

LODE_RUNTIME cudaLibraryGetKernel(cudaKernel_t* pKernel, cudaLibrary_t library, const char* name) {
    return forward(cuLibraryGetKernel, pKernel, library, name);
}

LODE_RUNTIME cudaLibraryGetKernelCount(unsigned int* count, cudaLibrary_t lib) {
    return forward(cuLibraryGetKernelCount, count, lib);
}

LODE_RUNTIME cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned int numKernels,
                                         cudaLibrary_t lib) {
    return forward(cuLibraryEnumerateKernels, kernels, numKernels, lib);
}

LODE_RUNTIME cudaLibraryGetUnifiedFunction(void** fptr, cudaLibrary_t library, const char* symbol) {
    return forward(cuLibraryGetUnifiedFunction, fptr, library, symbol);
}

LODE_RUNTIME cudaLibraryLoadData(cudaLibrary_t* library, const void* code,
                                 cudaJitOption* jitOptions, void** jitOptionsValues,
                                 unsigned int numJitOptions, cudaLibraryOption* libraryOptions,
                                 void** libraryOptionValues, unsigned int numLibraryOptions) {
    return forward(cuLibraryLoadData, library, code, jitOptions, jitOptionsValues, numJitOptions,
                   libraryOptions, libraryOptionValues, numLibraryOptions);
}

LODE_RUNTIME cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* fileName,
                                     cudaJitOption* jitOptions, void** jitOptionsValues,
                                     unsigned int numJitOptions, cudaLibraryOption* libraryOptions,
                                     void** libraryOptionValues, unsigned int numLibraryOptions) {
    return forward(cuLibraryLoadFromFile, library, fileName, jitOptions, jitOptionsValues,
                   numJitOptions, libraryOptions, libraryOptionValues, numLibraryOptions);
}

LODE_RUNTIME cudaLibraryUnload(cudaLibrary_t library) {
    return forward(cuLibraryUnload, library);
}

LODE_RUNTIME cudaLogsCurrent(cudaLogIterator* iterator_out, unsigned int flags) {
    return forward(cuLogsCurrent, iterator_out, flags);
}

LODE_RUNTIME cudaLogsDumpToFile(cudaLogIterator* iterator, const char* pathToFile,
                                unsigned int flags) {
    return forward(cuLogsDumpToFile, iterator, pathToFile, flags);
}

LODE_RUNTIME cudaLogsDumpToMemory(cudaLogIterator* iterator, char* buffer, size_t* size,
                                  unsigned int flags) {
    return forward(cuLogsDumpToMemory, iterator, buffer, size, flags);
}

LODE_RUNTIME cudaLogsRegisterCallback(cudaLogsCallback_t callbackFunc, void* userData,
                                      cudaLogsCallbackHandle* callback_out) {
    return forward(cuLogsRegisterCallback, callbackFunc, userData, callback_out);
}

LODE_RUNTIME cudaLogsUnregisterCallback(cudaLogsCallbackHandle callback) {
    return forward(cuLogsUnregisterCallback, callback);
}
