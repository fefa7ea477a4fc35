/* Undefines the attribute macros of the op table (A_INT and so on) after an inclusion of ops.def that defined them. No
 * include guard: it is included after each such inclusion. */
#undef A_INT
#undef A_FLOAT
#undef A_BOOL
#undef A_ENUM
#undef A_TYPE
#undef A_DIMS
#undef A_FLOATS
#undef A_TEXT
#undef A_GRAPH
#undef A_DATA
#undef A_NONE
