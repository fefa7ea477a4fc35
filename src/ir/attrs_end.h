/* Forgets the attribute words of the op table (A_INT and so on), after a reading of ops.def that gave them a meaning.
 * No include guard: it is included after each such reading. */
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
