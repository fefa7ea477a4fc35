/* How long a model takes to reach the device, beside what the machine needs to move its bytes.
 *
 *   lm_load MODEL [--device D] [-t THREADS] [-r 3]
 *
 * In turns: all bytes of the file read into host memory, by one thread; the same and each piece copied to a block of
 * the device; the model loaded without its weights (file, tokenizer, plan); and loaded. The device stays open
 * throughout, and the first round, which compiles kernels and brings the file into the page cache, does not count. The
 * medians are printed, and loading as a multiple of reading and copying. The file is one GGUF or safetensors file. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "device/queue.h"
#include "device/registry.h"
#include "rlx/lm.h"

enum { MAX_ROUNDS = 101, PIECE_BYTES = 64 << 20 };

static void need(rlx_status s, const char *what) {
  if (!s) return;
  fprintf(stderr, "lm_load: %s: %s\n", what, rlx_message());
  exit(1);
}

/* ---- moving the bytes alone ---- */

typedef struct mover {
  const char *path;
  uint64_t file_bytes;
  unsigned char *piece;
  rlx_device *device;
  rlx_queue *queue;
  rlx_block *block; /* of PIECE_BYTES */
} mover;

static void mover_init(mover *m, const char *path, const char *device) {
  *m = (mover){.path = path, .piece = rlx_mem_alloc_aligned(PIECE_BYTES, 64)};
  if (!m->piece) need(RLX_NO_MEMORY, "a buffer");
  memset(m->piece, 1, PIECE_BYTES);
  need(rlx_device_acquire(device, &m->device), "the device");
  need(m->device->backend->queue_create(m->device, &m->queue), "a queue");
  need(m->device->backend->block_create(m->device, PIECE_BYTES, &m->block), "a block");
}

static void mover_deinit(mover *m) {
  m->device->backend->block_destroy(m->device, m->block);
  m->device->backend->queue_destroy(m->queue);
  rlx_device_release(m->device);
  rlx_mem_free(m->piece);
}

static double read_file(mover *m, bool to_device) {
  const uint64_t begin = rlx_now_ns();
  int fd = open(m->path, O_RDONLY | O_CLOEXEC);
  ssize_t n;
  m->file_bytes = 0;
  while (fd >= 0 && (n = read(fd, m->piece, PIECE_BYTES)) > 0) {
    m->file_bytes += (uint64_t)n;
    if (to_device)
      need(m->device->backend->write(m->queue, m->block, 0, m->piece, (uint64_t)n), "writing to the device");
  }
  if (fd < 0 || n < 0) {
    perror(m->path);
    exit(1);
  }
  close(fd);
  if (to_device) need(rlx_queue_sync(m->queue), "waiting for the device");
  return 1e-9 * (double)(rlx_now_ns() - begin);
}

/* ---- loading ---- */

static double load(const char *path, rlx_session *session, bool dry_run) {
  rlx_lm_desc desc = {RLX_LM_DESC_INIT, .path = path, .session = session, .dry_run = dry_run};
  rlx_lm *lm;
  const uint64_t begin = rlx_now_ns();
  need(rlx_lm_load(&desc, &lm), path);
  const double taken = 1e-9 * (double)(rlx_now_ns() - begin);
  rlx_lm_destroy(lm);
  return taken;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *v, int n) {
  qsort(v, (size_t)n, sizeof *v, by_size);
  return n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

static void measure(const char *path, const char *device, uint32_t n_threads, int rounds) {
  double reads[MAX_ROUNDS], copies[MAX_ROUNDS], compiles[MAX_ROUNDS], loads[MAX_ROUNDS];
  rlx_session_desc sd = {RLX_SESSION_DESC_INIT, .device = device, .n_threads = n_threads};
  rlx_session *session;
  mover m;
  need(rlx_session_create(&sd, &session), "a session");
  mover_init(&m, path, device);
  for (int i = -1; i < rounds; i++) {
    const int at = i < 0 ? 0 : i; /* the first round is overwritten */
    reads[at] = read_file(&m, false);
    copies[at] = read_file(&m, true);
    compiles[at] = load(path, session, true);
    loads[at] = load(path, session, false);
  }
  const double read = median(reads, rounds), copy = median(copies, rounds), taken = median(loads, rounds);
  const double gb = 1e-9 * (double)m.file_bytes;
  printf("%s on %s, %.2f GB, median of %d:\n", path, m.device->info.name, gb, rounds);
  printf("  read                %7.3f s  %6.2f GB/s\n", read, gb / read);
  printf("  read and copy       %7.3f s  %6.2f GB/s\n", copy, gb / copy);
  printf("  load without bytes  %7.3f s\n", median(compiles, rounds));
  printf("  load                %7.3f s  %6.2f GB/s  %.2f times read and copy\n", taken, gb / taken, taken / copy);
  mover_deinit(&m);
  rlx_session_destroy(session);
}

int main(int argc, char **argv) {
  const char *path = NULL, *device = NULL;
  int rounds = 3, n_threads = 0;
  bool ok = true;
  if (argc == 1) return 0; /* `make bench` calls every program here */
  for (int i = 1; i < argc && ok; i++) {
    const bool has_value = i + 1 < argc;
    if (strcmp(argv[i], "--device") == 0) ok = has_value && (device = argv[++i]);
    else if (strcmp(argv[i], "-r") == 0) ok = has_value && (rounds = atoi(argv[++i])) > 0 && rounds <= MAX_ROUNDS;
    else if (strcmp(argv[i], "-t") == 0) ok = has_value && (n_threads = atoi(argv[++i])) > 0;
    else ok = !path && (path = argv[i]);
  }
  if (!ok || !path) {
    fprintf(stderr, "usage: lm_load MODEL [--device D] [-t THREADS] [-r 3]\n");
    return 2;
  }
  measure(path, device, (uint32_t)n_threads, rounds);
  return 0;
}
