"""The end of the process, at once and with one message."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import NoReturn


def end(text: str, code: int) -> NoReturn:
    """End at once with a message, if any, and end the worker processes; buffers are not written."""
    if "multiprocessing.resource_tracker" in sys.modules:
        # An import that a signal interrupts may fail here, and must not swallow the signal.
        with contextlib.suppress(BaseException):
            from sparsetoken.work import end_workers

            end_workers()
    if text and sys.stderr is not None:  # else 2 may be the number of another file
        with contextlib.suppress(OSError):  # a terminal that was closed
            os.write(2, f"{text}\n".encode(errors="backslashreplace"))
    os._exit(code)
