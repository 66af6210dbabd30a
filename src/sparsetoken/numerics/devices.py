"""The devices of JAX by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparsetoken.validation import InvalidInput

if TYPE_CHECKING:
    import jax

KINDS = ("cpu", "gpu")
REMEDY = 'For a GPU install a JAX with CUDA: pip install "jax[cuda12]".'


def jax_device(name: str) -> jax.Device:
    """Return the first device of this kind in this process.

    A kind is cpu, gpu, or another name of a backend that JAX knows, such as cuda.

    Raises
    ------
    InvalidInput
        If JAX has no such device here.
    """
    found = _first(name)
    if found is None:
        there = [kind for kind in KINDS if _first(kind) is not None]
        legal = "a device that JAX has here: " + (", ".join(there) or "none")
        raise InvalidInput("device", legal, name, REMEDY if name in ("gpu", "cuda") else "")
    return found


def _first(name: str) -> jax.Device | None:
    import jax

    if not isinstance(name, str) or not name:  # JAX would take its default
        return None
    try:
        return jax.local_devices(backend=name)[0]
    except RuntimeError:
        return None
