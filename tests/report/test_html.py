"""The HTML page as text: self-contained, locked down, and with the data of its endpoints."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from hashlib import sha256
from html.parser import HTMLParser
from io import StringIO

import pytest

from scanner.model.endpoint import Owner
from scanner.model.finding import Finding
from scanner.model.inventory import InventoryRow, certificate_report
from scanner.model.report import EndpointRow, Report
from scanner.report import certificates
from scanner.report.formats import html
from scanner.report.rows import endpoint_row, finding_row
from scanner.values import replace
from tests.report import certificate_samples, cluster_samples, samples
from tests.report.page_data import endpoints
from tests.report.samples import finding


def _text(report: Report) -> str:
    out = StringIO()
    html.write(report, out)
    return out.getvalue()


def _everything(page: str) -> str:
    """The texts of the page, and those of its data."""
    return " ".join("".join(_Reader(page).texts).split()) + json.dumps(endpoints(page), ensure_ascii=False)


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
    assert [tag for tag, _ in reader.tags].count("script") == 2
    for text in ("".join(reader.texts), "".join(_strings(endpoints(any_page)))):
        assert "<script>alert('x')</script>" in text
        assert "{{ 7 * 7 }}" in text
        assert "\\x1b[31mred" in text
        assert "\\u202egnp.exe" in text
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", any_page)
    any_page.encode()


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)


def test_the_evidence_is_there(page: str) -> None:
    text = "\n".join(_strings(endpoints(page)))
    for evidence in (
        "TLS_RSA_WITH_AES_128_CBC_SHA (AES128-SHA, 0x002F)",
        "adhere ask tls://127.0.0.2:8442#legacy.demo.example --version 1.0",
        "sslyze\nconfirmed",
        "CN=Demo Issuing CA,O=Adhere",
        "tls1.2 forbidden: alert 40 (2 ms)",
        "unknown: APIServer/cluster could not be read: forbidden",
        "and 22 more",
    ):
        assert evidence in text
    assert "of an object" in page


def test_a_finding_has_the_labels_of_all_formats(page: str) -> None:
    found = {name for row in endpoints(page) for one in row["findings"] for name, _ in one["details"]}
    assert {"observed", "expected", "fix", "evidence", "reproduce", "sslyze"} == found


def test_only_what_failed_is_marked_as_offending(page: str) -> None:
    marked = {name for row in endpoints(page) for name, offending, _ in row["suites"]["rows"] if offending}
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


def test_equal_parts_of_endpoints_are_stored_once() -> None:
    few, many = (_text(samples.report(_copies(count, fail=count))) for count in (1, 1001))
    assert len(many) - len(few) < 1001 * 10
    assert [*endpoints(many)] == endpoints(few) * 1001


@pytest.mark.slow
def test_a_huge_report_shows_the_worst_and_says_what_is_left_out() -> None:
    page = _text(samples.report(_copies(5010, fail=3)))
    outcomes = [row["outcome"] for row in endpoints(page)]
    assert (len(outcomes), outcomes[:3]) == (5000, ["fail"] * 3)
    assert "This list has 5000 of 5010 endpoints" in page


@pytest.mark.parametrize(
    ("report", "title"),
    [
        (samples.report([]), "Nothing was scanned"),
        (samples.report([endpoint_row(*next(samples.parts()))]), "All 1 judged endpoint complies"),
        (
            samples.report([endpoint_row(*list(samples.parts())[10])]),
            "No violation was observed, but 1 of 1 could not be judged",
        ),
        (samples.report([endpoint_row(*list(samples.parts())[5])]), "No endpoint has a TLS requirement"),
        (samples.report([endpoint_row(*list(samples.parts())[2])]), "1 of 1 endpoint fails"),
        (
            samples.report([endpoint_row(*list(samples.parts())[7])]),
            "No failure is counted in the exit code; 1 of 1 differs",
        ),
    ],
)
def test_the_title_says_the_result(report: Report, title: str) -> None:
    (heading,) = re.findall(r"<h1.*?>(.*?)</h1>", _text(report), re.DOTALL)
    assert " ".join(re.sub("<.*?>", "", heading).split()) == title


def test_what_a_cluster_showed_and_who_honours_what_is_there() -> None:
    text = _everything(_text(cluster_samples.report()))
    for said in (
        "45 endpoints found",
        "12 × UDP, which TLS does not use",
        "shop/deny-all explains why 1 did not answer",
        "give the scan's account the verbs get and list on routes.route.openshift.io",
        "Required: openshift/4.23/intermediate, under StrictAllComponents",
        "no 0 of 2 listeners with TLS",
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
    assert "yes 1 of 1 listeners · StrictAllComponents · required: openshift/4.23/old" in text


def test_more_components_than_a_page_is_good_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "MOST_COMPONENTS", 4)
    page = _text(cluster_samples.report())
    assert page.count('class="component"') == 4
    assert "5 more lines are in the JSON report" in page


def test_of_a_cluster_its_times_end_in_seconds_and_nothing_is_said_of_what_it_has_not() -> None:
    cluster: dict[str, object] = {"name": "None", "taken_at": "2026-11-22T08:10:09.165660+00:00", "platform": "None"}
    page = _text(replace(cluster_samples.report(), cluster=cluster))
    assert "<dt>Taken at</dt><dd>2026-11-22T08:10:09Z</dd>" in page
    assert "<dt>Platform</dt>" not in page
    assert "<dt>Cluster</dt><dd>None</dd>" in page


def test_what_is_in_no_namespace_is_called_so_in_both_tables() -> None:
    where = cluster_samples.endpoint(Owner(kind="Node", namespace=None, name="a"), 443, "10.0.0.1", None)
    row = endpoint_row(where, cluster_samples.USER, samples.speaking("x"), "pass", "ok", samples.PASSED)
    page = _text(cluster_samples.report([row]))
    assert page.count('href="#component=cluster-scoped%20objects"') == 2, "in the matrix and among the components"
    assert [each["facets"]["component"] for each in endpoints(page)] == [["cluster-scoped objects"]]


def test_several_clusters_are_named() -> None:
    page = _text(replace(cluster_samples.report(), cluster={"clusters": [{"name": "a"}, {"name": "b"}, "odd"]}))
    assert "<dt>Cluster</dt><dd>a</dd>" in page
    assert "<dt>Cluster</dt><dd>b</dd>" in page


def _certificates(rows: Iterable[InventoryRow], findings: tuple[Finding, ...] = ()) -> str:
    kept = list(rows)
    found = certificate_report(lambda: iter(kept), [certificate_samples.CONFIGURATION], certificate_samples.NOW)
    told = [finding_row(one) for one in findings]
    return _text(replace(cluster_samples.report([]), certificates=found, findings=told))


def _words(page: str) -> str:
    return " ".join("".join(_Reader(page).texts).split())


def test_the_certificates_of_a_cluster() -> None:
    text = _words(_text(cluster_samples.report()))
    for said in (
        "17 different certificates in the cluster's objects and on its listeners: 13 governed by the PKI configuration",
        "PKI/cluster: defaults RSA 2048, signer RSA 4096, serving ECDSA P384; last changed 2026-11-01",
        "1 will be renewed automatically, the last by 2026-12-04.",
        "etcd-signer signer · etcd-operator · openshift-etcd · CN=etcd-signer RSA 2048 2031-07-18 in 4 years",
        "delete Secret openshift-etcd/etcd-signer, and its operator issues it again",
        "will be renewed before 2026-12-04",
        "2026-11-09 expired 12 days ago",
        "and 2 more places",
    ):
        assert said in text


def test_the_chart_says_in_words_what_it_shows() -> None:
    page = _text(cluster_samples.report())
    (described,) = re.findall(r'<desc id="ends-text">(.*?)</desc>', page)
    assert described == (
        "expired 1, within 1 week 1, within 1 month 5, within 3 months 1, within 6 months 1, within 2 years 2,"
        " within 5 years 4, within 10 years 2"
    )
    (chart,) = re.findall(r'<svg class="ends".*?</svg>', page, re.DOTALL)
    assert 'role="group" aria-labelledby="ends-title ends-text"' in chart
    assert chart.count("<rect ") == 12
    assert "<title>within 2 years: 2 (1 signer, 1 serving)</title>" in chart
    heights = [float(each) for each in re.findall(r'<rect .*?height="(.*?)"', chart)]
    assert min(heights) >= 3
    assert sum(heights[2:5]) == pytest.approx(certificates.TALLEST, abs=0.5)


@pytest.mark.slow
def test_fifty_thousand_certificates_make_no_large_page() -> None:
    violates = certificate_samples.VIOLATES
    findings = tuple(replace(violates, message=f"number {number}", about="elsewhere") for number in range(2000))
    page = _certificates(certificate_samples.many(50_000), findings)
    assert len(page) < 4_000_000
    assert "This page shows 250 of 50000 certificates" in page
    assert page.count('<td class="judged">') == 250
    assert page.count('<span class="mark" aria-hidden="true">✗</span> violates') == 250
    assert page.count('<li class="failure ') == 200
    assert "1800 more groups of findings are in the JSON report" in page


def test_one_certificate_among_thousands_still_has_a_bar() -> None:
    rows = [*certificate_samples.many(3000)]
    for row in rows:
        row["not_after"] = "2026-12-25T00:00:00Z"
    rows[0]["not_after"] = "2026-11-22T00:00:00Z"
    page = _certificates(rows)
    assert "<title>within 1 week: 1 (1 signer)</title>" in page
    assert 'height="3.0"' in page


def test_the_finding_of_a_certificate_is_in_its_line_only() -> None:
    violates = certificate_samples.VIOLATES
    page = _certificates(certificate_samples.rows(), (violates, finding("pki-object", "low", "fail", "odd object")))
    assert page.count(violates.message) == 2, "in the line of the certificate and in its details"
    assert page.count("odd object") == 1
    assert 'class="failure ' not in _certificates(certificate_samples.rows(), (violates,))


def test_dates_that_cannot_be_read_are_said_so() -> None:
    row = next(certificate_samples.rows())
    row["not_after"] = row["subject"] = row["issuer"] = None
    text = _words(_certificates([row]))
    assert "The expiry of 1 cannot be read." in text
    assert "RSA 2048 unreadable" in text


@pytest.mark.parametrize(
    ("days", "left"),
    [(0, "within a day"), (1, "in 1 day"), (59, "in 59 days"), (60, "in 2 months"), (729, "in 24 months"),
     (730, "in 2 years"), (-1, "expired 1 day ago"), (-90, "expired 3 months ago")],
)  # fmt: skip
def test_how_long_it_is_still_valid(days: int, left: str) -> None:
    row = certificate_samples.row("etcd-signer", "signer", certificate_samples.RSA2, days)
    assert f">{left}</span>" in _certificates([row])


def test_what_ended_a_moment_ago_has_ended() -> None:
    row = next(certificate_samples.rows())
    row["not_after"] = "2026-11-21T10:00:02Z"
    page = _certificates([row])
    assert '<span class="sub fail">expired today</span>' in page


def test_without_certificates_there_is_no_section() -> None:
    for report in (samples.report(), replace(cluster_samples.report(), certificates=None)):
        assert 'id="certificates"' not in _text(report)
    assert 'id="certificates"' not in _certificates([])
