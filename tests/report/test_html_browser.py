"""The HTML page in a real browser: everything that a reader clicks, without an error and without the network."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from scanner.model.finding import OUTCOMES
from scanner.model.report import Posture
from scanner.report.atomic import atomic_write
from scanner.report.formats import html
from scanner.values import replace
from tests.report import cluster_samples, samples

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page
    from playwright.sync_api._generated import LocatorAssertions

_CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

pytestmark = [pytest.mark.browser, pytest.mark.skipif(_CHROMIUM is None, reason="chromium is not installed")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright  # takes a second

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_CHROMIUM, args=_ARGUMENTS)
        yield browser
        browser.close()


def expect(locator: Locator) -> LocatorAssertions:
    from playwright.sync_api import expect

    return expect(locator)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("html") / "report.html"
    atomic_write(path, lambda out: html.write(samples.report(), out))
    return path


@pytest.fixture(scope="module")
def cluster_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("html") / "cluster.html"
    at, outcomes = datetime(2026, 11, 1, tzinfo=UTC), dict.fromkeys(OUTCOMES, 1)
    past = [Posture(at=at + timedelta(days=day), outcomes={**outcomes, "fail": 12 - day}) for day in range(10)]
    report = replace(cluster_samples.report(), history=tuple(past))
    atomic_write(path, lambda out: html.write(report, out))
    return path


@pytest.fixture
def cluster(browser: Browser, cluster_file: Path) -> Iterator[Page]:
    yield from _opened(browser, cluster_file)


@pytest.fixture
def page(browser: Browser, file: Path) -> Iterator[Page]:
    yield from _opened(browser, file)


def _opened(browser: Browser, file: Path) -> Iterator[Page]:
    """The report, opened; afterwards: no console message, no error, no request but the file itself."""
    context = browser.new_context(color_scheme="light", viewport={"width": 1280, "height": 900})
    page = context.new_page()
    said: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(f"dialog: {dialog.message}"))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(file.as_uri())
    yield page
    context.close()
    assert said == []
    assert {url for url in requests if not url.startswith("data:")} == {file.as_uri()}


def _shown(page: Page) -> list[str]:
    return [name.split(".")[0] for name in page.locator(".line:visible .name b").all_inner_texts()]


def test_the_worst_comes_first_and_details_are_closed(page: Page) -> None:
    assert _shown(page)[0] == "expired"
    assert len(_shown(page)) == 15
    expect(page.locator(".detail:visible")).to_have_count(0)


def test_a_card_shows_one_verdict_and_again_all(page: Page) -> None:
    card = page.locator(".card.inconclusive")
    card.click()
    assert sorted(_shown(page)) == ["closed", "orphan", "pq-only", "silent"]
    expect(card).to_have_attribute("aria-current", "true")
    expect(page.locator("#endpoints")).to_be_in_viewport()
    expect(page.locator("#chips button")).to_have_text("inconclusive ×")
    expect(page.locator("#count")).to_have_text("4 of 15 shown")
    card.click()
    assert len(_shown(page)) == 15


def test_a_rule_shows_where_it_failed(page: Page) -> None:
    page.locator(".rule", has_text="tls-cipher-suite").click()
    assert sorted(_shown(page)) == ["legacy", "orphan", "tenant"]
    page.locator("#clear").click()
    assert len(_shown(page)) == 15
    page.go_back()
    assert sorted(_shown(page)) == ["legacy", "orphan", "tenant"]


def test_what_failed_lists_its_endpoints(page: Page) -> None:
    for failure in page.locator(".failure:has(a.count)").all()[:3]:
        count = failure.locator("a.count b").inner_text()
        failure.locator("a.count").click()
        expect(page.locator("#count")).to_have_text(f"{count} of 15 shown")
        message = failure.locator(".message").first.inner_text()
        page.locator("#table .toggle").first.click()
        expect(page.locator(".detail .message", has_text=message).first).to_be_visible()
        page.locator("#table .toggle").first.click()


def test_every_cell_of_the_matrix_lists_what_it_counts(cluster: Page) -> None:
    links = cluster.locator(".grid td a").evaluate_all("all => all.map(one => [one.textContent, one.hash])")
    assert {"#has=TLS%201.0%3A%20fail", "#component=dns&has=TLS%201.0%3A%20fail"} <= {link for _, link in links}
    for number, link in links:
        cluster.evaluate("link => { location.hash = link }", link)
        expect(cluster.locator("#count")).to_have_text(f"{number.rstrip('?')} of 23 shown")


def test_the_address_keeps_the_filters(page: Page) -> None:
    page.locator(".card.fail").click()
    page.locator("#search").fill('tls "1.0"')
    expect(page.locator("#count")).not_to_have_text(re.compile("^15|^4 "))
    shown = _shown(page)
    page.locator("#table .toggle").first.click()
    kept = page.url
    page.goto("about:blank")
    page.goto(kept)
    assert _shown(page) == shown
    expect(page.locator("#search")).to_have_value('tls "1.0"')
    expect(page.locator(".detail")).to_have_count(1)


@pytest.mark.parametrize(
    ("fragment", "count"),
    [("%E0%A4%A", "15 shown"), ("outcome=%E0%A4%A", "0 of 15 shown"), ("open=999,x,-1&q=%", "1 of 15 shown"),
     ("finding=\"]<b>", "0 of 15 shown"), ("=&__proto__=1", "15 shown"), ("q=%22", "15 shown")],
)  # fmt: skip
def test_no_address_breaks_the_page(page: Page, fragment: str, count: str) -> None:
    page.evaluate("fragment => { location.hash = fragment }", fragment)
    expect(page.locator("#count")).to_have_text(count)
    page.locator(".card.fail").click()
    expect(page.locator("#count")).to_have_text("5 of 15 shown")


def test_search_finds_what_is_inside(page: Page) -> None:
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("rsa 1024")
    expect(page.locator("#count")).to_have_text("1 of 15 shown")
    assert _shown(page) == ["rsa1024"]
    for words, shown in (("tls_rsa_with_aes_128_cbc_sha (aes128-sha", "legacy"), ('"tls 1.0" high', "legacy")):
        page.locator("#search").fill(words)
        expect(page.locator(".line").first).to_contain_text(shown)
        assert len(_shown(page)) < 4
    page.locator("#search").fill("no such thing at all")
    expect(page.locator("#none")).to_be_visible()
    page.locator("#clear2").click()
    assert len(_shown(page)) == 15


def test_sorting_by_keyboard_tells_assistive_technology(page: Page) -> None:
    header = page.locator("thead th", has=page.locator("[data-key=id]"))
    header.locator("button").focus()
    page.keyboard.press("Enter")
    expect(header).to_have_attribute("aria-sort", "ascending")
    assert _shown(page)[1:] == sorted(_shown(page)[1:])
    page.keyboard.press("Enter")
    expect(header).to_have_attribute("aria-sort", "descending")
    expect(page.locator("thead [aria-sort]")).to_have_count(1)
    assert _shown(page)[:-1] == sorted(_shown(page)[:-1], reverse=True)


def test_what_is_not_known_sorts_last_either_way(page: Page) -> None:
    for _ in range(2):
        page.locator("[data-key=ends]").click()
        without = ["to " not in text for text in page.locator(".line .cert").all_inner_texts()]
        assert without == sorted(without)


def test_a_row_opens_to_its_evidence(page: Page) -> None:
    line = page.locator(".line", has_text="legacy.demo.example").first
    line.locator(".toggle").focus()
    page.keyboard.press("Enter")
    expect(line.locator(".toggle")).to_have_attribute("aria-expanded", "true")
    expect(line.locator(".toggle")).to_be_focused()
    for text in ("TLS_RSA_WITH_AES_128_CBC_SHA (AES128-SHA, 0x002F)", "Certificate chain", "--version 1.0"):
        expect(page.locator(".detail").get_by_text(text).first).to_be_visible()
    line.locator(".name").click()
    expect(page.locator(".detail")).to_have_count(0)


def test_all_open_and_close(page: Page) -> None:
    page.locator("#expand").click()
    expect(page.locator(".detail:visible")).to_have_count(15)
    page.locator("#expand").click()
    expect(page.locator(".detail:visible")).to_have_count(0)


def test_a_command_can_be_copied(page: Page) -> None:
    page.locator(".line", has_text="legacy").locator(".toggle").click()
    button = page.locator(".detail .copy").first
    button.click()
    expect(button).to_have_text("Copied")


def test_a_finding_leads_to_its_rule(page: Page) -> None:
    page.locator(".line", has_text="expired").locator(".toggle").click()
    page.locator(".detail .finding a").first.click()
    expect(page.locator("#rule-cert-expired .page")).to_be_visible()


def _paper(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def test_dark_and_light_and_it_is_remembered(page: Page) -> None:
    light = _paper(page)
    page.locator("#theme").click()
    dark = _paper(page)
    assert dark != light
    page.emulate_media(color_scheme="dark")
    page.locator("#theme").click()
    assert _paper(page) == light
    page.evaluate("localStorage.clear(); delete document.documentElement.dataset.theme")
    assert _paper(page) == dark


@pytest.mark.parametrize("width", [390, 600, 800, 1280])
def test_no_width_scrolls_sideways(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.locator("#expand").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_print_has_what_failed_and_a_short_list_on_white(page: Page) -> None:
    page.locator("#theme").click()
    page.emulate_media(media="print")
    assert _paper(page) == "rgb(255, 255, 255)"
    expect(page.locator("#controls")).to_be_hidden()
    expect(page.locator(".line").last).to_be_visible()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator(".failure .expected li").first).to_be_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(page.locator(".failures details[open]")).to_have_count(0)


@pytest.fixture(scope="module")
def large_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("html") / "large.html"
    rows = [{**row, "id": f"{row['id']} {turn}"} for turn in range(60) for row in cluster_samples.rows()]
    atomic_write(path, lambda out: html.write(cluster_samples.report(rows), out))  # type: ignore[arg-type]
    return path


@pytest.fixture
def large(browser: Browser, large_file: Path) -> Iterator[Page]:
    yield from _opened(browser, large_file)


def test_rows_are_made_when_they_come_into_view(large: Page) -> None:
    expect(large.locator("#count")).to_have_text("1380 shown")
    assert 20 <= large.locator(".line").count() <= 200
    large.evaluate("scrollTo(0, document.querySelector('#table').getBoundingClientRect().bottom + scrollY - 800)")
    expect(large.locator("#table > tbody").last.locator(".line").last).to_be_visible()
    assert large.locator(".line").count() <= 400
    large.locator("#search").fill("dns-default 59")
    expect(large.locator("#count")).to_have_text("3 of 1380 shown")
    large.locator(".line .toggle").first.click()
    expect(large.locator(".detail")).to_contain_text("it accepts versions below TLSv1.2")


def test_a_long_list_is_not_printed(large: Page) -> None:
    large.emulate_media(media="print")
    large.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(large.locator("#table")).to_be_hidden()
    expect(large.locator("#unprinted")).to_contain_text("1380 endpoints is not printed")
    expect(large.locator(".grid")).to_be_visible()


def test_the_scans_over_time_are_drawn_and_listed(cluster: Page) -> None:
    chart = cluster.locator(".posture")
    expect(chart.locator("polyline.fail")).to_be_visible()
    chart.locator("summary").click()
    expect(chart.locator("tbody tr")).to_have_count(11)
    expect(chart.locator("tbody tr").last).to_contain_text("2026-11-01")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["targets", "cluster"])
def test_axe_finds_nothing(kind: str, scheme: Literal["light", "dark"], request: pytest.FixtureRequest) -> None:
    axe = pytest.importorskip("axe_playwright_python", reason="axe-core is not installed")
    page: Page = request.getfixturevalue("page" if kind == "targets" else "cluster")
    page.emulate_media(color_scheme=scheme)
    page.locator(".card.fail").click()
    page.locator("#expand").click()
    page.evaluate(
        "document.querySelectorAll('.failures details, .chart details').forEach(each => { each.open = true })"
    )
    page.evaluate(Path(axe.__file__).with_name("axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] }).then(found => found.violations)")
    assert [(each["id"], [node["html"][:200] for node in each["nodes"][:3]]) for each in found] == []


def _headings(page: Page) -> list[str]:
    return [text.split(" ")[0] for text in page.locator(".group:visible th").all_inner_texts()]


def test_a_cluster_is_grouped_by_component_the_worst_first(cluster: Page) -> None:
    assert _headings(cluster)[:5] == ["dns", "router", "oauth-server", "namespace", "crio"]
    expect(cluster.locator(".group", has_text="dns").first).to_contain_text("3 endpoints, 3 fail")
    names = cluster.locator("#table > tbody > tr").evaluate_all("all => all.map(one => one.className.split(' ')[0])")
    assert names[0] == "group"
    assert len(names) == 23 + 9


def test_a_cluster_can_be_grouped_otherwise(cluster: Page) -> None:
    cluster.locator("#group").select_option("owner")
    assert "DaemonSet" in _headings(cluster)
    cluster.locator("#group").select_option("")
    assert _headings(cluster) == []
    expect(cluster.locator(".line:visible")).to_have_count(23)


def test_a_component_shows_its_endpoints(cluster: Page) -> None:
    link = cluster.locator(".component", has_text="router")
    link.click()
    expect(link).to_have_attribute("aria-current", "true")
    expect(cluster.locator("#count")).to_have_text("2 of 23 shown")
    expect(cluster.locator("#component")).to_have_value("router")
    assert _headings(cluster) == ["router"]
    cluster.locator("#clear").click()
    expect(cluster.locator("#component")).to_have_value("")
    cluster.locator("#namespace").select_option("shop")
    expect(cluster.locator("#count")).to_have_text("9 of 23 shown")


def test_the_evidence_of_a_component_opens(cluster: Page) -> None:
    answer = cluster.locator(".components tr", has_text="dns").locator("details")
    answer.locator("summary").click()
    expect(answer.locator(".evidence")).to_contain_text("it accepts versions below TLSv1.2")


def test_a_list_of_targets_has_neither_groups_nor_components(page: Page) -> None:
    expect(page.locator(".group, .components, .pick, .funnel")).to_have_count(0)


def test_a_certificate_opens_to_its_evidence(cluster: Page) -> None:
    line = cluster.locator(".certificates tr", has_text="kube-apiserver-lb-signer")
    expect(line.locator(".findings")).to_be_hidden()
    line.locator("summary").first.click()
    expect(line.locator(".findings .message")).to_contain_text("nothing renews it by itself")
    line.locator(".findings a").first.click()
    assert cluster.evaluate("location.hash") == "#rule-pki-key"


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_labels_of_the_chart_do_not_touch(cluster: Page, width: int, scheme: Literal["light", "dark"]) -> None:
    cluster.emulate_media(color_scheme=scheme)
    cluster.set_viewport_size({"width": width, "height": 800})
    boxes = cluster.locator(".ends .tick:not(.unit)").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect()).map(one => [one.left, one.right])"
    )
    assert len(boxes) == 10
    assert all(before[1] < after[0] for before, after in pairwise(boxes))
    colors = cluster.locator(".ends rect").evaluate_all("all => all.map(one => getComputedStyle(one).fill)")
    assert len(set(colors)) == 4


@pytest.mark.parametrize("width", [390, 600, 800, 1100, 1280])
def test_no_width_of_a_cluster_scrolls_sideways(cluster: Page, width: int) -> None:
    cluster.set_viewport_size({"width": width, "height": 800})
    cluster.locator("#expand").click()
    cluster.evaluate("document.querySelectorAll('.certificates details').forEach(each => { each.open = true })")
    assert cluster.evaluate("document.documentElement.scrollWidth") <= width


def test_without_javascript_what_failed_is_readable(browser: Browser, cluster_file: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(cluster_file.as_uri())
    expect(page.locator(".card.fail")).to_be_visible()
    expect(page.locator(".failure").first).to_contain_text("it accepts versions below TLSv1.2")
    expect(page.locator(".grid")).to_contain_text("dns")
    expect(page.get_by_text("The list of endpoints needs JavaScript.")).to_be_visible()
    expect(page.locator("#controls")).to_be_hidden()
    context.close()


def test_script_that_slipped_in_could_not_run(browser: Browser, file: Path, tmp_path: Path) -> None:
    """The second line of defence: the policy stops what escaping would have missed."""
    broken = tmp_path / "broken.html"
    text = file.read_text(encoding="utf-8")
    broken.write_text(text.replace("</main>", "<script>window.owned = 1</script><img src=x onerror='owned=1'></main>"))
    page = browser.new_page()
    page.goto(broken.as_uri())
    assert page.evaluate("typeof window.owned") == "undefined"
    page.close()


def test_what_breaks_nothing_has_a_card_of_its_own_and_the_headline_counts_the_others(cluster: Page) -> None:
    expect(cluster.locator("h1 b.fail")).to_have_text(cluster.locator(".card.fail .number").inner_text())
    cluster.locator(".card.deviates").click()
    expect(cluster.locator("#count")).to_have_text("8 of 23 shown")
    assert set(cluster.locator(".line:visible .toggle").all_text_contents()) == {"~differs"}


def test_ids_break_where_their_parts_end(cluster: Page) -> None:
    name = cluster.locator(".name b", has_text="DaemonSet/openshift-dns/dns-default:9154").first
    assert name.inner_html() == "DaemonSet/<wbr>openshift-dns/<wbr>dns-default:<wbr>9154<wbr>"


def test_the_longest_verdict_stays_in_its_column(cluster: Page) -> None:
    widths = cluster.locator("td.verdict").evaluate_all("all => all.map(one => [one.scrollWidth, one.clientWidth])")
    assert [each for each in widths if each[0] > each[1]] == []
