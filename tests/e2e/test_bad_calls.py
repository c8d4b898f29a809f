# SPDX-License-Identifier: Apache-2.0
"""Calls that are wrong: each gets the class that people expect and a text that names what is wrong,
and the session goes on."""

from __future__ import annotations

import numpy as np
import pytest
from kernrig import errors
from kernrig.runtime import Runtime


def tensors(rt: Runtime, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    """Tensors of ones, on shared memory."""
    return [rt.tensor(np.ones(shape, np.float32)) for shape in shapes]


@pytest.fixture(autouse=True)
def the_session_goes_on(runtime: Runtime):  # type: ignore[no-untyped-def]
    """After every refusal the next call of the same session is right."""
    yield
    a, c = tensors(runtime, (2,), (2,))
    runtime.operator_registry.aten.add.out(a, a, out=c)
    np.testing.assert_array_equal(c, [2, 2])


# Look-up


def test_unknown_namespace(runtime: Runtime) -> None:
    with pytest.raises(AttributeError, match=r"namespace 'atn'.*did you mean.*aten"):
        runtime.operator_registry.atn
    with pytest.raises(KeyError, match=r"did you mean.*aten::add.out"):
        runtime.operator_registry.get_kernel("atn::add.out")


def test_unknown_operator(runtime: Runtime) -> None:
    with pytest.raises(AttributeError, match=r"did you mean.*add"):
        runtime.operator_registry.aten.ad
    with pytest.raises(KeyError, match=r"did you mean.*aten::add.out") as info:
        runtime.operator_registry.get_kernel("aten::ad.out")
    assert isinstance(info.value, errors.OperatorNotFound)
    assert str(info.value)[0] != "'"  # not KeyError's repr


def test_unknown_overload(runtime: Runtime) -> None:
    with pytest.raises(AttributeError, match="aten::add has no overload 'outt'"):
        runtime.operator_registry.aten.add.outt
    with pytest.raises(KeyError, match=r"aten::add.outt"):
        runtime.operator_registry.get_kernel("aten::add.outt")


def test_known_operator_without_a_kernel(runtime: Runtime) -> None:
    text = "aten::add.Tensor has no kernel; aten::add.out has one"
    with pytest.raises(AttributeError, match=text):
        runtime.operator_registry.aten.add.Tensor
    with pytest.raises(KeyError, match=text):
        runtime.operator_registry.get_kernel("aten::add.Tensor")
    assert not hasattr(runtime.operator_registry.aten.add, "Tensor")
    with pytest.raises(AttributeError, match="has no kernel"):
        runtime.operator_registry.aten.gelu


def test_the_daemon_itself_refuses_unknown_names(runtime: Runtime) -> None:
    """A client that knows nothing is told the same."""
    registry = runtime.operator_registry
    op = registry.aten.add.out.with_options()
    a, c = tensors(runtime, (2,), (2,))
    for name, words in {
        "aten::ad.out": "did you mean aten::add.out",
        "aten::add.Tensor": "aten::add.out has",
        "": "operator",
        "aten::add.out\n": "no overload",
        "x" * 5000: "operator",
    }.items():
        op._name = name
        with pytest.raises(errors.KernrigError, match=words):
            op(a, a, out=c)


# Arguments


def test_wrong_number_of_arguments(runtime: Runtime) -> None:
    a, c = tensors(runtime, (2,), (2,))
    op = runtime.operator_registry.aten.add.out
    with pytest.raises(TypeError, match=r"aten::add.out\(\) missing value for argument 'other'"):
        op(a, out=c)
    with pytest.raises(TypeError, match=r"aten::add.out\(\).*2 positional arguments.*3"):
        op(a, a, 2, out=c)
    with pytest.raises(TypeError, match="out is missing"):
        op(a, a)


def test_wrong_name_of_an_argument(runtime: Runtime) -> None:
    a, c = tensors(runtime, (2,), (2,))
    op = runtime.operator_registry.aten.add.out
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'alpa'.*alpha"):
        op(a, a, alpa=2, out=c)
    with pytest.raises(TypeError, match="multiple values for argument 'self'"):
        op(a, a, self=a, out=c)


@pytest.mark.parametrize("value", ["x", None, [1, 2], b"x", object(), {}, 1j, lambda: 1])
def test_wrong_type_of_an_argument(runtime: Runtime, value: object) -> None:
    a, c = tensors(runtime, (2,), (2,))
    with pytest.raises(TypeError, match="'other'"):
        runtime.operator_registry.aten.add.out(a, value, out=c)
    with pytest.raises(TypeError, match="'alpha'"):
        runtime.operator_registry.aten.add.out(a, a, alpha=value, out=c)


def test_integers_beyond_int64(runtime: Runtime) -> None:
    a, c = tensors(runtime, (2,), (2,))
    for value in (2**63, -(2**63) - 1, 10**30):
        with pytest.raises(OverflowError, match="alpha"):
            runtime.operator_registry.aten.add.out(a, a, alpha=value, out=c)
    runtime.operator_registry.aten.add.out(a, a, alpha=-(2**63), out=c)


def test_an_argument_that_is_named_self(runtime: Runtime) -> None:
    x, c = tensors(runtime, (2,), (2,))
    runtime.operator_registry.aten.relu.out(self=x, out=c)
    np.testing.assert_array_equal(c, [1, 1])


def test_outputs_that_are_not_named_out(runtime: Runtime) -> None:
    (x,) = tensors(runtime, (1, 1, 2, 2))
    op = runtime.operator_registry.aten.max_pool2d_with_indices.out
    out, indices = runtime.empty((1, 1, 1, 1), "f32"), runtime.empty((1, 1, 1, 1), "i64")
    assert op(x, 2, out=out, indices=indices) == (out, indices)
    with pytest.raises(TypeError, match="unexpected keyword argument 'values'"):
        op(x, 2, out=out, indices=indices, values=out)


# Dtypes and shapes


@pytest.mark.parametrize("dtype", ["complex64", "S4", "U2", "O", "datetime64[s]", "i4,f4", "u4"])
def test_a_dtype_that_no_kernel_takes(runtime: Runtime, dtype: str) -> None:
    (c,) = tensors(runtime, (2,))
    bad = np.zeros(2, dtype)
    with pytest.raises(NotImplementedError, match="'self'"):
        runtime.operator_registry.aten.add.out(bad, bad, out=c)
    with pytest.raises(NotImplementedError):
        runtime.empty((2,), np.dtype(dtype))


def test_a_dtype_that_this_kernel_does_not_take(runtime: Runtime) -> None:
    x, c = runtime.zeros((2,), "bool"), runtime.zeros((2,), "bool")
    with pytest.raises(
        NotImplementedError, match=r"aten::relu.out has no kernel for bool.*portable.*takes uint8"
    ):
        runtime.operator_registry.aten.relu.out(x, out=c)


def test_a_result_that_cannot_be_cast(runtime: Runtime) -> None:
    (a,) = tensors(runtime, (2,))
    out = runtime.zeros((2,), "i64")
    with pytest.raises(RuntimeError, match=r"result type Float can't be cast.*output type Long"):
        runtime.operator_registry.aten.add.out(a, a, out=out)
    np.testing.assert_array_equal(out, [0, 0])


def test_shapes_that_do_not_broadcast(runtime: Runtime) -> None:
    a, b, c = tensors(runtime, (2, 3), (2, 4), (2, 3))
    with pytest.raises(ValueError, match=r"aten::add.out \[portable\]: .*\(3\).*\(4\)") as info:
        runtime.operator_registry.aten.add.out(a, b, out=c)
    assert isinstance(info.value, errors.ShapeError)
    assert (info.value.operator, info.value.provider) == ("aten::add.out", "portable")
    assert info.value.code == "SHAPE"
    called_with = "self=float32[2, 3], other=float32[2, 4], alpha=1, out=float32[2, 3]"
    assert str(info.value).endswith(f"; called with {called_with}")


def test_a_numpy_output_of_the_wrong_shape(runtime: Runtime) -> None:
    a, b, small, large = tensors(runtime, (2, 3), (2, 3), (2, 2), (7, 7))
    op = runtime.operator_registry.aten.add.out
    for out in (small, large, np.zeros(5, np.float32), np.zeros((9, 9), np.float32)):
        shape = out.shape
        with pytest.raises(ValueError, match=r"'out'.*\[2, 3\]") as info:
            op(a, b, out=out)
        assert isinstance(info.value, errors.ResizeError)
        assert info.value.needed == (2, 3)
        assert out.shape == shape


def test_seventeen_dims(runtime: Runtime) -> None:
    deep = np.ones((1,) * 17, np.float32)
    (c,) = tensors(runtime, (1,))
    with pytest.raises(ValueError, match=r"'self'.*17.*16"):
        runtime.operator_registry.aten.relu.out(deep, out=c)


# Memory


def test_partial_overlap_of_an_output_and_an_input(runtime: Runtime) -> None:
    op = runtime.operator_registry.aten.add.out
    for base in (runtime.zeros((9,), "f32"), np.zeros(9, np.float32)):
        base[:] = np.arange(9)
        with pytest.raises(RuntimeError, match=r"'out'.*single memory location.*'self'") as info:
            op(base[:8], base[:8], out=base[1:])
        assert isinstance(info.value, errors.OverlapError)
        np.testing.assert_array_equal(base, np.arange(9))
        # What interleaves does not overlap, and what is the same may be.
        op(base[0:8:2], base[0:8:2], out=base[1:8:2])
        np.testing.assert_array_equal(base, [0, 0, 2, 4, 4, 8, 6, 12, 8])
        op(base, base, out=base)
        np.testing.assert_array_equal(base, [0, 0, 4, 8, 8, 16, 12, 24, 16])


def test_an_output_whose_elements_overlap_each_other(runtime: Runtime) -> None:
    (a,) = tensors(runtime, (3, 2))
    base = runtime.zeros((2,), "f32")
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        runtime.operator_registry.aten.relu.out(
            a, out=np.lib.stride_tricks.as_strided(base, (3, 2), (0, 4))
        )


def test_an_output_that_is_an_input_of_a_kernel_that_does_not_take_it(runtime: Runtime) -> None:
    m = tensors(runtime, (2, 2))[0]
    with pytest.raises(errors.OverlapError, match=r"'out'.*does not work in place"):
        runtime.operator_registry.aten.addmm.out(m, m, m, out=m)


def test_a_read_only_output(runtime: Runtime) -> None:
    (a,) = tensors(runtime, (2,))
    out = np.zeros(2, np.float32)
    out.flags.writeable = False
    with pytest.raises(ValueError, match=r"'out'.*read-only"):
        runtime.operator_registry.aten.relu.out(a, out=out)
    runtime.operator_registry.aten.relu.out(out, out=a)  # as an input it is fine


def test_an_output_in_another_byte_order(runtime: Runtime) -> None:
    (a,) = tensors(runtime, (2,))
    swapped = np.array([1, 2], ">f4")
    runtime.operator_registry.aten.relu.out(swapped, out=a)
    np.testing.assert_array_equal(a, [1, 2])
    with pytest.raises(errors.KernrigError, match="'out'"):
        runtime.operator_registry.aten.relu.out(a, out=swapped)


def test_too_many_tensors_for_one_call(runtime: Runtime) -> None:
    """A list of 5,000 tensors: the error names the limit, and 1,000 are fine."""
    (one,) = tensors(runtime, (1,))
    out = runtime.empty((1000,), "f32")
    with pytest.raises(errors.LimitExceeded, match=r"2001 tensors.*'tensors' of 1024"):
        runtime.operator_registry.aten.cat.out([one] * 2000, out=out)
    with pytest.raises(errors.LimitExceeded, match=r"5000 items.*'list_items' of 4096"):
        runtime.operator_registry.aten.cat.out([one] * 5000, out=out)
    runtime.operator_registry.aten.cat.out([one] * 1000, out=out)
    np.testing.assert_array_equal(out, np.ones(1000))
    ordinary = np.ones(1, np.float32)
    with pytest.raises(errors.LimitExceeded, match="'tensors' of 1024"):
        runtime.operator_registry.aten.cat.out([ordinary] * 5000, out=out)  # before any is copied


def test_a_call_that_does_not_fit_a_frame(runtime: Runtime) -> None:
    (one,) = tensors(runtime, (1,) * 16)
    out = runtime.empty((1000,) + (1,) * 15, "f32")
    with pytest.raises(errors.LimitExceeded, match="'frame_bytes' of 196608"):
        runtime.operator_registry.aten.cat.out([one] * 1000, out=out)


def test_a_list_that_is_too_long(runtime: Runtime) -> None:
    (x,) = tensors(runtime, (2,))
    out = runtime.empty((), "f32")
    with pytest.raises(errors.LimitExceeded, match="'list_items' of 4096"):
        runtime.operator_registry.aten.sum.IntList_out(x, [0] * 5000, out=out)


def test_a_timeout_beyond_the_limit(runtime: Runtime) -> None:
    a, c = tensors(runtime, (2,), (2,))
    with pytest.raises(errors.LimitExceeded, match="'timeout_ms'"):
        runtime.operator_registry.aten.relu.out.with_options(timeout=1e6)(a, out=c)
