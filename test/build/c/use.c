/* use <model.onnx>...: the C interface from C. Each file that is named is loaded by its path and by its bytes. */
#include <primsel/primsel.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

#define CHECK(condition)                                                        \
    do {                                                                        \
        if (!(condition)) {                                                     \
            ++failures;                                                         \
            fprintf(stderr, "%s:%d: %s\n  last error: %s\n", __FILE__, __LINE__, #condition, primsel_last_error()); \
        }                                                                       \
    } while (0)

static int says(const char* words) { return strstr(primsel_last_error(), words) != NULL; }

static float* random_floats(size_t count) {
    float* const values = malloc(count * sizeof(float));
    unsigned state = 1;
    size_t i;
    for (i = 0; i < count; ++i) {
        state = state * 1664525U + 1013904223U;
        values[i] = (float)(state >> 8) / 16777216.0F - 0.5F;
    }
    return values;
}

/* The result of an engine of one input and one output, to be freed; its floats are counted in *count. */
static float* result_of(primsel_engine* engine, size_t* count) {
    primsel_tensor in, out;
    float *src, *dst;
    CHECK(primsel_engine_input(engine, 0, &in) == PRIMSEL_OK);
    CHECK(primsel_engine_output(engine, 0, &out) == PRIMSEL_OK);
    src = random_floats(in.floats);
    dst = calloc(out.floats, sizeof(float));
    CHECK(primsel_engine_run(engine, src, in.floats, dst, out.floats) == PRIMSEL_OK);
    free(src);
    *count = out.floats;
    return dst;
}
static double largest_difference(const float* a, const float* b, size_t count) {
    double largest = 0;
    size_t i;
    for (i = 0; i < count; ++i) {
        const double difference = fabs((double)a[i] - (double)b[i]);
        if (!(difference <= largest)) largest = difference; /* NaN too */
    }
    return largest;
}

static primsel_engine* engine_by_name(const char* name, const primsel_options* options) {
    primsel_network* network = NULL;
    primsel_engine* engine = NULL;
    CHECK(primsel_network_by_name(name, options, &network) == PRIMSEL_OK);
    CHECK(primsel_engine_new(network, options, &engine) == PRIMSEL_OK);
    primsel_network_free(network); /* the engine needs it no more */
    return engine;
}

static void test_names(void) {
    size_t i = 0;
    int known = 0;
    for (; primsel_network_name(i) != NULL; ++i) known += strcmp(primsel_network_name(i), "resnet18") == 0;
    CHECK(i > 30 && known == 1);
    CHECK(primsel_network_name((size_t)-1) == NULL);
    CHECK(strchr(primsel_version(), '.') != NULL);
    CHECK(strlen(primsel_arch()) > 0);
}

static void test_engine(void) {
    primsel_options* options = NULL;
    primsel_engine *engine, *again, *threaded;
    primsel_tensor in, out;
    size_t count = 0, inputs = 0, outputs = 0, arena = 0, weights = 0;
    double seconds = 0;
    char *text = NULL, *json = NULL;
    float *once, *twice;

    CHECK(primsel_options_new(&options) == PRIMSEL_OK);
    CHECK(primsel_options_set_size(options, 64, 48) == PRIMSEL_OK);
    CHECK(primsel_options_set_batch(options, 2) == PRIMSEL_OK);
    engine = engine_by_name("squeezenet1_1", options);
    CHECK(primsel_engine_inputs(engine, &inputs) == PRIMSEL_OK && inputs == 1);
    CHECK(primsel_engine_outputs(engine, &outputs) == PRIMSEL_OK && outputs == 1);
    CHECK(primsel_engine_input(engine, 0, &in) == PRIMSEL_OK);
    CHECK(in.rank == 4 && in.dims[0] == 2 && in.dims[1] == 3 && in.dims[2] == 64 && in.dims[3] == 48);
    CHECK(in.floats == 2 * 3 * 64 * 48);
    CHECK(primsel_engine_output(engine, 0, &out) == PRIMSEL_OK && out.floats == 2000);
    CHECK(primsel_engine_input(engine, 1, &in) == PRIMSEL_BAD_ARGUMENT && says("no input 1"));
    CHECK(primsel_engine_seconds(engine, &seconds) == PRIMSEL_OK && seconds > 0);
    CHECK(primsel_engine_memory(engine, &arena, &weights) == PRIMSEL_OK);
    CHECK(arena > 0 && weights > 1000000);
    CHECK(primsel_engine_memory(engine, NULL, NULL) == PRIMSEL_OK);

    CHECK(primsel_engine_plan_text(engine, &text) == PRIMSEL_OK && strstr(text, "ms predicted by") != NULL);
    primsel_text_free(text);
    CHECK(primsel_engine_explain(engine, "features.0", &text) == PRIMSEL_OK && strstr(text, "  *") != NULL);
    primsel_text_free(text);
    CHECK(primsel_engine_explain(engine, "nowhere", &text) == PRIMSEL_FAILED && says("no layer is named nowhere"));

    /* The same plan gives the same bits, on any number of threads of its own. */
    once = result_of(engine, &count);
    CHECK(count == 2000);
    CHECK(primsel_engine_plan_json(engine, &json) == PRIMSEL_OK);
    CHECK(primsel_options_set_plan(options, json) == PRIMSEL_OK);
    primsel_text_free(json);
    again = engine_by_name("squeezenet1_1", options);
    twice = result_of(again, &count);
    CHECK(memcmp(once, twice, count * sizeof(float)) == 0);
    free(twice);
    CHECK(primsel_options_set_threads(options, 2) == PRIMSEL_OK);
    threaded = engine_by_name("squeezenet1_1", options);
    twice = result_of(threaded, &count);
    CHECK(largest_difference(once, twice, count) < 1e-5);
    free(twice);
    free(once);
    primsel_engine_free(engine);
    primsel_engine_free(again);
    primsel_engine_free(threaded);
    primsel_options_free(options);
}

static void test_bounds(void) {
    primsel_options* options = NULL;
    primsel_network* network = NULL;
    primsel_engine* engine = NULL;
    CHECK(primsel_options_new(&options) == PRIMSEL_OK);
    CHECK(primsel_options_set_size(options, 32, 32) == PRIMSEL_OK);
    CHECK(primsel_network_by_name("resnet56", options, &network) == PRIMSEL_OK);
    CHECK(primsel_options_set_memory_limit(options, 1) == PRIMSEL_OK);
    CHECK(primsel_engine_new(network, options, &engine) == PRIMSEL_FAILED && engine == NULL && says("arena"));
    CHECK(primsel_options_set_memory_limit(options, (size_t)1 << 30) == PRIMSEL_OK);
    CHECK(primsel_options_set_max_error(options, 1e-9) == PRIMSEL_OK);
    CHECK(primsel_engine_new(network, options, &engine) == PRIMSEL_FAILED && engine == NULL && says("error bound"));
    CHECK(primsel_options_set_max_error(options, 1e-3) == PRIMSEL_OK);
    CHECK(primsel_options_set_precision(options, "bf16") == PRIMSEL_OK);
    CHECK(primsel_engine_new(network, options, &engine) == PRIMSEL_OK);
    primsel_engine_free(engine);
    CHECK(primsel_options_set_precision(options, "f128") == PRIMSEL_FAILED && says("f128") && says("float32"));
    primsel_network_free(network);
    primsel_options_free(options);
}

static void test_refusals(void) {
    primsel_options* options = NULL;
    primsel_network* network = NULL;
    primsel_engine* engine = NULL;
    float src[3 * 32 * 32 + 1] = {0}, dst[10];
    const float* srcs[1];
    float* dsts[1];
    size_t src_floats = 3 * 32 * 32, dst_floats = 10, count;
    char* text;

    CHECK(primsel_options_new(NULL) == PRIMSEL_BAD_ARGUMENT && says("options is NULL"));
    CHECK(primsel_options_new(&options) == PRIMSEL_OK);
    CHECK(primsel_options_set_batch(options, 0) == PRIMSEL_BAD_ARGUMENT && says("batch 0"));
    CHECK(primsel_options_set_batch(NULL, 1) == PRIMSEL_BAD_ARGUMENT && says("options is NULL"));
    CHECK(primsel_options_set_size(options, 5, -1) == PRIMSEL_BAD_ARGUMENT && says("5x-1"));
    CHECK(primsel_options_set_max_error(options, -1) == PRIMSEL_BAD_ARGUMENT);
    CHECK(primsel_options_set_max_error(options, NAN) == PRIMSEL_BAD_ARGUMENT);
    CHECK(primsel_options_set_dims(options, "x", NULL, 2) == PRIMSEL_BAD_ARGUMENT && says("dims is NULL"));
    CHECK(primsel_options_set_weights(options, NULL) == PRIMSEL_BAD_ARGUMENT && says("path is NULL"));
    CHECK(primsel_options_set_plan(options, "{}") == PRIMSEL_FAILED);
    CHECK(primsel_options_set_plan(options, NULL) == PRIMSEL_BAD_ARGUMENT);

    CHECK(primsel_network_load("/no/such/file.onnx", NULL, &network) == PRIMSEL_FAILED && says("/no/such/file.onnx"));
    CHECK(primsel_network_load(NULL, NULL, &network) == PRIMSEL_BAD_ARGUMENT && says("path is NULL"));
    CHECK(primsel_network_parse("no model", 8, NULL, &network) == PRIMSEL_FAILED);
    CHECK(primsel_network_parse(NULL, 8, NULL, &network) == PRIMSEL_BAD_ARGUMENT && says("bytes is NULL"));
    CHECK(primsel_network_by_name("resnet1", NULL, &network) == PRIMSEL_FAILED && says("resnet18"));
    CHECK(network == NULL);
    CHECK(primsel_network_by_name("resnet56", NULL, NULL) == PRIMSEL_BAD_ARGUMENT && says("network is NULL"));
    CHECK(primsel_engine_new(NULL, NULL, &engine) == PRIMSEL_BAD_ARGUMENT && says("network is NULL"));

    CHECK(primsel_network_by_name("resnet56", NULL, &network) == PRIMSEL_OK);
    CHECK(primsel_engine_new(network, NULL, NULL) == PRIMSEL_BAD_ARGUMENT && says("engine is NULL"));
    CHECK(primsel_engine_new(network, NULL, &engine) == PRIMSEL_OK);
    CHECK(primsel_engine_inputs(engine, NULL) == PRIMSEL_BAD_ARGUMENT);
    CHECK(primsel_engine_inputs(NULL, &count) == PRIMSEL_BAD_ARGUMENT);
    CHECK(primsel_engine_explain(engine, NULL, &text) == PRIMSEL_BAD_ARGUMENT && says("layer is NULL"));
    CHECK(primsel_engine_plan_text(engine, NULL) == PRIMSEL_BAD_ARGUMENT && says("text is NULL"));
    CHECK(primsel_engine_run(engine, src, 3, dst, 10) == PRIMSEL_BAD_ARGUMENT);
    CHECK(says("has 3 floats; 1x3x32x32 has 3072"));
    CHECK(primsel_engine_run(engine, src, src_floats, dst, 9) == PRIMSEL_BAD_ARGUMENT && says("has 9 floats"));
    CHECK(primsel_engine_run(engine, NULL, src_floats, dst, 10) == PRIMSEL_BAD_ARGUMENT && says("null"));
    CHECK(primsel_engine_run(engine, src, src_floats, NULL, 10) == PRIMSEL_BAD_ARGUMENT && says("null"));
    CHECK(primsel_engine_run(engine, src, src_floats, src + 8, 10) == PRIMSEL_BAD_ARGUMENT && says("overlap"));
    CHECK(primsel_engine_run(engine, (const float*)(const void*)((const char*)src + 1), src_floats, dst, 10) ==
          PRIMSEL_BAD_ARGUMENT);
    CHECK(says("aligned"));
    CHECK(primsel_engine_run(NULL, src, src_floats, dst, 10) == PRIMSEL_BAD_ARGUMENT);
    srcs[0] = src, dsts[0] = dst;
    CHECK(primsel_engine_run_all(engine, srcs, &src_floats, 2, dsts, &dst_floats, 1) == PRIMSEL_BAD_ARGUMENT);
    CHECK(says("2 inputs; the network has 1"));
    CHECK(primsel_engine_run_all(engine, srcs, NULL, 1, dsts, &dst_floats, 1) == PRIMSEL_BAD_ARGUMENT);
    CHECK(primsel_engine_run_all(engine, srcs, &src_floats, 1, dsts, &dst_floats, 1) == PRIMSEL_OK);
    primsel_engine_free(engine);
    primsel_engine_free(NULL);
    primsel_network_free(network);
    primsel_network_free(NULL);
    primsel_options_free(options);
    primsel_options_free(NULL);
    primsel_text_free(NULL);
}

/* By its path and by its bytes, a file is the same network. */
static void test_file(const char* path) {
    primsel_network *loaded = NULL, *parsed = NULL;
    primsel_engine *first = NULL, *second = NULL;
    FILE* const file = fopen(path, "rb");
    char* bytes;
    float *a, *b;
    size_t size, count = 0;
    CHECK(file != NULL);
    if (file == NULL) return;
    fseek(file, 0, SEEK_END);
    size = (size_t)ftell(file);
    rewind(file);
    bytes = malloc(size);
    CHECK(fread(bytes, 1, size, file) == size);
    fclose(file);
    CHECK(primsel_network_load(path, NULL, &loaded) == PRIMSEL_OK);
    CHECK(primsel_network_parse(bytes, size, NULL, &parsed) == PRIMSEL_OK);
    memset(bytes, 0, size); /* they were copied */
    free(bytes);
    CHECK(primsel_engine_new(loaded, NULL, &first) == PRIMSEL_OK);
    CHECK(primsel_engine_new(parsed, NULL, &second) == PRIMSEL_OK);
    a = result_of(first, &count);
    b = result_of(second, &count);
    CHECK(count > 0 && largest_difference(a, b, count) <= 1e-5);
    free(a);
    free(b);
    primsel_engine_free(first);
    primsel_engine_free(second);
    primsel_network_free(loaded);
    primsel_network_free(parsed);
}

int main(int argc, char** argv) {
    int i;
    CHECK(strcmp(primsel_last_error(), "") == 0);
    test_names();
    test_engine();
    test_bounds();
    test_refusals();
    for (i = 1; i < argc; ++i) test_file(argv[i]);
    if (failures == 0) printf("C: passed, %s %s\n", primsel_version(), primsel_arch());
    return failures == 0 ? 0 : 1;
}
