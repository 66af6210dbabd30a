"""Worker processes for trials and jobs."""

from __future__ import annotations

from sparsetoken.sweep.processes import one_thread_each, worker_pool

__all__ = ["one_thread_each", "worker_pool"]
