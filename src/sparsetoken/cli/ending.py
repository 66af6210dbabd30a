"""The end of the process, at once and with one message."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import NoReturn


def end(text: str, code: int) -> NoReturn:
    """End at once with a message, if any, and end the worker processes; buffers are not written."""
    if "multiprocessing.util" in sys.modules:
        # An import that a signal interrupts may fail here, and must not swallow the signal.
        with contextlib.suppress(BaseException):
            import multiprocessing
            from multiprocessing import util

            for process in multiprocessing.active_children():
                with contextlib.suppress(OSError):  # one that has just ended
                    if process.pid:  # 0 would be all of this group
                        os.kill(process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
            util._run_finalizers(0)  # type: ignore[attr-defined]  # gives semaphores back
    if text and sys.stderr is not None:  # else 2 may be the number of another file
        with contextlib.suppress(OSError):  # a terminal that was closed
            os.write(2, f"{text}\n".encode(errors="backslashreplace"))
    os._exit(code)
