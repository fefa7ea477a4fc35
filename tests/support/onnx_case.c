/* ONNX models of one node, from a line of text. */
#include "onnx_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 64 };

static int type_of(char letter) {
  switch (letter) {
    case 'i':
    case 'k': return 7;
    case 'n': return 6;
    case 'b': return 9;
    case 'h': return 10;
    case 'u': return 2;
    case 's': return 3;
    default: return 1;
  }
}

/* The numbers between two brackets, as raw bytes of the type. */
static size_t put_numbers(const char *text, size_t n, int type, unsigned char *raw, size_t *count) {
  size_t bytes = 0;
  *count = 0;
  for (const char *end = text + n; text < end && *count < MAX; text++, ++*count) {
    char *next;
    double x = strtod(text, &next);
    float f = (float)x;
    int64_t i = type == 7 ? strtoll(text, NULL, 10) : 0;
    unsigned char byte = (unsigned char)(type == 2 || type == 3 ? (int)x : 0);
    const void *from = type == 7 ? (const void *)&i : type == 1 ? (const void *)&f : (const void *)&byte;
    size_t size = type == 7 ? 8 : type == 1 ? 4 : 1;
    memcpy(raw + bytes, from, size);
    bytes += size;
    text = next;
  }
  return bytes;
}

static void put_input(onnx_image *f, const char *name, const char *text, size_t n) {
  unsigned char raw[MAX * 8];
  char dims[64];
  size_t count;
  int type = type_of(*text);
  snprintf(dims, sizeof dims, "%.*s", (int)n - 3, text + 2);
  if (text[1] == '[') {
    image_value(f, GRAPH_INPUT, name, type, dims);
    return;
  }
  size_t bytes = put_numbers(text + 2, n - 3, type, raw, &count);
  snprintf(dims, sizeof dims, "%zu", count);
  image_tensor(f, GRAPH_INITIALIZER, name, type, text[1] == '(' ? "" : dims, raw, bytes);
}

void onnx_case(onnx_image *f, const char *op, int opset, const char *inputs, const char *attributes, unsigned n_out) {
  char in[256] = "", out[256] = "", name[16];
  bool is_ms = strncmp(op, "ms:", 3) == 0;
  image_model(f, opset);
  if (is_ms) image_opset(f, MODEL_OPSET, "com.microsoft", 1);
  image_begin(f, MODEL_GRAPH);
  for (unsigned i = 0; *inputs; i++) {
    size_t n = strcspn(inputs, " ");
    snprintf(name, sizeof name, "x%u", i);
    if (*inputs == '_') *name = '\0';
    else put_input(f, name, inputs, n);
    snprintf(in + strlen(in), sizeof in - strlen(in), "%s%s", i ? "," : "", name);
    inputs += n + (inputs[n] == ' ');
  }
  for (unsigned i = 0; i < n_out; i++) {
    snprintf(name, sizeof name, "y%u", i);
    snprintf(out + strlen(out), sizeof out - strlen(out), "%s%s", i ? "," : "", name);
    image_begin(f, GRAPH_OUTPUT);
    image_text(f, 1, name);
    image_end(f);
  }
  image_node_begin(f, is_ms ? op + 3 : op, *in ? in : "-", n_out ? out : "-", attributes);
  if (is_ms) image_text(f, NODE_DOMAIN, "com.microsoft");
  image_end(f);
  image_end(f);
}
