"""The pages in a browser: they open without an error, their links lead somewhere, and nothing sticks out."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from quidnunc.__main__ import main
from quidnunc.reports.pages.page import content_of, page_of
from quidnunc.reports.pages.specification import annotated_texts, specification_page

ROUTERS = Path(__file__).parents[3] / "counterexamples" / "routers"
NETWORKS = Path(__file__).parents[3] / "counterexamples" / "networks"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WIDTH, NARROW = 1200, 500
DARK = "--blink-settings=preferredColorScheme=0"
MAX_PAGE_BYTES = 3_000_000
# It looks at a copy of the page.
LOOK = """<script>addEventListener("load", () => {
  const inner = [...document.querySelectorAll('a[href^="#"]')];
  // A browser follows some hundred links at a time; of the others the target is looked up.
  const lost = inner.filter((a, at) => at < 60
    ? (a.click(), !document.querySelector(":target"))
    : !document.getElementById(decodeURIComponent(a.hash.slice(1))));
  document.querySelectorAll("details").forEach((each) => { each.open = true; });
  const root = document.documentElement;
  document.title = JSON.stringify({
    links: inner.length, lost: lost.map((a) => a.hash), wide: root.scrollWidth - root.clientWidth,
    paper: getComputedStyle(document.body).backgroundColor,
    broken: [...document.querySelectorAll("thead th")].filter((th) => th.offsetHeight > 60).length,
  });
});</script>"""


# Moves each slider to both ends, and says what can be seen of the picture at each.
SLIDE = """<script>addEventListener("load", () => {
  const seen = (figure) => [...figure.querySelectorAll("div > svg .node, div > svg .link")].map((each) => {
    const shape = getComputedStyle(each.querySelector(".disc") || each);
    return [shape.display, shape.stroke, shape.strokeWidth, shape.strokeDasharray, shape.fill,
      shape.markerEnd, shape.markerStart].join();
  }).join(";");
  const figures = [...document.querySelectorAll("figure.net")].map((figure) => {
    const slider = figure.querySelector("input[type=range]");
    const [first, ...others] = [slider.value, slider.min, slider.max].map((value) => {
      slider.value = value;
      slider.dispatchEvent(new Event("input"));
      return [seen(figure), figure.querySelector(".now").textContent, slider.getAttribute("aria-valuetext")];
    });
    slider.focus();
    return { shown: slider.offsetWidth > 0, focused: document.activeElement === slider,
      pictures: new Set([first, ...others].map((each) => each[0])).size,
      words: new Set([first, ...others].map((each) => each[1])).size, says: others.map((each) => each[2]),
      current: figure.querySelectorAll("tr[aria-current]").length };
  });
  document.querySelectorAll("details").forEach((each) => { each.open = true; });
  const root = document.documentElement;
  document.title = JSON.stringify({ figures, wide: root.scrollWidth - root.clientWidth });
});</script>"""


def seen(page: str, folder: Path, *options: str, width: int = WIDTH, look: str = LOOK) -> dict[str, Any]:
    """What a browser makes of a page. Fails where it has an error to tell."""
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    assert len(page.encode()) < MAX_PAGE_BYTES and ("<script" in page) == ('<figure class="net"' in page)
    (folder / "page.html").write_text(page.replace("</body>", look + "</body>"), encoding="utf-8")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", *options]
    command += [f"--user-data-dir={folder / 'profile'}", f"--window-size={width},900", "--dump-dom"]
    address = (folder / "page.html").as_uri()
    done = subprocess.run([*command, address], capture_output=True, text=True, timeout=180)
    assert "CONSOLE" not in done.stderr, done.stderr
    title = re.search("<title>(.*?)</title>", done.stdout, re.DOTALL)
    assert title is not None, done.stderr
    found: dict[str, Any] = json.loads(title[1])
    return found


@pytest.fixture(scope="module")
def findings() -> str:
    """The page of what was found in three released routers."""
    return page_of(content_of(ROUTERS / name for name in ("py-libp2p", "js-libp2p", "go-libp2p-pubsub")))


def test_a_script_that_fails_is_seen(tmp_path: Path) -> None:
    page = "<!doctype html><title>x</title><body><a href='#no'>no</a><img src=x onerror='nothing()'></body>"
    with pytest.raises(AssertionError, match="CONSOLE"):
        seen(page, tmp_path)
    lost = seen("<!doctype html><title>x</title><body><a href='#no'>no</a></body>", tmp_path)
    assert lost["lost"] == ["#no"]


@pytest.mark.parametrize(
    ("options", "width"),
    [((), WIDTH), ((DARK,), WIDTH), ((), NARROW)],
    ids=["light", "dark", "narrow"],
)
def test_the_findings_of_three_routers(
    findings: str, options: tuple[str, ...], width: int, tmp_path: Path
) -> None:
    look = seen(findings, tmp_path, *options, width=width)
    assert look["links"] > 60 and look["lost"] == [] and look["wide"] == 0 and look["broken"] == 0
    assert look["paper"] == ("rgb(15, 20, 25)" if options else "rgb(255, 255, 255)")


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a simulated network in which nodes come and go."""
    pytest.importorskip("numpy", reason="pip install '.[trace]'")
    folder = tmp_path_factory.mktemp("simulated")
    (folder / "net.yaml").write_text(
        "nodes: [{count: 14}]\ntopology: {degree: 4}\ntraffic: [{count: 4}]\n"
        "churn: {nodes: 0.2, up_s: 4, down_s: 2, start_s: 3}\n"
    )
    asked = ["simulate", str(folder / "net.yaml"), "-o", str(folder / "run")]
    assert main([*asked, "--report", str(folder / "page.html")]) == 0
    return (folder / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "width"),
    [((), WIDTH), ((DARK,), WIDTH), ((), NARROW)],
    ids=["light", "dark", "narrow"],
)
def test_the_slider_of_a_simulated_network(
    simulated: str, options: tuple[str, ...], width: int, tmp_path: Path
) -> None:
    look = seen(simulated, tmp_path, *options, width=width, look=SLIDE)
    (figure,) = look["figures"]
    assert figure["shown"] and figure["focused"] and figure["pictures"] == figure["words"] == 3
    assert figure["says"][0].startswith("0.000 s: 14 subscriptions began") and figure["current"] == 1
    assert look["wide"] == 0
    assert seen(simulated, tmp_path, *options, width=width)["lost"] == []


def test_the_slider_of_each_case_of_a_network(tmp_path: Path) -> None:
    pytest.importorskip("numpy", reason="pip install '.[trace]'")
    names = ("attack.idontwant-before-signature.gossipsub-1.2-draft", "routes.never-to-self.dog")
    page = page_of(content_of(NETWORKS / f"{name}.case" for name in names))
    look = seen(page, tmp_path, look=SLIDE)
    assert [each["pictures"] > 1 for each in look["figures"]] == [True, True] and look["wide"] == 0
    assert look["figures"][0]["says"][1].endswith("broken: C never gets m1")


@pytest.mark.parametrize("width", [WIDTH, NARROW])
def test_the_annotated_specification(width: int, tmp_path: Path) -> None:
    page = specification_page("gossipsub-1.2", annotated_texts("gossipsub-1.2"), [], "quidnunc spec")
    look = seen(page, tmp_path, width=width)
    assert look["links"] > 100 and look["lost"] == [] and look["wide"] == 0
