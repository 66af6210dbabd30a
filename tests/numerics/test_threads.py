"""Linear algebra on one thread, and whose threads stay as they are."""

from threading import Thread

import sklearn.utils.parallel  # noqa: F401  # it brings a library of OpenMP
from threadpoolctl import threadpool_info, threadpool_limits

from sparsetoken.numerics.threads import one_thread


def threads(kind: str) -> set[int]:
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == kind}


def test_linear_algebra_has_one_thread_and_openmp_keeps_its_own() -> None:
    with threadpool_limits(2):
        with one_thread():
            assert (threads("blas"), threads("openmp")) == ({1}, {2})
        assert (threads("blas"), threads("openmp")) == ({2}, {2})


def test_the_limit_holds_until_the_last_block_ends() -> None:
    first, second = one_thread(), one_thread()
    with threadpool_limits(2):
        first.__enter__()
        other = Thread(target=second.__enter__)
        other.start()
        other.join()
        first.__exit__(None, None, None)
        assert threads("blas") == {1}
        second.__exit__(None, None, None)
        assert threads("blas") == {2}
