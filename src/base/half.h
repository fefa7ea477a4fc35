/* f16 and bf16: conversion to and from f32 and f64, round to nearest even, in portable C. A double is rounded once,
 * directly to the target (going through f32 would round twice). NaN becomes a quiet NaN, overflow gives infinity,
 * subnormals are kept. */
#ifndef RLX_BASE_HALF_H
#define RLX_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t rlx_f32_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
static inline float rlx_f32_from_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

float rlx_f16_to_f32(uint16_t h);
uint16_t rlx_f32_to_f16(float x);
uint16_t rlx_f64_to_f16(double x);
float rlx_bf16_to_f32(uint16_t h);
uint16_t rlx_f32_to_bf16(float x);
uint16_t rlx_f64_to_bf16(double x);

#endif
