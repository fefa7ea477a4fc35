/* ONNX models of one node, from a line of text: for tests of single ops.
 *
 * Inputs, separated by spaces: f[2,3] a float input of the model (i int64, n int32, b bool, h float16, u uint8, s
 * int8); k{1,2} an int64 constant, r{0.5,1.0} a float one, k(3) and r(2.5) scalars, u(3) and s(-1) 8-bit ones; _
 * absent. An op "ms:Name" is of the domain com.microsoft. */
#ifndef RLX_TESTS_ONNX_CASE_H
#define RLX_TESTS_ONNX_CASE_H

#include "onnx_image.h"

void onnx_case(onnx_image *f, const char *op, int opset, const char *inputs, const char *attributes, unsigned n_out);

#endif
