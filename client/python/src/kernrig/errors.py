# SPDX-License-Identifier: Apache-2.0
"""Every exception that kernrig raises.

All are RuntimeErrors, as PyTorch's own are, and besides what people expect of such a failure:

    KernrigError(RuntimeError)
        RequestError                      the call is wrong, and would fail again
            InvalidArgument               (ValueError)
            ShapeError                    (ValueError)
            DTypeError                    (NotImplementedError)
            CastError                     (TypeError)
            IndexOutOfRange               (IndexError)
            OverlapError                  (ValueError)
            ResizeError                   (ValueError)
            KernelOutOfMemory             (MemoryError)
            KernelZeroDivision            (ZeroDivisionError)
            KernelOverflow                (OverflowError)
            ArgumentTypeError             (TypeError)
            OperatorNotFound              (LookupError)
                MissingOperatorAttribute  (AttributeError)
                MissingOperatorKey        (KeyError)
            KernelNotFound                (NotImplementedError)
                MissingKernelAttribute    (AttributeError)
                MissingKernelKey          (KeyError)
            SchemaError                   (ValueError)
            KernelKeyError                (ValueError)
            DuplicateKernel
            ExtentError                   (ValueError)
            DeviceError                   (ValueError)
            AutogradError
        KernelError                       the kernel or its worker came to grief
            KernelCrashed
            KernelExited
            KernelTimeout                 (TimeoutError)
            KernelTampered
            LoadError
            WorkerError
        DaemonError                       the daemon refused, or there is none to ask
            SessionEnded                  (ConnectionError)
            BufferNotFound                (LookupError)
            LimitExceeded
            SessionBusy
            MalformedRequest              (ValueError)
            PermissionDenied              (PermissionError)
            CallCancelled
            DaemonStopping                (ConnectionError)
            SystemFailure                 (OSError)
            InternalError
            ConnectionLost                (ConnectionError)
            VersionMismatch
            ForkedRuntime
            DaemonNotFound                (FileNotFoundError)

The table that they are generated from is docs/errors.md. KernrigError documents the attributes.
"""

from __future__ import annotations

from kernrig import _status
from kernrig._error import DaemonError, KernelError, KernrigError, RequestError
from kernrig._status import *  # noqa: F403  (its __all__ is the table of errors)
from kernrig._status import ERRORS, KernelNotFound, OperatorNotFound


class MissingOperatorAttribute(OperatorNotFound, AttributeError):
    """Attribute look-up of an operator, overload or namespace that does not exist."""


class MissingOperatorKey(OperatorNotFound, KeyError):
    """`get_kernel` of an operator that does not exist."""


class MissingKernelAttribute(KernelNotFound, AttributeError):
    """Attribute look-up of a known operator that no kernel implements."""


class MissingKernelKey(KernelNotFound, KeyError):
    """`get_kernel` of a known operator that no kernel implements."""


_BY_STATUS: dict[int, type[KernrigError]] = {cls.status: cls for cls in ERRORS}


def class_of(status: int) -> type[KernrigError]:
    """The class of an error's number; KernrigError for one that this client does not know."""
    return _BY_STATUS.get(status, KernrigError)


__all__ = [
    "DaemonError",
    "KernelError",
    "KernrigError",
    "MissingKernelAttribute",
    "MissingKernelKey",
    "MissingOperatorAttribute",
    "MissingOperatorKey",
    "RequestError",
    "class_of",
]
__all__ += _status.__all__
