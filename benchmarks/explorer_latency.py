"""The explorer in a real browser: its start, and how long a move of a slider takes to show.

    python benchmarks/explorer_latency.py [--moves 100] [--out results/explorer.json]

A move is an input event of a slider; it has shown when the learning curves of that state, or of
a newer one, have been drawn and the frame is there. Moves come one by one, after rests in which
the exact results of the move before are still being solved, and in drags of one each 50 ms.
Times of a busy machine are longer; beside them stands the processor time of each part.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
from playwright.sync_api import CDPSession, Page, sync_playwright

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from explorer.browsers import LAUNCH, chromium  # noqa: E402

SLIDERS = ("strength", "positive_rate", "alpha0", "ridge", "eta_q")
RESTS = {"one by one": 0.4, "drag": 0.05}

MEASURE = """async ([name, moves, rest]) => {
  const slider = document.getElementById(`p-${name}-slider`);
  const started = [], found = [];
  let shown = 0;
  const listen = () => {
    const now = performance.now();
    for (; shown < started.length; shown += 1) found.push(now - started[shown]);
  };
  document.addEventListener("explorer:drawn", listen);
  const last = new Promise((resolve) => {
    const done = () => { if (shown === moves) resolve(); else setTimeout(done, 10); };
    done();
  });
  for (let i = 0; i < moves; i += 1) {
    slider.value = Number(slider.value) + (slider.value > 150 ? -45 : 3);
    started.push(performance.now());
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise((resolve) => setTimeout(resolve, 1000 * rest));
  }
  await last;
  document.removeEventListener("explorer:drawn", listen);
  const answers = performance.getEntriesByType("resource").filter((e) => e.name.endsWith("/api/coarse"));
  performance.clearResourceTimings();
  return [found, answers.map((e) => [e.serverTiming[0].duration, e.responseEnd - e.requestStart])];
}"""  # noqa: E501
WORK = {"script": "ScriptDuration", "style": "RecalcStyleDuration", "layout": "LayoutDuration"}


def start() -> tuple[subprocess.Popen, str, float]:
    """Start the explorer; return it, its address and the seconds until it answered."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "sparsetoken", "explore", "--port", "0", "--json"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    text = ""
    while not text.rstrip().endswith("}"):
        text += server.stdout.readline()
    address = json.loads(text)["url"]
    with urllib.request.urlopen(address) as answer:
        answer.read()
    return server, address, time.perf_counter() - began


def settle(page: Page) -> None:
    page.wait_for_timeout(300)
    page.locator("#progress", has_text="Solving").wait_for(state="hidden", timeout=60_000)
    page.wait_for_timeout(300)


def processor_times(session: CDPSession) -> dict[str, float]:
    """Return the processor time of parts of the page so far, in milliseconds."""
    found = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
    return {part: 1e3 * found[name] for part, name in WORK.items()}


def summary(times: list[float]) -> dict[str, float]:
    values = {
        "median, ms": float(np.median(times)),
        "95th percentile, ms": float(np.percentile(times, 95)),
        "largest, ms": max(times),
    }
    return {name: round(value, 1) for name, value in values.items()}


def measure(moves: int) -> dict[str, object]:
    server, address, answered = start()
    found: dict[str, object] = {"answers after, s": round(answered, 2)}
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=LAUNCH)
            page = browser.new_page(viewport={"width": 1400, "height": 1000})
            began = time.perf_counter()
            page.goto(address)
            page.locator("#verdict b").wait_for()
            found["first curves after, s"] = round(time.perf_counter() - began, 2)
            settle(page)
            session = page.context.new_cdp_session(page)
            session.send("Performance.enable", {"timeDomain": "threadTicks"})
            for kind, rest in RESTS.items():
                times, answers, spent = [], [], []
                for name in SLIDERS:
                    before = processor_times(session)
                    some, parts = page.evaluate(MEASURE, [name, moves // len(SLIDERS), rest])
                    after = processor_times(session)
                    times, answers = times + some, answers + parts
                    spent.append([after[part] - before[part] for part in WORK])
                    settle(page)
                each = np.sum(spent, axis=0) / len(times)
                found[kind] = {
                    "moves": len(times),
                    **summary(times),
                    "answer of the server": summary([total for _, total in answers]),
                    "processor time of the theory": summary([theory for theory, _ in answers]),
                    "processor time of the page for each move, ms": {
                        part: round(float(value), 1) for part, value in zip(WORK, each, strict=True)
                    },
                }
            browser.close()
    finally:
        server.terminate()
        server.wait()
    found["load of the machine"] = [round(x, 1) for x in os.getloadavg()]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--moves", type=int, default=100)
    parser.add_argument("--out", type=Path, default=Path("results/explorer.json"))
    options = parser.parse_args()
    if chromium() is None:
        print("The explorer was not measured: apt-get install chromium")
        return
    found = measure(options.moves)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(found, indent=2))
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
