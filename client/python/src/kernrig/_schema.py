# SPDX-License-Identifier: Apache-2.0
"""A schema as the client needs it: names, which arguments are outputs, what is a list.

The daemon parses schemas by the whole grammar and binds arguments. Here a text that it has accepted
is only split into its arguments, for look-up by name, for help() and to choose among overloads.
"""

from __future__ import annotations

import inspect
import keyword
from typing import Any

_CLOSING = {"(": ")", "[": "]", "{": "}"}


def _pieces(text: str, separator: str) -> list[str]:
    """The text cut at a separator, where that stands outside of brackets and quotes."""
    pieces: list[str] = []
    stack: list[str] = []
    quote = ""
    start = position = 0
    while position < len(text):
        character = text[position]
        if quote:
            if character == "\\":
                position += 1
            elif character == quote:
                quote = ""
        elif character in "\"'":
            quote = character
        elif character in _CLOSING:
            stack.append(_CLOSING[character])
        elif stack and character == stack[-1]:
            stack.pop()
        elif not stack and text.startswith(separator, position):
            pieces.append(text[start:position])
            position += len(separator) - 1
            start = position + 1
        position += 1
    pieces.append(text[start:])
    return [piece.strip() for piece in pieces]


def _alias(type_text: str) -> str:
    """What stands in the parentheses of an alias annotation: "a!" of "Tensor(a!)[]"."""
    opening = type_text.find("(")
    return "" if opening < 0 else type_text[opening + 1 : type_text.index(")", opening)]


class Argument:
    """One argument of a schema.

    Attributes:
        name: "self".
        type: as the schema has it, without its alias annotation: "Tensor", "int[2]", "Tensor?[]".
        kwarg_only: whether it stands behind the "*".
        is_write: whether the operator writes to it, as to "Tensor(a!)".
        is_out: whether it is an output of an out variant: written to, and given by keyword.
        is_list: whether it takes a list.
        is_optional: whether it takes None.
        default: text of the default value, or None.
        alias: the set of its alias annotation, "a", or "".
    """

    __slots__ = (
        "alias",
        "default",
        "is_list",
        "is_optional",
        "is_out",
        "is_write",
        "kwarg_only",
        "name",
        "text",
        "type",
    )

    def __init__(self, text: str, kwarg_only: bool) -> None:
        declaration, *default = _pieces(text, "=")
        type_text, _, self.name = declaration.rpartition(" ")
        annotation = _alias(type_text)
        self.text = text
        self.kwarg_only = kwarg_only
        self.default = "=".join(default) if default else None
        self.is_write = "!" in annotation
        self.is_out = self.is_write and kwarg_only
        self.alias = annotation.partition("->")[0].replace("!", "").strip()
        self.type = type_text.replace(f"({annotation})", "") if annotation else type_text
        self.is_list = "[" in self.type
        self.is_optional = self.type.endswith("?")

    @property
    def base(self) -> str:
        """The type without marks of lists and optionals: "Tensor" of "Tensor?[]"."""
        return self.type.partition("[")[0].rstrip("?")

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Argument {self.text!r}>"


class Return:
    """One return of a schema: its type, and the alias set of the argument that it is, or ""."""

    __slots__ = ("alias", "text", "type")

    def __init__(self, text: str) -> None:
        annotation = _alias(text)
        self.text = text
        self.alias = annotation.partition("->")[0].replace("!", "").strip()
        self.type = text.replace(f"({annotation})", "") if annotation else text

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Return {self.text!r}>"


class Schema:
    """An operator's schema; str() gives it as PyTorch prints it.

    Attributes:
        name: "aten::add".
        overload_name: "out", or "" for the default overload.
        arguments: a tuple of Argument, in order.
        returns: a tuple of Return, in order.
    """

    __slots__ = ("_text", "arguments", "name", "overload_name", "returns")

    def __init__(self, text: str) -> None:
        self._text = text
        head, tail = _pieces(text, "->")
        full_name, _, body = head.partition("(")
        namespace, _, rest = full_name.partition("::")
        base, _, self.overload_name = rest.partition(".")
        self.name = f"{namespace}::{base}"
        arguments = []
        kwarg_only = False
        for piece in _pieces(body.strip().removesuffix(")"), ","):
            if piece == "*":
                kwarg_only = True
            elif piece:
                arguments.append(Argument(piece, kwarg_only))
        self.arguments = tuple(arguments)
        if tail.startswith("(") and tail.endswith(")"):
            tail = tail[1:-1]
        self.returns = tuple(Return(piece) for piece in _pieces(tail, ",") if piece)

    @property
    def full_name(self) -> str:
        """ "aten::add.out", or "aten::relu" for a default overload."""
        return f"{self.name}.{self.overload_name}" if self.overload_name else self.name

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def signature(self) -> inspect.Signature:
        """The signature for help() and editors; a name that is a Python keyword gets a "_"."""
        parameters = []
        for argument in self.arguments:
            name = f"{argument.name}_" if keyword.iskeyword(argument.name) else argument.name
            default: Any = inspect.Parameter.empty
            if argument.default is not None:
                default = _Verbatim(argument.default)
            parameters.append(
                inspect.Parameter(
                    name,
                    inspect.Parameter.KEYWORD_ONLY
                    if argument.kwarg_only
                    else inspect.Parameter.POSITIONAL_OR_KEYWORD,
                    default=default,
                    annotation=_Verbatim(argument.type),
                )
            )
        result = ", ".join(str(item) for item in self.returns)
        if len(self.returns) != 1:
            result = f"({result})"
        # Replacing skips the check that defaults come last, which ATen does not keep to.
        return inspect.Signature(
            parameters, return_annotation=_Verbatim(result), __validate_parameters__=False
        )


class _Verbatim:
    """A text that shows itself without quotes, in a signature."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text
