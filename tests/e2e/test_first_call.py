# SPDX-License-Identifier: Apache-2.0
"""What the README promises first: operators looked up by attribute, called, and inspected."""

from __future__ import annotations

import numpy as np
import pytest
from kernrig import errors
from kernrig.runtime import Runtime

NAMES = {
    "aten::_softmax.out",
    "aten::add.out",
    "aten::addmm.out",
    "aten::argmax.out",
    "aten::cat.out",
    "aten::convolution.out",
    "aten::full.out",
    "aten::max_pool2d_with_indices.out",
    "aten::mul.Scalar_out",
    "aten::mul.out",
    "aten::relu.out",
    "aten::sum.IntList_out",
}


def test_an_operator_is_called_and_returns_its_output(runtime: Runtime) -> None:
    a = runtime.tensor([[1, 2], [3, 4]], "f32")
    b = runtime.tensor([[10, 20], [30, 40]], "f32")
    c = runtime.empty((2, 2), "f32")
    op = runtime.operator_registry.aten.add.out
    assert op(a, b, out=c) is c
    np.testing.assert_array_equal(c, [[11, 22], [33, 44]])
    assert op(a, b, alpha=2, out=c) is c
    np.testing.assert_array_equal(c, [[21, 42], [63, 84]])
    # The packet chooses among overloads, and arguments may be named, one of them self.
    runtime.operator_registry.aten.add(a, b, out=c)
    np.testing.assert_array_equal(c, [[11, 22], [33, 44]])
    op(self=a, other=b, alpha=-1, out=c)
    np.testing.assert_array_equal(c, [[-9, -18], [-27, -36]])


def test_a_tried_call_tells_what_became_of_it(runtime: Runtime) -> None:
    a, c = runtime.tensor([[1.0, 2.0]], "f32"), runtime.empty((1, 2), "f32")
    op = runtime.operator_registry.aten.add.out
    result = op.try_call(a, a, out=c)
    assert result.value is c and result.error is None
    assert (result.provider, result.kernel, result.declined) == ("portable", "add_out", 0)
    assert 0 < result.kernel_ns < 60e9
    assert repr(result).startswith("<CallResult of portable/add_out: ")
    np.testing.assert_array_equal(c, [[2, 4]])

    refused = op.try_call(a, runtime.empty((3, 3), "f32"), out=c)
    assert isinstance(refused.error, errors.ShapeError) and refused.value is None
    assert repr(refused).startswith("<CallResult of portable/add_out: ShapeError(")
    unbound = op.try_call(a, out=c)
    assert isinstance(unbound.error, errors.ArgumentTypeError) and unbound.kernel == ""
    assert repr(unbound).startswith("<CallResult of no kernel: ArgumentTypeError(")


def test_the_names_are_those_that_have_a_kernel(runtime: Runtime) -> None:
    assert runtime.operator_registry.operator_names == NAMES


def test_attribute_and_name_give_the_same_object(runtime: Runtime) -> None:
    registry = runtime.operator_registry
    assert registry.aten.add.out is registry.get_kernel("aten::add.out")
    assert registry.aten.add is registry.aten.add
    assert registry.aten.add.overloads() == ["out"]


def test_each_level_completes(runtime: Runtime) -> None:
    registry = runtime.operator_registry
    assert "aten" in dir(registry)
    assert {"add", "convolution", "_softmax"} <= set(dir(registry.aten))
    assert "out" in dir(registry.aten.add)
    assert "IntList_out" in dir(registry.aten.sum)


def test_completion_makes_no_rpc(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = runtime.operator_registry
    calls: list[str] = []

    def refuse(*args: object, **kwargs: object) -> None:
        calls.append("an RPC")
        raise AssertionError("completion must not ask the daemon")

    for name in ("_list_operators", "_execute", "_server_info"):
        monkeypatch.setattr(runtime, name, refuse, raising=True)
    monkeypatch.setattr(registry, "_run", refuse, raising=False)
    dir(registry), dir(registry.aten), dir(registry.aten.add)
    hasattr(registry, "nope"), hasattr(registry.aten, "nope"), hasattr(registry.aten.add, "nope")
    hasattr(registry.aten.add, "_ipython_display_"), hasattr(registry, "_repr_html_")
    repr(registry), repr(registry.aten), repr(registry.aten.add), repr(registry.aten.add.out)
    assert calls == []


def test_schema_and_kernels_are_shown(runtime: Runtime) -> None:
    op = runtime.operator_registry.aten.add.out
    assert str(op._schema) == (
        "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)"
    )
    (kernel,) = op.kernels
    assert (kernel.operator, kernel.provider, kernel.scope) == (
        "aten::add.out",
        "portable",
        "global",
    )
    assert set(kernel.dtypes) == {
        *("uint8", "int8", "int16", "int32", "int64", "bool"),
        *("float16", "bfloat16", "float32", "float64"),
    }
    assert (kernel.key, kernel.abi, kernel.layout, kernel.in_place) == (
        "",
        "kernrig",
        "strided",
        True,
    )
    assert (op.name(), op.namespace, op.overload) == ("aten::add.out", "aten", "out")
    assert {"pointwise", "portable", "numbers"} <= set(op.tags)


def test_options_make_another_operator(runtime: Runtime) -> None:
    a, c = runtime.zeros((2, 2), "f32"), runtime.empty((2, 2), "f32")
    op = runtime.operator_registry.aten.add.out
    assert op.with_options(timeout=5)(a, a, out=c) is c
    assert op.with_options(provider="portable")(a, a, out=c) is c
    with pytest.raises(NotImplementedError, match="is of another provider"):
        op.with_options(provider="other")(a, a, out=c)
    with pytest.raises(TypeError, match="timeout, provider"):
        op.with_options(speed=9)
    for timeout in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="timeout"):
            op.with_options(timeout=timeout)


def test_several_outputs_come_back_in_the_schema_s_order(runtime: Runtime) -> None:
    x = runtime.tensor(np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4))
    values, indices = runtime.empty((1, 1, 2, 2), "f32"), runtime.empty((1, 1, 2, 2), "i64")
    op = runtime.operator_registry.aten.max_pool2d_with_indices.out
    got = op(x, 2, out=values, indices=indices)
    assert got[0] is values and got[1] is indices
    np.testing.assert_array_equal(values.ravel(), [5, 7, 13, 15])
    np.testing.assert_array_equal(indices.ravel(), [5, 7, 13, 15])
    together = op(x, [2, 2], out=(values, indices))
    assert together[0] is values and together[1] is indices
    with pytest.raises(TypeError, match="indices is missing"):
        op(x, 2, out=values)
    with pytest.raises(TypeError, match="2 outputs"):
        op(x, 2, out=(values, indices, values))


def test_values_that_are_no_tensors_are_returned_too(start_daemon) -> None:  # type: ignore[no-untyped-def]
    from harness import build_directory

    daemon = start_daemon("--test-library", str(build_directory() / "kernels" / "behaves.so"))
    with daemon.connect() as rt:
        low, high = rt.empty((), "f32"), rt.empty((), "f32")
        got = rt.operator_registry.test.count.low_high(rt.zeros((3, 5), "f32"), low=low, high=high)
        assert got[0] is low and got[3] is high
        assert got[1:3] == (15, 0.5) and got[4] is True
        assert (float(low), float(high)) == (1.0, 2.0)


def test_server_info_tells_versions_limits_and_providers(runtime: Runtime) -> None:
    info = runtime.info
    assert info.version == "0.1.0" and len(info.build_id) == 16
    assert info.page_size == 4096 and not info.embedded and info.sandbox_level == "none"
    assert info.limits["sessions"].value == 64 and info.limits["sessions"].unit == "sessions"
    (provider,) = info.providers
    assert (provider.name, provider.kernels) == ("portable", len(NAMES))
