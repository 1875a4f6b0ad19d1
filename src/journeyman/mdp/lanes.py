"""Lanes: 32 numbers in single precision that compiled loops treat as one, in a few vector registers.

Loops over a short last axis are what a compiler turns into vector instructions if it can prove that the arrays involved
do not overlap, which it mostly cannot. These make it certain. Arrays are `[N, 32]`; a row is a value in a kernel:

    total = plus_product(lanes_at(reward, s), weight, lanes_at(V, n))
    put_lanes(V, s, total)
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

LANES = 32
FLAGS = ("reassoc", "contract", "nsz", "arcp", "nnan", "ninf")
VECTOR = ir.VectorType(ir.FloatType(), LANES)


class LanesType(types.Type):
    """What the compiler calls them."""

    def __init__(self) -> None:
        super().__init__(name=f"Lanes{LANES}")


lanes_type = LanesType()


@register_model(LanesType)
class LanesModel(models.PrimitiveModel):
    """They are one vector."""

    def __init__(self, manager: Any, lanes: Any) -> None:
        super().__init__(manager, lanes, VECTOR)


def _in_all(builder: Any, number: Any) -> Any:
    """Return the same number in all lanes."""
    nothing, first = ir.Constant(VECTOR, ir.Undefined), ir.Constant(ir.IntType(32), 0)
    one = builder.insert_element(nothing, number, first)
    return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


def _place(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Return a pointer to the row of an array `[N, 32]`; it is checked no more than other indices are."""
    array_type, row_type = signature.args[:2]
    number = context.cast(builder, arguments[1], row_type, types.intp)
    data = context.make_array(array_type)(context, builder, arguments[0]).data
    first = builder.gep(data, [builder.mul(number, ir.Constant(number.type, LANES))])
    return builder.bitcast(first, VECTOR.as_pointer())


@intrinsic
def lanes_at(_: Any, array: Any, row: Any) -> Any:
    """Return a row of an array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = builder.load(_place(context, builder, signature, arguments))
        found.align = 4
        return found

    return lanes_type(array, row), generate


@intrinsic
def put_lanes(_: Any, array: Any, row: Any, lanes: Any) -> Any:
    """Write a row of an array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _place(context, builder, signature, arguments)).align = 4
        return context.get_dummy_value()

    return types.void(array, row, lanes), generate


@intrinsic
def in_all_lanes(_: Any, number: Any) -> Any:
    """Return the same number in all lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _in_all(builder, context.cast(builder, arguments[0], signature.args[0], types.float32))

    return lanes_type(number), generate


@intrinsic
def plus_product(_: Any, lanes: Any, number: Any, others: Any) -> Any:
    """Return lanes + number * others."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = _in_all(builder, context.cast(builder, arguments[1], signature.args[1], types.float32))
        return builder.fadd(arguments[0], builder.fmul(number, arguments[2], flags=FLAGS), flags=FLAGS)

    return lanes_type(lanes, number, others), generate


@intrinsic
def larger_lanes(_: Any, lanes: Any, others: Any) -> Any:
    """Return the larger of two in each lane."""

    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *arguments, flags=FLAGS), *arguments)

    return lanes_type(lanes, others), generate


@intrinsic
def lane_distance(_: Any, lanes: Any, others: Any) -> Any:
    """Return |lanes - others|."""

    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        there = builder.fsub(*arguments, flags=FLAGS)
        back = builder.fsub(*reversed(arguments), flags=FLAGS)
        return builder.select(builder.fcmp_ordered(">", there, back, flags=FLAGS), there, back)

    return lanes_type(lanes, others), generate
