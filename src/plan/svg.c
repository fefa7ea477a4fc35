/* The plan as an SVG picture: time on the x axis, address on the y axis, a rectangle per storage, coloured by the
 * family of its op; the lower bound is a line. Blocks are stacked.
 *
 * A picture has about a million pixels, so of a huge plan only the storages with the largest area are drawn, and the
 * title gives the number omitted. */
#include <stdlib.h>

#include "plan/report.h"

enum { WIDTH = 1200, HEIGHT = 640, LEFT = 110, TOP = 64, RIGHT = 24, BOTTOM = 84, MAX_DRAWN = 20000 };

typedef struct picture {
  const rlx_plan *p;
  rlx_str *s;
  double per_step, per_byte;
  uint64_t top; /* the end of the address axis: all blocks stacked, or the bound, and a margin */
} picture;

/* Text between tags. Names come from files: characters that XML does not allow are printed as '?'. */
static void add_escaped(rlx_str *s, const char *text) {
  for (; *text; text++) switch (*text) {
      case '<': rlx_str_add(s, "&lt;"); break;
      case '>': rlx_str_add(s, "&gt;"); break;
      case '&': rlx_str_add(s, "&amp;"); break;
      case '"': rlx_str_add(s, "&quot;"); break;
      default: rlx_str_add_char(s, (unsigned char)*text < 0x20 ? '?' : *text); break;
    }
}

static double x_of(const picture *d, double step) { return LEFT + step * d->per_step; }
static double y_of(const picture *d, double bytes) { return HEIGHT - BOTTOM - bytes * d->per_byte; }

static uint64_t block_base(const rlx_plan *p, uint32_t block) {
  uint64_t base = 0;
  for (uint32_t i = 0; i < block; i++) base += p->scratch[i];
  return base;
}

/* ---- which storages ---- */

typedef struct area {
  double size;
  size_t id;
} area;

static int by_area(const void *a, const void *b) {
  const area *x = a, *y = b;
  if (x->size != y->size) return x->size < y->size ? 1 : -1;
  return x->id < y->id ? -1 : x->id > y->id;
}

/* ---- parts ---- */

static void add_storage(const picture *d, const rlx_storage *t) {
  rlx_str *s = d->s;
  const rlx_graph *g = d->p->graph;
  double base = (double)(block_base(d->p, t->at.block) + t->at.offset);
  double x = x_of(d, t->first), w = x_of(d, (double)t->last + 1.0) - x;
  double y = y_of(d, base + (double)t->at.bytes), h = y_of(d, base) - y;
  rlx_str_add(s, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"><title>", x, y, w, h,
              rlx_plan_report_families[rlx_plan_report_family_of(g, t->node)].colour);
  if (t->node) {
    const rlx_node_rec *n = rlx_graph_at(g, t->node);
    const char *name = rlx_node_name(g, t->node);
    rlx_str_add(s, "node %u: %s %s%s ", (unsigned)t->node, rlx_op_table_get(n->op)->name, rlx_dtype_name(n->type.dtype),
                RLX_DIMS_TEXT(n->type.shape));
    if (name) add_escaped(s, name);
  } else {
    rlx_str_add(s, "workspace");
  }
  rlx_str_add(s, "\nsteps %u to %u\noffset %llu of block %u, ", (unsigned)t->first, (unsigned)t->last,
              (unsigned long long)t->at.offset, (unsigned)t->at.block);
  rlx_plan_report_add_bytes(s, t->at.bytes);
  rlx_str_add(s, "</title></rect>\n");
}

static void add_storages(const picture *d, area *areas, size_t n_drawn) {
  rlx_str_add(d->s, "<g stroke=\"#ffffff\" stroke-width=\"%s\" fill-opacity=\"0.85\">\n", n_drawn > 2000 ? "0" : "0.5");
  for (size_t i = 0; i < n_drawn; i++) add_storage(d, &d->p->storages[areas[i].id]);
  rlx_str_add(d->s, "</g>\n");
}

static void add_head(const picture *d, size_t n_drawn) {
  rlx_str *s = d->s;
  const rlx_plan *p = d->p;
  rlx_str_add(s,
              "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
              "font-family=\"sans-serif\" font-size=\"13\">\n"
              "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
              "<text x=\"%d\" y=\"26\" font-size=\"18\">Memory plan: ",
              WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT);
  rlx_plan_report_add_bytes(s, p->scratch_bytes);
  rlx_str_add(s, " of scratch, lower bound ");
  rlx_plan_report_add_bytes(s, p->lower_bound);
  rlx_str_add(s, "</text>\n<text x=\"%d\" y=\"48\" fill=\"#555555\">%zu steps, %zu storages in %u block%s; weights ",
              LEFT, p->n_steps, p->n_storages, (unsigned)p->n_scratch, p->n_scratch == 1 ? "" : "s");
  rlx_plan_report_add_bytes(s, p->weights_bytes);
  rlx_str_add(s, ", state ");
  rlx_plan_report_add_bytes(s, p->state_bytes);
  if (n_drawn < p->n_storages) rlx_str_add(s, "; the smallest %zu are not drawn", p->n_storages - n_drawn);
  rlx_str_add(s, "</text>\n");
}

/* A round step between ticks: 1, 2 or 5 times a power of ten, with at most eight ticks up to `max`. */
static uint64_t tick_step(uint64_t max) {
  uint64_t power = 1;
  while (max / 8 >= power * 10) power *= 10;
  return max / 8 < power ? power : max / 8 < 2 * power ? 2 * power : max / 8 < 5 * power ? 5 * power : 10 * power;
}

static void add_axes(const picture *d) {
  rlx_str *s = d->s;
  double right = WIDTH - RIGHT, bottom = HEIGHT - BOTTOM;
  uint64_t n_steps = d->p->n_steps ? d->p->n_steps : 1, step = tick_step(n_steps), bytes = 1;
  while (d->top / 7 >= bytes) bytes *= 2; /* addresses: powers of two */
  rlx_str_add(s, "<g fill=\"#555555\">\n");
  for (uint64_t at = 0; at <= d->top; at += bytes) {
    double y = y_of(d, (double)at);
    rlx_str_add(s,
                "<line x1=\"%d\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" stroke=\"#dddddd\"/>"
                "<text x=\"%d\" y=\"%.2f\" text-anchor=\"end\">",
                LEFT, y, right, y, LEFT - 8, y + 4.0);
    rlx_plan_report_add_bytes(s, at);
    rlx_str_add(s, "</text>\n");
  }
  for (uint64_t at = 0; at <= n_steps; at += step)
    rlx_str_add(s, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"middle\">%llu</text>\n", x_of(d, (double)at),
                bottom + 18.0, (unsigned long long)at);
  rlx_str_add(s, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"middle\">step</text>\n</g>\n", (LEFT + right) / 2,
              bottom + 36.0);
}

static void add_bound(const picture *d) {
  double y = y_of(d, (double)d->p->lower_bound);
  rlx_str_add(d->s,
              "<line x1=\"%d\" y1=\"%.2f\" x2=\"%d\" y2=\"%.2f\" stroke=\"#d50000\" stroke-width=\"1.5\" "
              "stroke-dasharray=\"6 4\"/>\n<text x=\"%d\" y=\"%.2f\" fill=\"#d50000\" text-anchor=\"end\">lower "
              "bound</text>\n",
              LEFT, y, WIDTH - RIGHT, y, WIDTH - RIGHT - 4, y - 5.0);
}

static void add_legend(const picture *d) {
  for (int i = 0; i < REPORT_FAMILIES; i++) {
    int x = LEFT + i * 134, y = HEIGHT - 26;
    rlx_str_add(d->s,
                "<rect x=\"%d\" y=\"%d\" width=\"14\" height=\"14\" fill=\"%s\"/><text x=\"%d\" y=\"%d\">%s</text>\n",
                x, y, rlx_plan_report_families[i].colour, x + 19, y + 12, rlx_plan_report_families[i].name);
  }
}

void rlx_plan_report_svg(const rlx_plan *p, rlx_str *s) {
  picture d = {.p = p, .s = s, .top = p->scratch_bytes > p->lower_bound ? p->scratch_bytes : p->lower_bound};
  d.top += d.top / 20;
  if (!d.top) d.top = 1;
  d.per_step = (double)(WIDTH - LEFT - RIGHT) / (p->n_steps ? (double)p->n_steps : 1.0);
  d.per_byte = (double)(HEIGHT - TOP - BOTTOM) / (double)d.top;
  area *areas = rlx_mem_calloc(p->n_storages ? p->n_storages : 1, sizeof *areas);
  if (!areas) {
    s->failed = true;
    return;
  }
  for (size_t i = 0; i < p->n_storages; i++) {
    const rlx_storage *t = &p->storages[i];
    areas[i] = (area){((double)t->last - t->first + 1.0) * (double)t->at.bytes, i};
  }
  qsort(areas, p->n_storages, sizeof *areas, by_area);
  size_t n_drawn = p->n_storages < MAX_DRAWN ? p->n_storages : MAX_DRAWN;
  add_head(&d, n_drawn);
  add_axes(&d);
  add_storages(&d, areas, n_drawn);
  add_bound(&d);
  add_legend(&d);
  rlx_str_add(s, "</svg>\n");
  rlx_mem_free(areas);
}
