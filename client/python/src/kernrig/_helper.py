# SPDX-License-Identifier: Apache-2.0
"""A thread for what must not be interrupted.

Python runs signal handlers in the main thread, between any two of its instructions, and they may
raise: Ctrl-C does. What has taken a reply from a socket by then, or has made something that only
the daemon knows, would be lost. So such work is done here, where no handler runs; whoever wants it
done waits, and an interrupt ends nothing but the waiting.

There is no lock that a handler or a finalizer could find held by the very thread that it
interrupts. Everything hangs on single operations of queues and dicts, which are atomic.
"""

from __future__ import annotations

import _thread
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from kernrig.errors import ConnectionLost, SystemFailure

_T = TypeVar("_T")


def _nothing() -> None:
    """A job that tells by its end that those before it have ended."""


def _from_second_frame(error: BaseException) -> BaseException:
    """An exception without the frame that has caught it.

    That frame knows the job, which knows the exception: all that its frames hold would live on.
    """
    trace = error.__traceback__
    return error.with_traceback(trace.tb_next if trace is not None else None)


class _Job:
    """Something to do, and what has become of it."""

    __slots__ = ("done", "error", "function", "result")

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function: Callable[[], Any] | None = function
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = _thread.allocate_lock()
        self.done.acquire()

    def run(self) -> None:
        """Does it."""
        function, self.function = self.function, None
        try:
            assert function is not None
            self.result = function()
        except BaseException as error:
            self.error = _from_second_frame(error)
        finally:
            self.done.release()

    def refuse(self) -> None:
        """Ends it without having done it."""
        self.error = _closed()
        self.done.release()


def _closed() -> ConnectionLost:
    return ConnectionLost("the session was closed")


_Jobs = SimpleQueue[_Job | None]


def _work(jobs: _Jobs, state: dict[str, int]) -> None:
    """The thread. It knows no Helper, so that one that is forgotten can end it."""
    if state.setdefault("thread", _thread.get_ident()) != _thread.get_ident():
        return  # two threads have started one
    while (job := jobs.get()) is not None:
        job.run()
        del job  # what nobody waits for any more goes now, and not when the next one comes
    state["ended"] = 1
    while True:
        try:
            late = jobs.get_nowait()
        except Empty:
            return
        if late is not None:
            late.refuse()


class Helper:
    """The thread, started when it is first needed."""

    def __init__(self) -> None:
        self._jobs: _Jobs = SimpleQueue()
        # "thread": its number. "started", "closed", "ended": there as soon as it is so.
        self._state: dict[str, int] = {}

    def do(self, function: Callable[[], _T]) -> _T:
        """Has something done, and waits for its result, or raises its exception.

        Raises:
            ConnectionLost: the helper is closed.
            SystemFailure: this is the helper itself, in a finalizer that it has come across.
        """
        if self._is_here():
            raise SystemFailure(
                "a finalizer that runs in kernrig's own thread cannot make tensors there"
            )
        job = _Job(function)
        self._put(job)
        job.done.acquire()
        error, job.error = job.error, None
        if error is None:
            result: _T = job.result
            return result
        try:
            raise error
        finally:
            del error  # which knows this frame

    def tell(self, function: Callable[[], None]) -> None:
        """Has something done some time, if the helper is not closed."""
        try:
            self._put(_Job(function))
        except ConnectionLost:
            return

    def close(self, last: Callable[[], None]) -> None:
        """Ends the thread when it has done what it has been told, and one last thing."""
        self._state["closed"] = 1
        if "started" in self._state:
            self._jobs.put(_Job(last))
        self._jobs.put(None)

    def wait(self, seconds: float) -> bool:
        """Waits until all that it has been told is done; whether it is.

        Of one that is closed: until the thread has ended.
        """
        if "started" not in self._state or "ended" in self._state:
            return True
        if self._is_here():
            return False
        job = _Job(_nothing)
        self._jobs.put(job)
        return "ended" in self._state or job.done.acquire(timeout=seconds)

    def __del__(self) -> None:
        if hasattr(self, "_jobs"):
            self._jobs.put(None)

    def _is_here(self) -> bool:
        return "ended" not in self._state and self._state.get("thread") == _thread.get_ident()

    def _put(self, job: _Job) -> None:
        if "closed" in self._state:
            raise _closed()
        self._jobs.put(job)
        if "started" not in self._state:
            # threading.Thread takes a lock of that module's, which the main thread may hold.
            try:
                _thread.start_new_thread(_work, (self._jobs, self._state))
            except RuntimeError as error:
                raise SystemFailure(f"a thread cannot be started: {error}") from error
            self._state["started"] = 1
        if "ended" in self._state:
            raise _closed()  # perhaps too late to be refused by the thread
