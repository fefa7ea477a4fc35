/* Reads a line of text from an image with three ONNX models: text detection, orientation, and recognition.
 *
 *   onnx_ocr DET.onnx CLS.onnx REC.onnx PICTURE.ppm         (the models from `tools/fetch_model ppocr`)
 *
 * The models take images of any size; each new size is compiled once. The alphabet is in the metadata of the third. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rlx/onnx.h"

typedef struct picture {
  int w, h;
  float *v; /* 3 planes (blue, green, red), -1 .. 1 */
} picture;

static int fail(const char *what, const char *why) { return fprintf(stderr, "onnx_ocr: %s: %s\n", what, why), 1; }

static int read_ppm(const char *path, picture *out) {
  int w, h;
  FILE *f = fopen(path, "rb");
  if (!f || fscanf(f, "P6 %d %d 255", &w, &h) != 2 || fgetc(f) < 0 || w < 8 || h < 8 || w > 8192 || h > 8192)
    return fail(path, "not a PPM (P6)");
  *out = (picture){w, h, calloc((size_t)(3 * w * h), sizeof(float))};
  if (!out->v) return fail(path, "no memory");
  for (int i = 0; i < w * h; i++)
    for (int c = 0; c < 3; c++) out->v[(2 - c) * w * h + i] = (float)fgetc(f) / 127.5f - 1;
  return fclose(f);
}

static float between(float x, float min, float max) { return x < min ? min : x > max ? max : x; }

/* Runs a model on a crop (left, top, right, bottom), resized bilinearly, rotated by 180 degrees if `rotated`. */
static int run(rlx_onnx_runner *r, picture p, const int box[4], int w, int h, int rotated, rlx_tensor *y) {
  float *q = calloc((size_t)(3 * w * h), sizeof *q);
  for (int i = 0; i < 3 * w * h && q; i++) {
    float fx = (float)box[0] + ((float)(i % w) + 0.5f) * (float)(box[2] - box[0]) / (float)w - 0.5f;
    float fy = (float)box[1] + ((float)(i / w % h) + 0.5f) * (float)(box[3] - box[1]) / (float)h - 0.5f;
    fx = between(fx, 0, (float)p.w - 1), fy = between(fy, 0, (float)p.h - 1);
    int ax = (int)fx, ay = (int)fy, bx = ax + (ax < p.w - 1), by = ay + (ay < p.h - 1), plane = i / (w * h);
    const float *up = p.v + (plane * p.h + ay) * p.w, *low = p.v + (plane * p.h + by) * p.w;
    float dx = fx - (float)ax, dy = fy - (float)ay, at = (up[ax] * (1 - dx) + up[bx] * dx) * (1 - dy);
    q[rotated ? (2 * plane + 1) * w * h - 1 - i : i] = at + (low[ax] * (1 - dx) + low[bx] * dx) * dy;
  }
  rlx_named_tensor in = {"x", {RLX_F32, RLX_DIMS(1, 3, h, w), {q}, (size_t)(3 * w * h) * sizeof *q}};
  int code = !q || rlx_onnx_run(r, &in, 1) || rlx_onnx_runner_output(r, 0, NULL, y) ? fail("run", rlx_message()) : 0;
  free(q);
  return code;
}

/* The bounding box of all text pixels, slightly enlarged. */
static int find_text(const rlx_tensor *map, picture p, int box[4]) {
  const float *v = map->data;
  int h = (int)map->shape.v[2], w = (int)map->shape.v[3], x0 = w, y0 = h, x1 = -1, y1 = -1;
  for (int i = 0; i < w * h; i++) {
    if (v[i] < 0.3f) continue;
    x0 = i % w < x0 ? i % w : x0, x1 = i % w > x1 ? i % w : x1, y0 = i / w < y0 ? i / w : y0,
    y1 = i / w > y1 ? i / w : y1;
  }
  if (x1 < 0) return fail("picture", "no text was found");
  int more = (y1 - y0 + 1) * 2 / 5 + 2;
  const int found[4] = {x0 - more, y0 - more, x1 + 1 + more, y1 + 1 + more};
  for (int i = 0; i < 4; i++) /* in image coordinates */
    box[i] = (int)between((float)(i % 2 ? found[i] * p.h / h : found[i] * p.w / w), 0, (float)(i % 2 ? p.h : p.w));
  return 0;
}

/* Prints letter k (from 1; 0 is the CTC blank) of the alphabet, one per line; after the last comes the space. */
static void print_letter(const char *letters, size_t k) {
  while (letters && *letters && --k) letters = strchr(letters, '\n') ? strchr(letters, '\n') + 1 : "";
  if (letters && *letters) printf("%.*s", (int)strcspn(letters, "\n"), letters);
  else putchar(' ');
}

static void print_text(const rlx_tensor *y, const char *letters) {
  size_t n = (size_t)y->shape.v[1], classes = (size_t)y->shape.v[2], last = 0;
  for (size_t t = 0; t < n; t++) {
    const float *p = (const float *)y->data + t * classes;
    size_t best = 0;
    for (size_t i = 1; i < classes; i++) best = p[i] > p[best] ? i : best;
    if (best && best != last) print_letter(letters, best);
    last = best;
  }
  putchar('\n');
}

static int read_line(rlx_onnx *const m[3], rlx_onnx_runner *const r[3], picture page) {
  rlx_tensor y;
  int box[4] = {0, 0, page.w, page.h};
  if (run(r[0], page, box, (page.w + 31) / 32 * 32, (page.h + 31) / 32 * 32, 0, &y) || find_text(&y, page, box))
    return 1;
  if (run(r[1], page, box, 192, 48, 0, &y)) return 1;
  int rotated = ((const float *)y.data)[1] > 0.9f, wide = (48 * (box[2] - box[0]) / (box[3] - box[1] + 1) + 15) / 8 * 8;
  if (run(r[2], page, box, wide, 48, rotated, &y)) return 1;
  const char *letters = NULL, *key;
  for (uint32_t i = 0; (key = rlx_onnx_metadata_at(m[2], i, &letters)); i++)
    if (strcmp(key, "character") == 0) break;
  print_text(&y, letters);
  return 0;
}

int main(int argc, char **argv) {
  rlx_session *s = NULL;
  rlx_onnx *m[3] = {0};
  rlx_onnx_runner *r[3] = {0};
  picture page;
  if (argc != 5) return fprintf(stderr, "usage: onnx_ocr DET CLS REC PICTURE.ppm\n"), 2;
  if (read_ppm(argv[4], &page)) return 1;
  rlx_session_desc cpu = {RLX_SESSION_DESC_INIT, .device = "cpu"};
  int code = rlx_session_create(&cpu, &s) ? fail("cpu", rlx_message()) : 0;
  for (int i = 0; i < 3 && !code; i++)
    if (rlx_onnx_open(argv[1 + i], NULL, &m[i]) || rlx_onnx_runner_create(s, m[i], NULL, &r[i]))
      code = fail(argv[1 + i], rlx_message());
  code = code || read_line(m, r, page);
  free(page.v);
  for (int i = 0; i < 3; i++) rlx_onnx_runner_destroy(r[i]), rlx_onnx_close(m[i]);
  rlx_session_destroy(s);
  return code;
}
