"""Sweeps in a bucket of a local S3 server (moto) and in memory://: kills, damage, two at once.

    pip install 'moto[server]' s3fs

Each table must have the bytes of that of a folder. A bucket that vanishes, one that is not there,
and a server that has gone must end a command with exit code 1 and one message.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import boto3
import xarray as xr
from moto.server import ThreadedMotoServer

from sparsetoken.sweep import Store, run, to_frame, to_xarray

SPEC = (
    'experiment = "alignment"\nquantities = ["theory", "simulation"]\ntrials = 32\n'
    "[fixed]\ndimension = 400\n[axes]\nlength = [4, 10]\n"
    "strength = { from = 1, to = 5, points = 10 }\n"
)
URL = "s3://sweeps/{}.zarr"


class Bucket:
    """Commands on stores of a bucket, in processes of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "spec.toml").write_text(SPEC)
        self.client = boto3.client("s3")

    def start(self, *arguments: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "sparsetoken", *arguments]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=self.folder, text=True, **streams)

    def sweep(self, store: str) -> subprocess.Popen:
        return self.start("sweep", "spec.toml", "--store", store, "--workers", "2", "--json")

    def table(self, store: str) -> bytes:
        code, said = ended(self.start("results", store, "--export", "t.csv"))
        return (self.folder / "t.csv").read_bytes() if code == 0 else said.encode()

    def names(self, store: str) -> list[str]:
        found = self.client.list_objects_v2(Bucket="sweeps", Prefix=f"{store}.zarr/simulation/c/")
        return [one["Key"] for one in found.get("Contents", [])]

    def wait(self, process: subprocess.Popen, store: str, pieces: int) -> None:
        while process.poll() is None and len(self.names(store)) < pieces:
            time.sleep(0.2)


def ended(process: subprocess.Popen) -> tuple[int, str]:
    _, said = process.communicate()
    return process.returncode, " ".join(said.split())


def tell(what: str, *found: object) -> None:
    print(f"{what}: {', '.join(map(str, found))}", flush=True)


def measure(bucket: Bucket, server: ThreadedMotoServer, kills: int) -> None:
    rng = random.Random(0)
    bucket.client.create_bucket(Bucket="sweeps")
    begun = time.perf_counter()
    tell("folder", *ended(bucket.sweep("folder.zarr")), f"{time.perf_counter() - begun:.0f} s")
    expected = bucket.table("folder.zarr")
    begun, whole = time.perf_counter(), URL.format("whole")
    tell("bucket", *ended(bucket.sweep(whole)), f"{time.perf_counter() - begun:.0f} s")
    tell("the same bytes", bucket.table(whole) == expected)
    found = xr.open_zarr(whole)["simulation"].sel(result="cosine").values
    same = (found == to_xarray(whole)["simulation_cosine"].values).all()
    tell("xarray.open_zarr reads the same", same)

    hits = 0
    for _ in range(kills):
        process = bucket.sweep(URL.format("killed"))
        bucket.wait(process, "killed", len(bucket.names("killed")) + rng.randrange(4))
        hits += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate()
    code, said = ended(bucket.sweep(URL.format("killed")))
    same = bucket.table(URL.format("killed")) == expected
    tell(f"{hits} kills, then", code, said, f"the same bytes {same}")

    pair = [bucket.sweep(URL.format("two")) for _ in range(2)]
    ends = [ended(one) for one in pair]
    tell("two at once", *ends, f"the same bytes {bucket.table(URL.format('two')) == expected}")

    name = bucket.names("whole")[0]
    content = bytearray(bucket.client.get_object(Bucket="sweeps", Key=name)["Body"].read())
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    bucket.client.put_object(Bucket="sweeps", Key=name, Body=bytes(content))
    tell("a bit flipped: results", *ended(bucket.start("results", whole)))
    tell("a bit flipped: sweep", *ended(bucket.sweep(whole)), bucket.table(whole) == expected)

    url = "memory://sweeps/s.zarr"
    run(Store("folder.zarr").grid, url)
    tell("memory://, the same table", to_frame(url).equals(to_frame("folder.zarr")))

    tell("no such bucket", *ended(bucket.sweep("s3://nowhere/s.zarr")))
    process = bucket.sweep(URL.format("gone"))
    bucket.wait(process, "gone", 3)
    for one in boto3.resource("s3").Bucket("sweeps").objects.all():
        one.delete()
    tell("emptied while a sweep runs", *ended(process))
    process = bucket.sweep(URL.format("late"))
    bucket.wait(process, "late", 3)
    server.stop()
    tell("the server ends while a sweep runs", *ended(process))
    tell("no server", *ended(bucket.start("results", whole)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=3)
    arguments = parser.parse_args()
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SECURITY_TOKEN")
    os.environ |= dict.fromkeys(names, "testing") | {"AWS_DEFAULT_REGION": "us-east-1"}
    os.environ["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{server.get_host_and_port()[1]}"
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        measure(Bucket(Path(name)), server, arguments.kills)


if __name__ == "__main__":
    main()
