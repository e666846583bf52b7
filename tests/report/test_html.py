"""The HTML page as text: self-contained, locked down, and the same for 15 and for 6,000 endpoints."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from io import StringIO

import pytest

from scanner.model.report import EndpointRow, Report
from scanner.report import html
from scanner.report.rows import endpoint_row
from tests.report import cluster_samples, samples
from tests.report.samples import finding


def _text(report: Report) -> str:
    out = StringIO()
    html.write(report, out)
    return out.getvalue()


class _Reader(HTMLParser):
    """Every tag with its attributes, and the text of the page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture(scope="module")
def page() -> str:
    return _text(samples.report(findings=(finding("profile-custom", "low", "fail", "of an object"),)))


@pytest.fixture(scope="module", params=["list", "cluster"])
def any_page(request: pytest.FixtureRequest) -> str:
    return _text(samples.report() if request.param == "list" else cluster_samples.report())


def test_nothing_is_loaded_from_anywhere(any_page: str) -> None:
    for tag, attributes in _Reader(any_page).tags:
        assert tag not in {"img", "iframe", "object", "embed", "base", "form"}
        assert "src" not in attributes
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        if tag == "link":
            assert (attributes["href"] or "").startswith("data:")


def test_the_policy_allows_our_script_and_style_by_hash_and_nothing_else(any_page: str) -> None:
    policy = next(
        a["content"] or "" for _, a in _Reader(any_page).tags if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for tag in ("script", "style"):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", any_page, re.DOTALL)
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_hostile_text_is_text(any_page: str) -> None:
    reader = _Reader(any_page)
    assert [tag for tag, _ in reader.tags].count("script") == 1
    text = "".join(reader.texts)
    assert "<script>alert('x')</script>" in text
    assert "{{ 7 * 7 }}" in text
    assert "\\x1b[31mred" in text
    assert "\\u202egnp.exe" in text
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", any_page)
    any_page.encode()


def test_the_evidence_is_there(page: str) -> None:
    text = "".join(_Reader(page).texts)
    for evidence in (
        "TLS_RSA_WITH_AES_128_CBC_SHA (AES128-SHA, 0x002F)",
        "adhere ask tls://127.0.0.2:8442#legacy.demo.example --version 1.0",
        "sslyze: confirmed",
        "CN=Demo Issuing CA,O=Adhere",
        "tls1.2 forbidden: alert 40 (2 ms)",
        "not known: APIServer/cluster could not be read: forbidden",
        "and 22 more",
        "of an object",
    ):
        assert evidence in text


def test_only_what_failed_is_marked_as_offending(page: str) -> None:
    marked = re.findall(r'<tr class="offending"><th scope="row"><code>(\w+)</code>', page)
    assert sorted(marked) == [
        "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
        "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
        "TLS_RSA_WITH_AES_128_CBC_SHA",
        "TLS_RSA_WITH_AES_128_CBC_SHA256",
        "TLS_RSA_WITH_AES_256_CBC_SHA",
    ]


def test_every_id_is_used_once(any_page: str) -> None:
    ids = [attributes["id"] for _, attributes in _Reader(any_page).tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def _copies(count: int, *, fail: int) -> list[EndpointRow]:
    """``count`` rows that pass, but for the last ones, which fail."""
    good, bad = (endpoint_row(*part) for part in list(samples.parts())[:6:5])
    bad = EndpointRow(**{**bad, "verdict": "fail"})
    return [good] * (count - fail) + [bad] * fail


def test_a_large_report_keeps_evidence_only_for_what_failed() -> None:
    page = _text(samples.report(_copies(501, fail=2)))
    assert page.count('class="evidences"') == 2
    assert "only those that failed or could not be judged carry their evidence" in page


def test_a_huge_report_shows_the_worst_and_says_what_is_left_out() -> None:
    page = _text(samples.report(_copies(5010, fail=3)))
    assert page.count('<tbody role="rowgroup"') == 5000
    assert page.count('class="endpoint fail"') == 3
    assert "This page shows 5000 of 5010 endpoints" in page


@pytest.mark.parametrize(
    ("report", "title"),
    [
        (samples.report([]), "Nothing was scanned"),
        (samples.report([endpoint_row(*next(samples.parts()))]), "All 1 judged endpoint complies"),
        (
            samples.report([endpoint_row(*list(samples.parts())[10])]),
            "No violation was seen, but 1 of 1 could not be judged",
        ),
        (samples.report([endpoint_row(*list(samples.parts())[5])]), "Nothing here has to speak TLS"),
        (samples.report([endpoint_row(*list(samples.parts())[2])]), "1 of 1 endpoint fails"),
        (samples.report([endpoint_row(*list(samples.parts())[7])]), "Nothing fails that counts; 1 of 1 deviates"),
    ],
)
def test_the_title_says_the_result(report: Report, title: str) -> None:
    (heading,) = re.findall(r"<h1.*?>(.*?)</h1>", _text(report), re.DOTALL)
    assert " ".join(re.sub("<.*?>", "", heading).split()) == title


def test_what_a_cluster_showed_and_who_honours_what_is_there() -> None:
    text = " ".join("".join(_Reader(_text(cluster_samples.report())).texts).split())
    for said in (
        "45 listeners found",
        "12 × UDP, which TLS does not use",
        "shop/deny-all explains why 1 did not answer",
        "let the scan's account get, list and watch routes.route.openshift.io",
        "What binds is openshift/4.23/intermediate, under StrictAllComponents",
        "does not honour it 1 of 2 listeners",
        "DaemonSet/openshift-dns/dns-default:9154: it accepts versions below TLSv1.2",
        "4 of 23 endpoints fail",
        "also openshift/4.23/old",
    ):
        assert said in text


def test_a_line_says_what_it_owes_where_that_is_unusual() -> None:
    rows = list(cluster_samples.rows())
    for row in rows[:3]:
        row["expected"]["profile"] = "openshift/4.23/old"
    text = " ".join("".join(_Reader(_text(cluster_samples.report(rows))).texts).split())
    assert "honours it 1 of 1 listener · StrictAllComponents · openshift/4.23/old" in text


def test_more_components_than_a_page_is_good_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "MOST_COMPONENTS", 4)
    page = _text(cluster_samples.report())
    assert page.count('class="component"') == 4
    assert "5 more lines are in the JSON report" in page


def test_several_clusters_are_named() -> None:
    page = _text(replace(cluster_samples.report(), cluster={"clusters": [{"name": "a"}, {"name": "b"}, "odd"]}))
    assert "<dt>Cluster</dt><dd>a</dd>" in page
    assert "<dt>Cluster</dt><dd>b</dd>" in page
