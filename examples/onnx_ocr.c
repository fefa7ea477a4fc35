/* Reads a line of text off a picture with three ONNX models: where is text, is it upside down, and which letters are they.
 *
 *   onnx_ocr DET.onnx CLS.onnx REC.onnx PICTURE.ppm         (the models from `tools/fetch_model ppocr`)
 *
 * The models take pictures of any size; each new size is compiled once. The letters are in the metadata of the third. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rlx/onnx.h"

typedef struct picture {
  int w, h;
  float *v; /* 3 planes (blue, green, red), -1 .. 1 */
} picture;

static int fail(const char *what, const char *why) {
  fprintf(stderr, "onnx_ocr: %s: %s\n", what, why);
  return 1;
}

static picture picture_new(int w, int h) { return (picture){w, h, calloc((size_t)(3 * w * h) + 1, sizeof(float))}; }

static int read_ppm(const char *path, picture *out) {
  int w, h;
  FILE *f = fopen(path, "rb");
  *out = picture_new(0, 0);
  if (!f || fscanf(f, "P6 %d %d 255", &w, &h) != 2 || fgetc(f) < 0 || w < 8 || h < 8 || w > 8192 || h > 8192)
    return fail(path, "not a PPM (P6)");
  free(out->v);
  *out = picture_new(w, h);
  for (int i = 0; i < w * h; i++)
    for (int c = 0; c < 3; c++) out->v[(2 - c) * w * h + i] = (float)fgetc(f) / 127.5f - 1;
  return fclose(f);
}

/* A part of a picture in another size, by the four nearest points; turned by half if asked for. */
static picture cut_out(picture p, int x0, int y0, int x1, int y1, int w, int h, int turned) {
  picture q = picture_new(w, h);
  for (int i = 0; i < 3 * w * h; i++) {
    int c = i / (w * h), y = i / w % h, x = i % w;
    float fx = (float)x0 + ((float)x + 0.5f) * (float)(x1 - x0) / (float)w - 0.5f,
          fy = (float)y0 + ((float)y + 0.5f) * (float)(y1 - y0) / (float)h - 0.5f;
    fx = fx < 0 ? 0 : fx > (float)p.w - 1 ? (float)p.w - 1 : fx;
    fy = fy < 0 ? 0 : fy > (float)p.h - 1 ? (float)p.h - 1 : fy;
    int ax = (int)fx, ay = (int)fy, bx = ax + (ax < p.w - 1), by = ay + (ay < p.h - 1);
    const float *v = p.v + c * p.w * p.h;
    float dx = fx - (float)ax, dy = fy - (float)ay;
    float top = v[ay * p.w + ax] * (1 - dx) + v[ay * p.w + bx] * dx,
          low = v[by * p.w + ax] * (1 - dx) + v[by * p.w + bx] * dx;
    q.v[turned ? c * w * h + (w * h - 1 - i % (w * h)) : i] = top * (1 - dy) + low * dy;
  }
  return q;
}

static int run(rlx_onnx_runner *r, picture p, rlx_tensor *y) {
  rlx_named_tensor in = {"x", {RLX_F32, RLX_DIMS(1, 3, p.h, p.w), p.v, (size_t)(3 * p.w * p.h) * sizeof(float)}};
  return rlx_onnx_run(r, &in, 1) || rlx_onnx_output(r, 0, NULL, y) ? fail("run", rlx_message()) : 0;
}

/* The rectangle around all points that are text, a little larger. */
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
  box[0] = (x0 - more) * p.w / w, box[1] = (y0 - more) * p.h / h, box[2] = (x1 + 1 + more) * p.w / w,
  box[3] = (y1 + 1 + more) * p.h / h;
  for (int i = 0; i < 4; i++) box[i] = box[i] < 0 ? 0 : box[i] > (i % 2 ? p.h : p.w) ? (i % 2 ? p.h : p.w) : box[i];
  return 0;
}

/* Letter k (from 1: 0 is none) of the list, a line each; behind the last is the blank. */
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

int main(int argc, char **argv) {
  rlx_session *s = NULL;
  rlx_onnx *m[3] = {0};
  rlx_onnx_runner *r[3] = {0};
  picture page, part = {0};
  rlx_tensor y;
  int box[4] = {0},
      code = argc == 5 ? read_ppm(argv[4], &page) : (fprintf(stderr, "usage: onnx_ocr DET CLS REC PICTURE.ppm\n"), 2);
  if (code) return code;
  rlx_session_desc cpu = {.struct_bytes = sizeof cpu, .device = "cpu"};
  if (rlx_session_create(&cpu, &s)) code = fail("cpu", rlx_message());
  for (int i = 0; i < 3 && !code; i++)
    if (rlx_onnx_open(argv[1 + i], &m[i]) || rlx_onnx_runner_create(s, m[i], NULL, &r[i]))
      code = fail(argv[1 + i], rlx_message());
  if (!code) part = cut_out(page, 0, 0, page.w, page.h, (page.w + 31) / 32 * 32, (page.h + 31) / 32 * 32, 0);
  code = code || run(r[0], part, &y) || find_text(&y, page, box);
  free(part.v);
  part = code ? page : cut_out(page, box[0], box[1], box[2], box[3], 192, 48, 0);
  code = code || run(r[1], part, &y);
  int turned = !code && ((const float *)y.data)[1] > 0.9f,
      wide = code ? 48 : (48 * (box[2] - box[0]) / (box[3] - box[1] + 1) + 7) / 8 * 8;
  if (part.v != page.v) free(part.v);
  part = code ? page : cut_out(page, box[0], box[1], box[2], box[3], wide, 48, turned);
  code = code || run(r[2], part, &y);
  const char *letters = NULL, *key;
  for (uint32_t i = 0; !code && (key = rlx_onnx_metadata(m[2], i, &letters)); i++)
    if (strcmp(key, "character") == 0) break;
  if (!code) print_text(&y, letters);
  if (part.v != page.v) free(part.v);
  free(page.v);
  for (int i = 0; i < 3; i++) rlx_onnx_runner_destroy(r[i]), rlx_onnx_close(m[i]);
  rlx_session_destroy(s);
  return code;
}
