# SPDX-License-Identifier: Apache-2.0
"""The thread that nobody interrupts."""

from __future__ import annotations

import gc
import signal
import threading
import traceback
import weakref
from collections.abc import Iterator

import pytest

from kernrig._helper import Helper
from kernrig.errors import ConnectionLost, SystemFailure

PATIENCE = 10


@pytest.fixture
def helper() -> Iterator[Helper]:
    helper = Helper()
    yield helper
    helper.close(lambda: None)
    assert helper.wait(PATIENCE)


def test_one_thread_does_everything_in_order(helper: Helper) -> None:
    done: list[object] = []
    helper.tell(lambda: done.append("told"))
    assert helper.do(lambda: done.append(threading.get_ident())) is None
    assert helper.do(threading.get_ident) == done[1] != threading.get_ident()
    assert done[0] == "told"


def test_it_starts_when_it_is_needed_and_only_once(helper: Helper) -> None:
    assert helper.wait(0)  # for nothing
    assert helper._state == {}
    idents: list[int] = []
    threads = [
        threading.Thread(target=lambda: idents.append(helper.do(threading.get_ident)))
        for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(idents) == 20
    assert len(set(idents)) == 1


class Thing:
    """Has weak references."""


def test_an_exception_is_the_callers(helper: Helper) -> None:
    """And whatever its frames hold goes with it, without a collection of garbage."""

    def fail(thing: Thing) -> None:
        raise ValueError("no")

    def attempt() -> weakref.ref[Thing]:
        thing = Thing()
        try:
            helper.do(lambda: fail(thing))
        except ValueError as error:
            assert traceback.extract_tb(error.__traceback__)[-1].name == "fail"
        return weakref.ref(thing)

    gc.disable()
    try:
        gone = attempt()
        helper.do(lambda: None)
        assert gone() is None
    finally:
        gc.enable()


def test_an_interrupt_ends_only_the_waiting(helper: Helper) -> None:
    class Interrupt(Exception):
        pass

    def interrupt(number: int, frame: object) -> None:
        raise Interrupt

    is_waited_for, may_end = threading.Event(), threading.Event()
    done: list[int] = []

    def work() -> None:
        is_waited_for.set()
        assert may_end.wait(PATIENCE)
        done.append(1)

    def send() -> None:
        assert is_waited_for.wait(PATIENCE)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, interrupt)
    sender = threading.Thread(target=send)
    try:
        sender.start()
        with pytest.raises(Interrupt):
            helper.do(work)
    finally:
        sender.join(PATIENCE)
        signal.signal(signal.SIGUSR1, before)
    assert done == []
    may_end.set()
    assert helper.wait(PATIENCE)
    assert done == [1]


def test_a_closed_one_does_one_last_thing(helper: Helper) -> None:
    done: list[str] = []
    helper.tell(lambda: done.append("first"))
    helper.close(lambda: done.append("last"))
    assert helper.wait(PATIENCE)
    assert done == ["first", "last"]
    with pytest.raises(ConnectionLost):
        helper.do(lambda: None)
    helper.tell(lambda: done.append("never"))
    assert done == ["first", "last"]


def test_whoever_comes_while_it_closes_is_refused(helper: Helper) -> None:
    is_here, may_end = threading.Event(), threading.Event()

    def wait() -> None:
        is_here.set()
        may_end.wait(PATIENCE)

    helper.tell(wait)
    assert is_here.wait(PATIENCE)
    errors: list[Exception] = []

    def late() -> None:
        try:
            helper._state.pop("closed")  # as it was when this thread looked
            helper.do(lambda: None)
        except ConnectionLost as error:
            errors.append(error)

    helper.close(lambda: None)
    thread = threading.Thread(target=late)
    thread.start()
    may_end.set()
    thread.join(PATIENCE)
    assert len(errors) == 1


def test_it_does_not_wait_for_itself(helper: Helper) -> None:
    def work() -> bool:
        with pytest.raises(SystemFailure, match="finalizer"):
            helper.do(lambda: None)
        return helper.wait(PATIENCE)

    assert helper.do(work) is False
