/* The C interface of primsel: networks from ONNX files or by name, planned and run. It needs the library `primsel`
 * (CMake: -DPRIMSEL_C=ON, target primsel::c). C99 and C++.
 *
 * Every function that can fail returns a status and, where it fails, changes nothing that its arguments point to but
 * the memory of results; primsel_last_error() says why in words. Handles are made by functions whose last argument takes
 * them, and freed by the function of the same type; freeing NULL does nothing. No exception leaves the library. */
#ifndef PRIMSEL_H
#define PRIMSEL_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && defined(PRIMSEL_C_BUILDING)
#define PRIMSEL_C_API __declspec(dllexport)
#elif defined(_WIN32)
#define PRIMSEL_C_API __declspec(dllimport)
#else
#define PRIMSEL_C_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum primsel_status {
    PRIMSEL_OK = 0,
    PRIMSEL_BAD_ARGUMENT = 1, /* NULL, a wrong number of floats, a value that is out of range */
    PRIMSEL_FAILED = 2,       /* a file that cannot be read, a network that cannot run, a bound that cannot be kept */
    PRIMSEL_NO_MEMORY = 3
} primsel_status;

/* Returns the message of the last call of this thread that failed, or "" if none has. The text stays valid until the
 * next call of this thread that fails. */
PRIMSEL_C_API const char* primsel_last_error(void);
/* Returns "major.minor.patch". */
PRIMSEL_C_API const char* primsel_version(void);
/* Returns the instruction set that runs, as in plans: "fma3+avx2". */
PRIMSEL_C_API const char* primsel_arch(void);

/* Frees a text that a function below returned. */
PRIMSEL_C_API void primsel_text_free(char* text);

/* --- options */

/* How a network is loaded and planned. NULL in place of options means these defaults: the batch and sizes of the file,
 * random weights for a network by name, one thread, 32-bit floats, no bounds. */
typedef struct primsel_options primsel_options;

PRIMSEL_C_API primsel_status primsel_options_new(primsel_options** options);
PRIMSEL_C_API void primsel_options_free(primsel_options* options);
/* Images that run together, at least 1. */
PRIMSEL_C_API primsel_status primsel_options_set_batch(primsel_options* options, int batch);
/* Height and width of the images, where an ONNX file leaves them open, or in place of those of a network by name. */
PRIMSEL_C_API primsel_status primsel_options_set_size(primsel_options* options, int height, int width);
/* All dimensions of an input of an ONNX file, the batch included; also in place of those in the file. */
PRIMSEL_C_API primsel_status primsel_options_set_dims(primsel_options* options, const char* input, const int64_t* dims,
                                                      size_t rank);
/* A safetensors file (or one of PyTorch's names and shapes) with the weights. */
PRIMSEL_C_API primsel_status primsel_options_set_weights(primsel_options* options, const char* path);
/* Threads that share a run; 0: as many as the process may use. */
PRIMSEL_C_API primsel_status primsel_options_set_threads(primsel_options* options, size_t threads);
/* The least precise type in which layers may compute: "float32", "f16", "bf16" or "int8". */
PRIMSEL_C_API primsel_status primsel_options_set_precision(primsel_options* options, const char* precision);
/* The largest error of a layer, relative to the root mean square of its result. */
PRIMSEL_C_API primsel_status primsel_options_set_max_error(primsel_options* options, double max_error);
/* The most bytes of an engine's memory for what lies between layers. Weights are not counted. */
PRIMSEL_C_API primsel_status primsel_options_set_memory_limit(primsel_options* options, size_t bytes);
/* A plan as primsel_engine_plan_json returned it, to be used in place of a new one. */
PRIMSEL_C_API primsel_status primsel_options_set_plan(primsel_options* options, const char* json);

/* --- networks */

typedef struct primsel_network primsel_network;

/* Reads an ONNX file. */
PRIMSEL_C_API primsel_status primsel_network_load(const char* path, const primsel_options* options,
                                                  primsel_network** network);
/* Reads an ONNX file that is in memory; the bytes are copied. Weights in further files are refused. */
PRIMSEL_C_API primsel_status primsel_network_parse(const void* bytes, size_t size, const primsel_options* options,
                                                   primsel_network** network);
/* Makes a network of the zoo: "resnet50". */
PRIMSEL_C_API primsel_status primsel_network_by_name(const char* name, const primsel_options* options,
                                                     primsel_network** network);
/* Returns the name of the i-th network of the zoo, or NULL from the first number on that has none. */
PRIMSEL_C_API const char* primsel_network_name(size_t i);
PRIMSEL_C_API void primsel_network_free(primsel_network* network);

/* --- engines */

/* A network that is planned and ready to run. It keeps what it needs of the network, which may be freed. Calls from
 * several threads wait for each other; each engine has memory of its own, so several may run at a time. */
typedef struct primsel_engine primsel_engine;

/* An input or output: floats in row-major order, of images (n, c, h, w). */
typedef struct primsel_tensor {
    const char* name; /* valid as long as the engine, as dims is */
    const int64_t* dims;
    size_t rank;
    size_t floats; /* in all */
} primsel_tensor;

PRIMSEL_C_API primsel_status primsel_engine_new(const primsel_network* network, const primsel_options* options,
                                                primsel_engine** engine);
PRIMSEL_C_API void primsel_engine_free(primsel_engine* engine);

PRIMSEL_C_API primsel_status primsel_engine_inputs(const primsel_engine* engine, size_t* count);
PRIMSEL_C_API primsel_status primsel_engine_outputs(const primsel_engine* engine, size_t* count);
PRIMSEL_C_API primsel_status primsel_engine_input(const primsel_engine* engine, size_t i, primsel_tensor* tensor);
PRIMSEL_C_API primsel_status primsel_engine_output(const primsel_engine* engine, size_t i, primsel_tensor* tensor);

/* Runs a network of one input and one output on the caller's floats; no float is copied before. `src_floats` and
 * `dst_floats` are those of the two buffers, which must not overlap. It allocates nothing. */
PRIMSEL_C_API primsel_status primsel_engine_run(primsel_engine* engine, const float* src, size_t src_floats, float* dst,
                                                size_t dst_floats);
/* The same for any number of inputs and outputs. */
PRIMSEL_C_API primsel_status primsel_engine_run_all(primsel_engine* engine, const float* const* srcs,
                                                    const size_t* src_floats, size_t src_count, float* const* dsts,
                                                    const size_t* dst_floats, size_t dst_count);

/* What a run is predicted to take, in seconds. */
PRIMSEL_C_API primsel_status primsel_engine_seconds(const primsel_engine* engine, double* seconds);
/* Bytes for what lies between layers, and of the weights as they are packed. Either may be NULL. */
PRIMSEL_C_API primsel_status primsel_engine_memory(const primsel_engine* engine, size_t* arena_bytes,
                                                   size_t* weight_bytes);
/* The plan as a table, and as JSON that primsel_options_set_plan takes: the primitive, layouts and predicted time of each
 * layer. primsel_text_free frees the texts. */
PRIMSEL_C_API primsel_status primsel_engine_plan_text(const primsel_engine* engine, char** text);
PRIMSEL_C_API primsel_status primsel_engine_plan_json(const primsel_engine* engine, char** json);
/* Every way to compute a layer, with its predicted time or the reason why it cannot be used. */
PRIMSEL_C_API primsel_status primsel_engine_explain(const primsel_engine* engine, const char* layer, char** text);

#ifdef __cplusplus
}
#endif

#endif
