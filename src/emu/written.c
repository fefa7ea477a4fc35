/* The variant "emu:init": memory of which each byte is known to be written or not. A kernel that reads a byte which
 * nothing wrote since the block was allocated fails, and so does a read of it by the host; a copy carries over which
 * bytes were. On a GPU such a read gives what was there before, and compute-sanitizer's initcheck reports it.
 *
 * Memory is not mapped, so that all writes pass through here, and work is done when a call returns. A session of it
 * should keep no freed blocks (no_pool): their bytes stay written. */
#include <string.h>

#include "emu/device.h"

static rlx_status check_range(const char *what, const rlx_block *b, uint64_t offset, uint64_t bytes) {
  if (offset <= b->bytes && bytes <= b->bytes - offset) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "emulated device: %s: %llu bytes at %llu are not inside a block of %llu", what,
                  (unsigned long long)bytes, (unsigned long long)offset, (unsigned long long)b->bytes);
}

static void set_written(rlx_block *b, uint64_t offset, uint64_t bytes) {
  unsigned char *written = emu_written(b);
  if (written && bytes) memset(written + offset, 1, (size_t)bytes);
}

void emu_copy(const rlx_bound *to, const rlx_bound *from, uint64_t bytes) {
  unsigned char *written = emu_written(to->block);
  const unsigned char *was = emu_written(from->block);
  if (!bytes) return;
  memmove(emu_data(to->block) + to->offset, emu_data(from->block) + from->offset, (size_t)bytes);
  if (written && was) memmove(written + to->offset, was + from->offset, (size_t)bytes);
  else set_written(to->block, to->offset, bytes);
}

static rlx_status write(rlx_queue *q, rlx_block *b, uint64_t offset, const void *src, uint64_t bytes) {
  (void)q;
  RLX_TRY(check_range("write", b, offset, bytes));
  if (bytes) memcpy(emu_data(b) + offset, src, (size_t)bytes);
  set_written(b, offset, bytes);
  return RLX_OK;
}

static rlx_status read(rlx_queue *q, const rlx_block *b, uint64_t offset, void *dst, uint64_t bytes) {
  (void)q;
  RLX_TRY(check_range("read", b, offset, bytes));
  const unsigned char *written = emu_written(b);
  const unsigned char *hole = written && bytes ? memchr(written + offset, 0, (size_t)bytes) : NULL;
  if (hole)
    return RLX_FAIL(RLX_INVALID, "emulated device: read of %llu bytes at %llu of a block: nothing wrote byte %llu",
                    (unsigned long long)bytes, (unsigned long long)offset, (unsigned long long)(hole - written));
  if (bytes) memcpy(dst, emu_data(b) + offset, (size_t)bytes);
  return RLX_OK;
}

static rlx_status copy(rlx_queue *q, rlx_block *dst, uint64_t dst_offset, const rlx_block *src, uint64_t src_offset,
                       uint64_t bytes) {
  (void)q;
  RLX_TRY(check_range("copy to", dst, dst_offset, bytes));
  RLX_TRY(check_range("copy from", src, src_offset, bytes));
  const rlx_bound to = {dst, dst_offset, bytes}, from = {(rlx_block *)(uintptr_t)src, src_offset, bytes};
  emu_copy(&to, &from, bytes);
  return RLX_OK;
}

static rlx_status zero(rlx_queue *q, rlx_block *b, uint64_t offset, uint64_t bytes) {
  (void)q;
  RLX_TRY(check_range("zero", b, offset, bytes));
  if (bytes) memset(emu_data(b) + offset, 0, (size_t)bytes);
  set_written(b, offset, bytes);
  return RLX_OK;
}

void emu_written_install(rlx_backend *b) {
  b->fills_words = true;
  b->write = write;
  b->read = read;
  b->copy = copy;
  b->zero = zero;
}
