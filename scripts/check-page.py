#!/usr/bin/env python3
"""Opens report pages and pictures in headless Chromium and checks them.

    scripts/check-page.py FILE... [--shots FOLDER]

For each HTML or SVG file, at 400 and at 1400 pixels, in light and in dark:

* the console has no error;
* nothing is asked for but the file itself and what it carries;
* the document is not wider than the window;
* each table sorts by each column, up and down, and keeps its rows;
* each picture has a name, and no label in it is cut or covers another in the
  font that the browser found.

In print, no scrolling container may cut its content.

Needs chromium and chromedriver (Debian: chromium, chromium-driver) and nothing
else: the driver is spoken to by HTTP with Python's own library. With --shots,
a PNG of each view is left in FOLDER. Exit code 1 if anything is wrong, 2 if
the browser or a file is not there.
"""

import argparse
import base64
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

WIDTHS = (400, 1400)
SCHEMES = ("light", "dark")
HARMLESS = ("data:", "about:", "blob:")

OVERFLOW = """
const wide = document.documentElement.scrollWidth;
if (wide <= innerWidth) return null;
const culprits = [...document.querySelectorAll("body *")]
  .filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".wide"))
  .slice(0, 3).map(e => e.tagName + (e.id ? "#" + e.id : "") + (e.className ? "." + e.className : ""));
return `document is ${wide} px wide in a window of ${innerWidth} px: ${culprits}`;
"""

SORTING = """
const wrong = [];
for (const table of document.querySelectorAll("table")) {
  const rows = () => [...table.tBodies[0].rows].map(row => row.textContent).sort().join("|");
  const before = rows();
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = head.querySelector("button");
    if (!button) { wrong.push(`column ${column} has no button`); return; }
    for (const order of ["ascending", "descending"]) {
      button.click();
      if (head.getAttribute("aria-sort") !== order) wrong.push(`${head.textContent}: not ${order}`);
      const values = [...table.tBodies[0].rows].map(row => row.cells[column].dataset.value)
        .filter(value => value !== undefined).map(Number);
      for (let i = 1; i < values.length; i++)
        if (order === "ascending" ? values[i] < values[i - 1] : values[i] > values[i - 1])
          { wrong.push(`${head.textContent}: ${order} is out of order`); break; }
    }
  });
  if (rows() !== before) wrong.push("sorting lost rows");
}
return wrong;
"""

NAMES = """
return [...document.querySelectorAll("svg")]
  .filter(svg => svg.getAttribute("role") !== "img" || !svg.getAttribute("aria-label"))
  .map(() => "a picture has no name");
"""

LABELS = """
const wrong = [];
for (const svg of document.querySelectorAll("svg")) {
  const paper = svg.viewBox.baseVal;
  const labels = [...svg.querySelectorAll("text")].map(e => ({ text: e.textContent.trim(), box: e.getBBox() }));
  labels.forEach(({ text, box }, index) => {
    if (box.x < 0 || box.y < 0 || box.x + box.width > paper.width || box.y + box.height > paper.height)
      wrong.push(`label "${text}" is cut`);
    for (const other of labels.slice(index + 1)) {
      const across = Math.min(box.x + box.width, other.box.x + other.box.width) - Math.max(box.x, other.box.x);
      const down = Math.min(box.y + box.height, other.box.y + other.box.height) - Math.max(box.y, other.box.y);
      // The box of a line of text holds its ascenders and descenders: lines may touch by some pixels.
      if (across > 0.5 && down > 4) wrong.push(`label "${text}" covers "${other.text}"`);
    }
  });
}
return wrong;
"""

CUT = """
return [...document.querySelectorAll(".wide")]
  .filter(e => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== "visible")
  .map(e => `in print, ${e.getAttribute("aria-labelledby") || e.tagName} is cut`);
"""


class Browser:
    """A browser driven by the WebDriver protocol, for as long as the `with` block."""

    def __init__(self, chromium, driver):
        self.chromium = chromium
        self.driver = driver

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.process = subprocess.Popen(
            [self.driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        for line in self.process.stdout:
            found = re.search(r"successfully on port (\d+)", line)
            if found:
                self.base = f"http://127.0.0.1:{found.group(1)}"
                break
        else:
            raise OSError("chromedriver did not start")
        try:
            self.base += "/session/" + self._session()
        except BaseException:
            self._stop()
            raise
        return self

    def _session(self):
        switches = ["headless", "no-sandbox", "disable-gpu", "disable-background-networking",
                    "disable-dev-shm-usage", "hide-scrollbars", f"user-data-dir={self.profile.name}"]
        options = {"binary": self.chromium, "args": ["--" + switch for switch in switches]}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options,
                  "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        return answer["sessionId"]

    def __exit__(self, *_):
        try:
            self.call("DELETE", "")
        except OSError:
            pass
        self._stop()

    def _stop(self):
        self.process.terminate()
        self.process.wait(timeout=20)
        self.process.stdout.close()
        self.profile.cleanup()

    def call(self, method, path, body=None):
        """Sends one command and gives its value."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.base + path, data, {"Content-Type": "application/json"}, method=method
        )
        # Loopback only: a proxy set in the environment must not see it.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise OSError(json.load(error)["value"]["message"]) from error

    def devtools(self, command, **params):
        """Sends one command of the DevTools protocol."""
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def script(self, text):
        """Runs JavaScript in the page and gives what it returns."""
        return self.call("POST", "/execute/sync", {"script": text, "args": []})

    def log(self, kind):
        """What the browser has logged since the last look."""
        return self.call("POST", "/se/log", {"type": kind})


def view(browser, path, width, scheme, media="screen"):
    """Opens a file in a window of this width and gives what is wrong with what was loaded."""
    browser.devtools("Emulation.setDeviceMetricsOverride",
                     width=width, height=900, deviceScaleFactor=1, mobile=False)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.devtools("Emulation.setEmulatedMedia", media=media, features=features)
    browser.log("browser"), browser.log("performance")
    url = path.resolve().as_uri()
    browser.call("POST", "/url", {"url": url})
    wrong = []
    for entry in browser.log("browser"):
        if entry["level"] in ("SEVERE", "WARNING"):
            wrong.append(f"console: {entry['message']}")
    for entry in browser.log("performance"):
        event = json.loads(entry["message"])["message"]
        if event["method"] == "Network.requestWillBeSent":
            asked = event["params"]["request"]["url"]
            if asked.split("#")[0] != url and not asked.startswith(HARMLESS):
                wrong.append(f"asks for {asked[:200]}")
    return wrong


def shot(browser, folder, name):
    """Leaves a picture of the whole page."""
    size = browser.devtools("Page.getLayoutMetrics")["cssContentSize"]
    clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 12000), "scale": 1}
    answer = browser.devtools("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(base64.b64decode(answer["data"]))


def check(browser, path, shots):
    """Everything that is wrong with a file, with the view in which it is."""
    wrong = []
    page = path.suffix == ".html"
    for width in WIDTHS:
        for scheme in SCHEMES:
            found = view(browser, path, width, scheme)
            if page:
                found += filter(None, [browser.script(OVERFLOW)])
            if shots:
                shot(browser, shots, f"{path.stem}-{width}-{scheme}.png")
            found += browser.script(NAMES) + browser.script(LABELS)
            if page:
                found += browser.script(SORTING)
            wrong += [f"{path} at {width} px, {scheme}: {what}" for what in found]
    if page:
        found = view(browser, path, 720, "light", "print") + browser.script(CUT)
        if shots:
            shot(browser, shots, f"{path.stem}-print.png")
        wrong += [f"{path} in print: {what}" for what in found]
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--shots", type=pathlib.Path, metavar="FOLDER")
    arguments = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    missing = [str(path) for path in arguments.files if not path.is_file()]
    if not (chromium and driver):
        missing.append("chromium and chromedriver (Debian: chromium, chromium-driver)")
    if missing:
        print("not found: " + ", ".join(missing), file=sys.stderr)
        return 2
    with Browser(chromium, driver) as browser:
        wrong = [what for path in arguments.files for what in check(browser, path, arguments.shots)]
    for what in wrong:
        print(what, file=sys.stderr)
    print(f"{len(arguments.files)} files, {len(wrong)} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
