"""The HTML page in a real browser: everything that a reader clicks, without an error and without the network."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from scanner.report import html
from scanner.report.atomic import atomic_write
from tests.report import cluster_samples, samples

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

pytestmark = pytest.mark.skipif(_CHROMIUM is None, reason="chromium is not installed")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_CHROMIUM, args=_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("html") / "report.html"
    atomic_write(path, lambda out: html.write(samples.report(), out))
    return path


@pytest.fixture(scope="module")
def cluster_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("html") / "cluster.html"
    atomic_write(path, lambda out: html.write(cluster_samples.report(), out))
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
    assert [url for url in requests if not url.startswith("data:")] == [file.as_uri()]


def _shown(page: Page) -> list[str]:
    return [name.split(".")[0] for name in page.locator(".endpoint:visible .name b").all_inner_texts()]


def test_the_worst_comes_first_and_details_are_closed(page: Page) -> None:
    assert _shown(page)[0] == "expired"
    assert len(_shown(page)) == 15
    expect(page.locator(".detail:visible")).to_have_count(0)


def test_a_card_shows_one_verdict_and_again_all(page: Page) -> None:
    card = page.locator(".card.inconclusive")
    card.click()
    assert sorted(_shown(page)) == ["closed", "orphan", "pq-only", "silent"]
    expect(card).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#count")).to_have_text("4 of 15 shown")
    card.click()
    assert len(_shown(page)) == 15


def test_a_rule_shows_where_it_failed(page: Page) -> None:
    page.locator(".rule", has_text="tls-cipher-suite").click()
    assert sorted(_shown(page)) == ["legacy", "orphan", "tenant"]
    page.locator("#clear").click()
    assert len(_shown(page)) == 15


def test_search_finds_what_is_inside(page: Page) -> None:
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("rsa 1024")
    expect(page.locator("#count")).to_have_text("1 of 15 shown")
    assert _shown(page) == ["rsa1024"]
    page.locator("#search").fill("no such thing at all")
    expect(page.locator("#none")).to_be_visible()
    page.locator("#clear2").click()
    assert len(_shown(page)) == 15


def test_sorting_by_keyboard_tells_assistive_technology(page: Page) -> None:
    header = page.locator("thead th", has=page.locator("[data-key=name]"))
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
        without = page.locator(".endpoint").evaluate_all("all => all.map(one => one.dataset.ends === '')")
        assert without == sorted(without)


def test_a_row_opens_to_its_evidence(page: Page) -> None:
    entry = page.locator(".endpoint", has_text="legacy.demo.example").first
    entry.locator(".toggle").focus()
    page.keyboard.press("Enter")
    expect(entry.locator(".toggle")).to_have_attribute("aria-expanded", "true")
    for text in ("TLS_RSA_WITH_AES_128_CBC_SHA (AES128-SHA, 0x002F)", "Certificate chain", "--version 1.0"):
        expect(entry.locator(".detail").get_by_text(text).first).to_be_visible()
    entry.locator(".line .name").click()
    expect(entry.locator(".detail")).to_be_hidden()


def test_all_open_and_close(page: Page) -> None:
    page.locator("#expand").click()
    expect(page.locator(".detail:visible")).to_have_count(15)
    page.locator("#expand").click()
    expect(page.locator(".detail:visible")).to_have_count(0)


def test_a_command_can_be_copied(page: Page) -> None:
    page.locator("#e1 .toggle").click()
    button = page.locator("#e1 .copy").first
    button.click()
    expect(button).to_have_text("Copied")


def test_a_link_opens_its_endpoint_and_its_rule(page: Page) -> None:
    page.evaluate("location.hash = 'e2'")
    expect(page.locator("#e2 .detail")).to_be_visible()
    page.locator("#e2 .finding a").first.click()
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


def test_print_opens_what_needs_a_reader_on_white(page: Page) -> None:
    page.locator("#theme").click()
    page.emulate_media(media="print")
    assert _paper(page) == "rgb(255, 255, 255)"
    expect(page.locator("#controls")).to_be_hidden()
    expect(page.locator(".fail > .detail").first).to_be_visible()
    expect(page.locator(".pass > .detail").first).to_be_hidden()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator(".fail .evidence li").first).to_be_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(page.locator("details.evidence[open]")).to_have_count(0)


def _headings(page: Page) -> list[str]:
    return [text.split(" ")[0] for text in page.locator(".group:visible th").all_inner_texts()]


def test_a_cluster_is_grouped_by_component_the_worst_first(cluster: Page) -> None:
    assert _headings(cluster)[:5] == ["dns", "router", "oauth-server", "namespace", "crio"]
    expect(cluster.locator(".group", has_text="dns").first).to_contain_text("3 endpoints, 3 fail")
    names = cluster.locator("#table > tbody").evaluate_all("all => all.map(one => one.className.split(' ')[0])")
    assert names[0] == "group"
    assert len(names) == 23 + 9


def test_a_cluster_can_be_grouped_otherwise(cluster: Page) -> None:
    cluster.locator("#group").select_option("owner")
    assert "DaemonSet" in _headings(cluster)
    cluster.locator("#group").select_option("")
    assert _headings(cluster) == []
    expect(cluster.locator(".endpoint:visible")).to_have_count(23)


def test_a_component_shows_its_endpoints(cluster: Page) -> None:
    button = cluster.locator(".component", has_text="router")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
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


def test_without_javascript_everything_is_readable(browser: Browser, file: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    expect(page.locator(".detail:visible")).to_have_count(15)
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
    assert set(cluster.locator(".endpoint:visible .toggle").all_text_contents()) == {"~differs"}


def test_ids_break_where_their_parts_end(cluster: Page) -> None:
    name = cluster.locator(".name b", has_text="DaemonSet/openshift-dns/dns-default:9154").first
    assert name.inner_html() == "DaemonSet/<wbr>openshift-dns/<wbr>dns-default:<wbr>9154<wbr>"


def test_the_longest_verdict_stays_in_its_column(cluster: Page) -> None:
    widths = cluster.locator("td.verdict").evaluate_all("all => all.map(one => [one.scrollWidth, one.clientWidth])")
    assert [each for each in widths if each[0] > each[1]] == []
