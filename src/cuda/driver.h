/* The parts of CUDA's driver interface and of NVRTC that this backend calls, declared here so that the library builds
 * without a CUDA toolkit. Names, numbers and layouts are those of the driver's binary interface, which does not change
 * between versions: a new layout has a new function name (_v2). functions.def lists the functions. */
#ifndef RLX_CUDA_DRIVER_H
#define RLX_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef int CUresult; /* 0: success */
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUuuid {
  unsigned char bytes[16];
} CUuuid;

enum {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_DEVICE_UNAVAILABLE = 46,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_ECC_UNCORRECTABLE = 214,
  CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  CUDA_ERROR_CONTAINED = 226,
  CUDA_ERROR_OPERATING_SYSTEM = 304,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700, /* this and the errors below end the context: every later call reports them */
  CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701, /* except this one */
  CUDA_ERROR_LAUNCH_TIMEOUT = 702,
  CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
  CUDA_ERROR_ASSERT = 710,
  CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
  CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
  CUDA_ERROR_MISALIGNED_ADDRESS = 716,
  CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
  CUDA_ERROR_INVALID_PC = 718,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720, /* this one does not */
  CUDA_ERROR_NOT_SUPPORTED = 801,
  CUDA_ERROR_UNKNOWN = 999,
};

enum { /* cuDeviceGetAttribute */
       CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
       CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
       CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
       CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
       CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
       CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
       CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
       CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
       CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
       CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
};

enum {
  CU_CTX_MAP_HOST = 8,                /* cuCtxCreate_v2; scheduling of waits is the driver's choice */
  CU_STREAM_NON_BLOCKING = 1,         /* cuStreamCreate: does not synchronise with the default stream */
  CU_STREAM_CAPTURE_MODE_RELAXED = 2, /* cuStreamBeginCapture_v2: forbids this thread nothing */
  CU_EVENT_DEFAULT = 0,               /* cuEventCreate */
  CU_EVENT_DISABLE_TIMING = 2,
  CU_MEMHOSTALLOC_DEVICEMAP = 2, /* cuMemHostAlloc */
  CU_MEMORYTYPE_DEVICE = 2,
  CU_MEMORYTYPE_UNIFIED = 4,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8, /* cuFuncSetAttribute */
  CU_JIT_ERROR_LOG_BUFFER = 5,                         /* cuModuleLoadDataEx */
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
};

typedef struct CUDA_KERNEL_NODE_PARAMS_v1 {
  CUfunction func;
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  void **params; /* pointers to the arguments, which are copied when the node is added */
  void **extra;
} CUDA_KERNEL_NODE_PARAMS_v1;

typedef struct CUDA_MEMCPY3D_v2 {
  size_t src_x, src_y, src_z, src_lod;
  int src_type;
  const void *src_host;
  CUdeviceptr src_device;
  void *src_array, *reserved0;
  size_t src_pitch, src_height;
  size_t dst_x, dst_y, dst_z, dst_lod;
  int dst_type;
  void *dst_host;
  CUdeviceptr dst_device;
  void *dst_array, *reserved1;
  size_t dst_pitch, dst_height;
  size_t width, height, depth; /* width in bytes */
} CUDA_MEMCPY3D_v2;

typedef struct CUgraphEdgeData {
  unsigned char from_port, to_port, type, reserved[5];
} CUgraphEdgeData;
enum { CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC = 1, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC = 1 };
typedef CUresult (*cu_graph_add_dependencies_fn)(CUgraph g, const CUgraphNode *from, const CUgraphNode *to,
                                                 const CUgraphEdgeData *data, size_t n);

typedef int nvrtcResult; /* 0: success */
typedef struct nvrtcProgram_st *nvrtcProgram;
enum { NVRTC_SUCCESS = 0, NVRTC_ERROR_OUT_OF_MEMORY = 1, NVRTC_ERROR_COMPILATION = 6 };

typedef struct cu_driver { /* functions of libcuda, by functions.def */
#define CU_FUNCTION(name, symbol, args) CUresult(*name) args;
#include "cuda/functions.def"
#undef CU_FUNCTION
} cu_driver;

typedef struct cu_compiler { /* functions of libnvrtc */
#define NVRTC_FUNCTION(name, args) nvrtcResult(*name) args;
#include "cuda/functions.def"
#undef NVRTC_FUNCTION
  const char *(*GetErrorString)(nvrtcResult r);
} cu_compiler;

#endif
