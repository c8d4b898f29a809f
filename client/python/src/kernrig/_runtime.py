# SPDX-License-Identifier: Apache-2.0
"""Runtime: a session with a daemon.

A session has connections of two kinds, gRPC for requests and the local protocol for memory. It ends
when the second closes. A Runtime that has lost its daemon stays lost; Runtime.get() then makes
another.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, TypeVar

from kernrig import _address
from kernrig._info import ServerInfo, check_version, info_of
from kernrig._origin import VERSION
from kernrig.errors import (
    CallCancelled,
    ConnectionLost,
    DaemonStopping,
    ForkedRuntime,
    KernrigError,
    SessionEnded,
)

if TYPE_CHECKING:
    from types import TracebackType

    from kernrig._daemon import EmbeddedDaemon
    from kernrig._execute import Call, CallResult
    from kernrig._registry import OperatorRegistry

_T = TypeVar("_T")


class Runtime:
    """A connection to a kernrig daemon, and a session on it.

        runtime = Runtime.get()
        op = runtime.operator_registry.aten.add.out
        a = runtime.tensor([1.0, 2.0], "f32")
        c = runtime.empty(2, "f32")
        op(a, a, out=c)

    It owns its connections, and the daemon if that is an embedded one; close() or the end of a with
    block ends them. Tensors that it has made stay readable after that: they are memory. It is safe
    to use from several threads, but not in a forked child, which gets ForkedRuntime and makes one
    of its own. Signal handlers may use it, and may raise: what they interrupt is lost, the session
    is not.
    """

    def __init__(self, address: str, *, _daemon: EmbeddedDaemon | None = None) -> None:
        """Connects; use Runtime.get() or Runtime.connect()."""
        # Heavy imports, which `import kernrig.runtime` alone does not need. All of them are here: a
        # signal handler that interrupts one of a method's could not call that method.
        from kernrig import _factory
        from kernrig._channel import Channel
        from kernrig._execute import Executor
        from kernrig._local import LocalSession, connect
        from kernrig._memory import Memory
        from kernrig._registry import OperatorRegistry

        self._pid = os.getpid()
        self._factory = _factory
        self._why = ""  # why it can no longer be used
        self._is_over = False  # whether everything is given up, too
        self._address = _address.parse(address)
        self._daemon = _daemon
        connection = connect(self._address)
        self._local = LocalSession(connection, self._address)
        self._channel = Channel(self._address)
        try:
            self._info = info_of(self._channel.server_info())
            check_version(self._info, self._address)
            channel = self._channel
            session = channel.open_session(f"kernrig-python {VERSION}, pid {self._pid}")
            self._session = session
            self._local.bind(session)
            # The helper's thread knows its Memory, which must not know this object.
            self._memory = Memory(
                lambda sizes: channel.create_buffers(session, sizes),
                self._local.fetch,
                lambda handles: channel.free_buffers(session, handles),
                self._info.page_size,
            )
            limits = {name: limit.value for name, limit in self._info.limits.items()}
            self._executor = Executor(self._channel, session, self._memory, limits)
            self._registry = OperatorRegistry(self._list_operators, self._execute, limits)
        except BaseException:
            self._local.close()
            self._channel.close()
            raise
        _runtimes.add(self)

    # Making one.

    @classmethod
    def get(cls) -> Runtime:
        """This process's Runtime: the same one each time.

        It connects to KERNRIG_ADDRESS; if that is not set, it starts a daemon that ends with this
        process. One that is closed or has lost its daemon is replaced by a new one.

        Raises:
            ConnectionLost: nobody listens at KERNRIG_ADDRESS.
            DaemonNotFound: kernrigd is not found, or does not start.
            VersionMismatch: the daemon speaks another version of the protocol.
        """
        return _default.get(cls)

    @classmethod
    def connect(cls, address: str) -> Runtime:
        """A new session with the daemon at an address, "unix:/path".

        Raises:
            InvalidArgument: the address has another form.
            ConnectionLost: nobody listens there.
            PermissionDenied: this user may not connect.
            VersionMismatch: the daemon speaks another version of the protocol.
        """
        return cls(address)

    # What it is.

    @property
    def operator_registry(self) -> OperatorRegistry:
        """The operators that have kernels."""
        return self._registry

    @property
    def info(self) -> ServerInfo:
        """What the daemon said about itself when this Runtime connected."""
        return self._info

    @property
    def address(self) -> str:
        """The daemon's address, for Runtime.connect() in another process, or KERNRIG_ADDRESS."""
        return str(self._address)

    @property
    def closed(self) -> bool:
        """Whether it can no longer be used: closed, lost, or another process's."""
        return bool(self._why) or self._pid != os.getpid()

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"kernrigd {self._info.version}"
        return f"<Runtime {self._address}: {state}>"

    # Tensors.

    def empty(self, shape: int | Iterable[int], dtype: Any) -> Any:
        """A tensor on shared memory, of undefined content.

        Args:
            shape: elements in each dim.
            dtype: torch.float32 makes a torch.Tensor; np.float32, a np.dtype or a name ("f32",
                "float32", "bf16") makes a numpy array.

        Returns:
            A contiguous torch.Tensor or numpy.ndarray. Its memory lives while any view of it does.

        Raises:
            DTypeError: kernels do not take this dtype.
            LimitExceeded: the daemon has no more memory for this session.
        """
        return self._guard(lambda: self._factory.empty(self._memory, shape, dtype, is_zero=False))

    def zeros(self, shape: int | Iterable[int], dtype: Any) -> Any:
        """A tensor on shared memory, filled with zeros; see empty()."""
        return self._guard(lambda: self._factory.empty(self._memory, shape, dtype, is_zero=True))

    def tensor(self, data: Any, dtype: Any = None) -> Any:
        """A copy of data on shared memory.

        Args:
            data: a torch.Tensor, a numpy array, anything that DLPack or numpy can read, a number or
                nested lists of numbers.
            dtype: as for empty(); by default the data's own, and a torch.Tensor for a torch.Tensor.

        Returns:
            A torch.Tensor or numpy.ndarray of the data's shape and order of dims.
        """
        return self._guard(lambda: self._factory.tensor(self._memory, data, dtype))

    # Its end.

    def close(self) -> None:
        """Ends the session, and the daemon if it is an embedded one. May be called twice."""
        self._end("this Runtime is closed")

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        # copy and pickle ask for it: a copy would end the session when it goes.
        raise TypeError(
            "a Runtime cannot be copied or pickled, it is a session: pass its address, and call "
            "Runtime.connect(address) there"
        )

    def __enter__(self) -> Runtime:
        return self

    def __exit__(
        self,
        cls: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_registry", None) is not None and self._pid == os.getpid():
            self._end("this Runtime is gone")

    def _end(self, why: str) -> None:
        """Gives everything up.

        Each step may be done again: a signal handler may interrupt this, and may itself call it.
        """
        self._why = self._why or why
        if self._is_over or self._pid != os.getpid():
            return
        self._memory.close()
        self._local.shut_down()
        self._channel.close()
        if self._memory.join():
            self._local.close()
        if self._daemon is not None:
            self._daemon.stop()
        self._is_over = True

    def _abandon(self) -> None:
        """In a forked child: gives up what the parent goes on to use."""
        self._local.abandon()
        if self._daemon is not None:
            self._daemon.abandon()
        # What gRPC would do to shared sockets when its objects go is not to happen.
        _kept.append(self._channel)

    # For the package.

    def _execute(self, calls: Sequence[Call]) -> list[CallResult]:
        """Runs a list of calls in one request; each has its own outcome."""
        return self._guard(lambda: self._run(calls))

    def _run(self, calls: Sequence[Call]) -> list[CallResult]:
        self._memory.tend()
        registry = self._registry
        registry._fresh()
        results = self._executor.run(calls)
        registry._announce(self._executor.generation)
        return results

    def _server_info(self) -> ServerInfo:
        """Asks the daemon anew."""
        return self._guard(lambda: info_of(self._channel.server_info()))

    def _list_operators(self) -> Any:
        return self._guard(lambda: self._channel.list_operators(self._session))

    def _guard(self, request: Callable[[], _T]) -> _T:
        """Makes a request, if there is anybody to make it to; notes if there no longer is."""
        if self._pid != os.getpid():
            raise ForkedRuntime(
                f"this Runtime belongs to process {self._pid}, which has forked this one "
                f"({os.getpid()}): call Runtime.get() or Runtime.connect() here for one of its own"
            )
        if self._why:
            raise self._unusable()
        try:
            return request()
        except KernrigError as error:
            if isinstance(error, (ConnectionLost, SessionEnded, DaemonStopping)):
                raise self._lost(error) from error.__cause__
            if isinstance(error, CallCancelled) and self.closed:
                raise self._unusable() from error  # by another thread, in the meantime
            raise

    def _lost(self, error: KernrigError) -> KernrigError:
        """Gives everything up, since there is no session any more; the exception to raise."""
        if self._why:
            return error  # that it is over is known already
        text = str(error).removeprefix(f"{self._address}: ")
        try:
            epitaph = self._daemon.epitaph() if self._daemon is not None else ""
            if epitaph:
                text = f"{text}: {epitaph}"
        finally:
            # Whatever becomes of the search for a reason, or Runtime.get() would return a dead one.
            self._end(f"the connection was lost: {text}")
        cls = SessionEnded if isinstance(error, SessionEnded) else ConnectionLost
        return cls(f"{self._address}: {text}", operator=error.operator)

    def _unusable(self) -> KernrigError:
        return ConnectionLost(
            f"{self._address}: {self._why}. Runtime.get() or Runtime.connect() make a new one"
        )


class _Default:
    """The Runtime of Runtime.get()."""

    def __init__(self) -> None:
        # A signal handler that needs a Runtime may interrupt the making of one.
        self.lock = threading.RLock()
        self.runtime: Runtime | None = None

    def get(self, cls: type[Runtime]) -> Runtime:
        runtime = self.runtime
        if runtime is not None and not runtime.closed:
            return runtime
        with self.lock:
            if self.runtime is None or self.runtime.closed:
                made = self._make(cls)
                if self.runtime is None or self.runtime.closed:
                    self.runtime = made
                else:
                    made.close()
            return self.runtime

    def _make(self, cls: type[Runtime]) -> Runtime:
        address = os.environ.get("KERNRIG_ADDRESS")
        if address:
            return cls.connect(address)
        from kernrig._daemon import EmbeddedDaemon

        daemon = EmbeddedDaemon()
        try:
            return cls(str(daemon.address), _daemon=daemon)
        except BaseException:
            daemon.stop()
            raise


_runtimes: weakref.WeakSet[Runtime] = weakref.WeakSet()
_default = _Default()
_kept: list[Any] = []


def _before_fork() -> None:
    # gRPC is not ready for a fork while another thread is in a request.
    for runtime in list(_runtimes):
        if not runtime.closed:
            runtime._memory.settle()


def _after_fork() -> None:
    global _default
    for runtime in list(_runtimes):
        runtime._abandon()
    _default = _Default()


def _at_exit() -> None:
    for runtime in list(_runtimes):
        runtime.close()


os.register_at_fork(before=_before_fork, after_in_child=_after_fork)
atexit.register(_at_exit)
