"""The enumerations of the public headers.

Made by tools/make_python from the public headers and the op table; not edited by hand.
"""

from enum import IntEnum, IntFlag

__all__ = [
    "Status", "LogLevel", "DType", "QuantScheme", "Layout", "RopeStyle", "PadMode", "Scatter", "DepthOrder",
    "ResizeMode", "ResizeCoords", "ResizeNearest", "GridMode", "GridPadding", "Out", "Direction", "RnnAct", "FftNorm",
    "Switch", "DeviceKind", "ReportKind", "ReportFormat", "Segment", "OpTableInputMode", "MetaKind", "TokenFlags",
    "GrammarKind", "LmCache", "LmSpecial", "Act", "NormKind", "ConformResult"
]


class Status(IntEnum):
    """rlx_status"""

    OK = 0
    INVALID = 1
    NO_MEMORY = 2
    NOT_FOUND = 3
    UNSUPPORTED = 4
    IO = 5
    BUSY = 6
    CANCELLED = 7
    DEVICE_LOST = 8
    LIMIT = 9


class LogLevel(IntEnum):
    """rlx_log_level"""

    ERROR = 0
    WARN = 1
    INFO = 2
    DEBUG = 3


class DType(IntEnum):
    """rlx_dtype"""

    F32 = 0
    F16 = 1
    BF16 = 2
    F64 = 3
    I8 = 4
    U8 = 5
    I16 = 6
    I32 = 7
    U32 = 8
    I64 = 9
    BOOL = 10
    C64 = 11
    Q4_0 = 12
    Q4_1 = 13
    Q5_0 = 14
    Q5_1 = 15
    Q8_0 = 16
    Q2_K = 17
    Q3_K = 18
    Q4_K = 19
    Q5_K = 20
    Q6_K = 21
    Q8_K = 22
    IQ4_NL = 23
    IQ4_XS = 24
    MXFP4 = 25
    TQ1_0 = 26
    TQ2_0 = 27
    IQ1_S = 28
    IQ1_M = 29
    IQ2_XXS = 30
    IQ2_XS = 31
    IQ2_S = 32
    IQ3_XXS = 33
    IQ3_S = 34
    NVFP4 = 35
    U16 = 36
    U64 = 37
    F8E4M3 = 38
    F8E5M2 = 39
    DTYPE_UNKNOWN = 255


class QuantScheme(IntEnum):
    """rlx_quant_scheme"""

    INT8 = 0
    INT8_ASYM = 1
    INT4 = 2
    FP8_E4M3 = 3
    FP8_E5M2 = 4
    NVFP4 = 5


class Layout(IntEnum):
    """rlx_layout"""

    BSHD = 0
    BHSD = 1


class RopeStyle(IntEnum):
    """rlx_rope_style"""

    NEOX = 0
    GPTJ = 1


class PadMode(IntEnum):
    """rlx_pad_mode"""

    CONSTANT = 0
    REFLECT = 1
    EDGE = 2
    WRAP = 3


class Scatter(IntEnum):
    """rlx_scatter"""

    NONE = 0
    ADD = 1
    MUL = 2
    MAX = 3
    MIN = 4


class DepthOrder(IntEnum):
    """rlx_depth_order"""

    DCR = 0
    CRD = 1


class ResizeMode(IntEnum):
    """rlx_resize_mode"""

    NEAREST = 0
    LINEAR = 1


class ResizeCoords(IntEnum):
    """rlx_resize_coords"""

    HALF_PIXEL = 0
    ALIGN_CORNERS = 1
    ASYMMETRIC = 2
    PYTORCH_HALF_PIXEL = 3
    HALF_PIXEL_SYMMETRIC = 4


class ResizeNearest(IntEnum):
    """rlx_resize_nearest"""

    ROUND_PREFER_FLOOR = 0
    ROUND_PREFER_CEIL = 1
    FLOOR = 2
    CEIL = 3


class GridMode(IntEnum):
    """rlx_grid_mode"""

    LINEAR = 0
    NEAREST = 1
    CUBIC = 2


class GridPadding(IntEnum):
    """rlx_grid_padding"""

    ZEROS = 0
    BORDER = 1
    REFLECTION = 2


class Out(IntEnum):
    """rlx_out"""

    Y = 0
    H = 1
    C = 2
    STATE = 1


class Direction(IntEnum):
    """rlx_direction"""

    FORWARD = 0
    REVERSE = 1
    BOTH = 2


class RnnAct(IntEnum):
    """rlx_rnn_act"""

    TANH = 0
    RELU = 1


class FftNorm(IntEnum):
    """rlx_fft_norm"""

    BACKWARD = 0
    FORWARD = 1
    ORTHO = 2


class Switch(IntFlag):
    """rlx_switch"""

    FORBID_HOST = 1
    EXACT = 2
    FAST_CONV = 4
    KEEP_VALUES = 8
    NO_VIEWS = 16
    NO_IN_PLACE = 32
    NO_CONCAT = 64
    NO_REORDER = 128
    NO_SEARCH = 256
    FAST_F16 = 512


class DeviceKind(IntEnum):
    """rlx_device_kind"""

    DISCRETE = 0
    INTEGRATED = 1
    CPU = 2
    SOFTWARE = 3
    NULL = 4


class ReportKind(IntEnum):
    """rlx_report_kind"""

    PLAN = 0
    DISPATCH = 1
    PROFILE = 2
    TRACE = 3


class ReportFormat(IntEnum):
    """rlx_report_format"""

    TEXT = 0
    JSON = 1
    SVG = 2


class Segment(IntEnum):
    """rlx_segment"""

    NONE = 0
    WEIGHTS = 1
    STATE = 2
    SCRATCH = 3


class OpTableInputMode(IntEnum):
    """rlx_op_table_input_mode"""

    REQUIRED = 0
    OPTIONAL = 1
    MANY = 2


class MetaKind(IntEnum):
    """rlx_meta_kind"""

    NONE = 0
    BOOL = 1
    INT = 2
    FLOAT = 3
    TEXT = 4
    LIST = 5


class TokenFlags(IntFlag):
    """rlx_token_flags"""

    ADD_SPECIAL = 1
    PARSE_SPECIAL = 2


class GrammarKind(IntEnum):
    """rlx_grammar_kind"""

    GBNF = 0
    JSON_SCHEMA = 1
    REGEX = 2
    JSON = 3


class LmCache(IntEnum):
    """rlx_lm_cache"""

    F16 = 0
    F32 = 1
    Q8_0 = 2
    Q4_0 = 3


class LmSpecial(IntEnum):
    """rlx_lm_special"""

    DEFAULT = 0
    TEXT = 1
    PARSE = 2


class Act(IntEnum):
    """rlx_act"""

    NONE = 0
    RELU = 1
    GELU = 2
    GELU_APPROX = 3
    SILU = 4
    SIGMOID = 5
    TANH = 6


class NormKind(IntEnum):
    """rlx_norm_kind"""

    RMS = 0
    LAYER = 1


class ConformResult(IntEnum):
    """rlx_conform_result"""

    PASS = 0
    HOST = 1
    UNSUPPORTED = 2
    FAIL = 3
