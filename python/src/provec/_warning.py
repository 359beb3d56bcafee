from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

#: Warnings already shown, in the form of a registry of `warnings`.
SHOWN: dict[Any, Any] = {}
# Warnings may quote values of requests, so their number is unlimited.
SHOWN_MAX = 1_000


class ProvecWarning(UserWarning):
    """A sentence in an answer about a probable mistake in the request."""


def warnings_in(operation: str, answer: Mapping[str, Any]) -> list[str]:
    """Returns the warnings of an answer; for several queries, those of all results."""
    parts = answer["results"] if operation == "queryMany" else [answer]
    return [each for part in parts for each in part.get("warnings", ())]


def warn(sentences: Iterable[str]) -> None:
    """Issues the warnings at the line of the program that called this package."""
    for sentence in sentences:
        frame = sys._getframe(1)
        while frame.f_back and str(frame.f_globals.get("__name__")).startswith(f"{__package__}."):
            frame = frame.f_back
        if len(SHOWN) > SHOWN_MAX:
            SHOWN.clear()
        place = (frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__"))
        warnings.warn_explicit(sentence, ProvecWarning, *place, registry=SHOWN)
