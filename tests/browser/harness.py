"""Drives a real JupyterLab in a real Chromium; measures how long a key press takes to show."""

import hashlib
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from playwright.sync_api import BrowserContext, Locator, Page, expect

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
INSTALLED = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)

# What JupyterLab says about the open notebook: is its kernel idle, and how many code cells have still to run?
_PROGRESS = """() => {
  const panel = window.jupyterapp.shell.currentWidget;
  const kernel = panel?.sessionContext?.session?.kernel;
  const cells = panel?.content?.widgets?.filter(
    cell => cell.model.type === 'code' && cell.model.sharedModel.source.trim());
  return {
    idle: kernel?.status === 'idle' && !panel.sessionContext.hasPendingInput && panel.revealed !== undefined
          && panel.content?.model?.cells.length > 0,
    waiting: cells ? cells.filter(cell => cell.model.executionCount === null
                                  || cell.model.executionState === 'running').length : -1,
  };
}"""

# From a key press (captured before any widget sees it) to the last change below the observed element.
_WATCH = """root => {
  window.ragkitLatency = {pressed: null, changed: null, changes: 0};
  const record = window.ragkitLatency;
  document.addEventListener('keydown', () => {
    record.pressed = performance.now(); record.changed = null; record.changes = 0;
  }, {capture: true});
  new MutationObserver(changes => { record.changed = performance.now(); record.changes += changes.length; })
    .observe(root, {subtree: true, childList: true, attributes: true, characterData: true});
}"""
# The slider itself moves at once: only an idle kernel says that nothing more is to come.
_QUIET = """quiet => {
  const record = window.ragkitLatency;
  const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
  return kernel.status === 'idle' && performance.now() - (record.changed ?? record.pressed) > quiet;
}"""


def find_browser() -> str | None:
    """A Chromium that is installed on this machine, or None."""
    on_path = next(filter(None, map(shutil.which, BROWSERS)), None)
    return on_path or next((path for path in INSTALLED if Path(path).is_file()), None)


class LabServer:
    """A JupyterLab on a folder, on a free loopback port, with settings of its own and a token."""

    token = "course-browser-tests"

    def __init__(self, folder: Path, settings: Path) -> None:
        """Start it and wait until it answers; RuntimeError with its log when it does not in a minute."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.folder = folder
        environment = {
            **os.environ,
            **{
                name: str(settings / name.lower())
                for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
            },
        }
        self.log = settings / "jupyterlab.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "jupyterlab",
                    "--no-browser",
                    "--allow-root",
                    "--ip=127.0.0.1",
                    f"--port={self.port}",
                    "--ServerApp.port_retries=0",
                    f"--ServerApp.root_dir={folder}",
                    f"--IdentityProvider.token={self.token}",
                    "--LabApp.expose_app_in_browser=True",
                    "--LabApp.news_url=",
                    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=folder,
            )
        deadline = time.monotonic() + 60
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(
                    f"JupyterLab did not start:\n{self.log.read_text(errors='replace')[-3000:]}"
                )
            time.sleep(0.2)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api?token={self.token}", timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            return False

    def address(self, notebook: str) -> str:
        """Where a notebook of the folder opens, in a workspace that remembers nothing."""
        return f"http://127.0.0.1:{self.port}/lab/workspaces/new/tree/{notebook}?reset&token={self.token}"

    def stop(self) -> None:
        """End the server and its kernels."""
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class LabPage:
    """A notebook open in JupyterLab; ``page`` is Playwright's, for what is not here."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def run_all(self, timeout: float = 120) -> None:
        """Run every cell and wait until the kernel is idle; TimeoutError says what is missing."""
        self.page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
        deadline = time.monotonic() + timeout
        quiet = 0
        while quiet < 3:  # idle for three looks on end: between two cells a kernel is idle as well
            progress = self.page.evaluate(_PROGRESS)
            quiet = quiet + 1 if progress["idle"] and progress["waiting"] == 0 else 0
            if time.monotonic() > deadline:
                raise TimeoutError(f"after {timeout:.0f} s: {progress}; errors: {self.errors()}")
            self.page.wait_for_timeout(200)

    def errors(self) -> list[str]:
        """The tracebacks and the standard error that cells show, and what a lab's model refused."""
        shown = self.page.locator(
            "[data-mime-type='application/vnd.jupyter.error'], "
            "[data-mime-type='application/vnd.jupyter.stderr'], [class*='widgets-error'], .lab-error b"
        )
        return shown.all_inner_texts()

    def labelled(self, description: str) -> Locator:
        """The widget with this description (exactly), scrolled into view."""
        label = self.page.locator(
            ".jp-OutputArea .widget-label", has_text=re.compile(f"^{re.escape(description)}$")
        )
        expect(label.first).to_be_attached()
        label.first.scroll_into_view_if_needed()
        return label.first.locator("xpath=..")

    def slider(self, description: str, handle: int = 0) -> Locator:
        """The handle of a slider (``handle=1``: a range slider's upper one), focused."""
        found = self.labelled(description).locator(".noUi-handle").nth(handle)
        found.focus()
        return found

    def press(self, description: str, *keys: str, handle: int = 0) -> None:
        """Move a slider by keys ("ArrowRight", "Home", "End", ...) and wait for the page to settle."""
        focused = self.slider(description, handle)
        for key in keys:
            focused.press(key)
            self.settle()

    def readout(self, description: str) -> str:
        """The value that stands beside a slider."""
        return self.labelled(description).locator(".widget-readout").inner_text()

    def choose(self, description: str, option: str) -> None:
        """Choose an option of a dropdown by its text."""
        self.labelled(description).locator("select").select_option(label=option)
        self.settle()

    def settle(self, quiet: float = 250, timeout: float = 10_000) -> None:
        """Wait until the kernel is idle and no output has changed for ``quiet`` milliseconds."""
        self.page.evaluate(
            """([quiet, timeout]) => new Promise((resolve, reject) => {
          const kernel = () => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status;
          let last = performance.now();
          const start = last;
          const observer = new MutationObserver(() => { last = performance.now(); });
          document.querySelectorAll('.jp-OutputArea').forEach(area => observer.observe(area,
            {subtree: true, childList: true, attributes: true, characterData: true}));
          const timer = setInterval(() => {
            const now = performance.now();
            const done = now - last > quiet && kernel() === 'idle';
            if (done || now - start > timeout) {
              clearInterval(timer); observer.disconnect();
              done ? resolve() : reject(new Error('the page did not settle; the kernel is ' + kernel()));
            }
          }, 25);
        })""",
            [quiet, timeout],
        )

    def lab(self, description: str) -> Locator:
        """The output area of the lab that has a control with this description."""
        return self.labelled(description).locator("xpath=ancestor::*[contains(@class, 'jp-OutputArea')][1]")

    def picture(self, description: str) -> str:
        """SHA-256 of the picture in the lab that has this control: it differs when the picture does."""
        image = self.lab(description).locator("img").first
        expect(image).to_be_visible()
        data = image.evaluate("""async image => {
          const bytes = new Uint8Array(await (await fetch(image.src)).arrayBuffer());
          return Array.from(bytes);
        }""")
        return hashlib.sha256(bytes(data)).hexdigest()

    def table(self, description: str) -> str:
        """The text of the first table in the lab that has this control."""
        return self.lab(description).locator("table").first.inner_text()

    def screenshot(self, path: Path) -> None:
        """What the page looks like now, for a person to look at."""
        self.page.screenshot(path=path)


def open_and_run(context: BrowserContext, server: LabServer, path: str, timeout: float = 120) -> LabPage:
    """Open a notebook of the server's folder in a new page and run all its cells."""
    page = context.new_page()
    page.goto(server.address(path))
    page.wait_for_function(
        "() => window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'",
        timeout=60_000,
    )
    opened = LabPage(page)
    opened.run_all(timeout)
    return opened


def measure_latency(page: Page, presses: list[str], quiet: float = 300) -> list[float]:
    """Milliseconds from each key press to the last change in the output area, all clocked in the page.

    The keys go to the focused element (``LabPage.slider`` focuses a handle). A press has ended when nothing
    has changed for ``quiet`` milliseconds and the kernel is idle; that wait itself does not count. Raises
    AssertionError when a press changes nothing: a slider at its end has no latency to measure.
    """
    root = page.evaluate_handle("() => document.activeElement.closest('.jp-OutputArea')")
    assert root.evaluate("root => root !== null"), "no control in an output area has the focus"
    root.evaluate(_WATCH)
    times = []
    for key in presses:
        page.keyboard.press(key)
        page.wait_for_function(_QUIET, arg=quiet)
        record = page.evaluate("() => window.ragkitLatency")
        assert record["changed"] is not None, f"pressing {key} changed nothing"
        times.append(record["changed"] - record["pressed"])
    return times
