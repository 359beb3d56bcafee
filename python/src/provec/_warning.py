from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

#: What was shown already, as `warnings` keeps it.
SHOWN: dict[Any, Any] = {}
# Warnings may name numbers of the request, so there is no end to them.
SHOWN_MAX = 1_000


class ProvecWarning(UserWarning):
    """A sentence of an answer about what the request probably does not mean."""


def warnings_in(operation: str, answer: Mapping[str, Any]) -> list[str]:
    """The warnings of an answer, and of its results where it answers several queries."""
    parts = answer["results"] if operation == "queryMany" else [answer]
    return [each for part in parts for each in part.get("warnings", ())]


def warn(sentences: Iterable[str]) -> None:
    """Warns at the line of the program that called this package."""
    for sentence in sentences:
        frame = sys._getframe(1)
        while frame.f_back and str(frame.f_globals.get("__name__")).startswith(f"{__package__}."):
            frame = frame.f_back
        if len(SHOWN) > SHOWN_MAX:
            SHOWN.clear()
        place = (frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__"))
        warnings.warn_explicit(sentence, ProvecWarning, *place, registry=SHOWN)
