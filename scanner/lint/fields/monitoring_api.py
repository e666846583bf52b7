"""The fields of monitors (prometheus-operator, pkg/apis/monitoring v1 and v1alpha1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scanner.kube import kinds
from scanner.kube.kinds import Kind
from scanner.lint.fields.names import SELECTOR
from scanner.lint.fields.shape import FLAG, TEXT, Items, Record, Shape, Text, anything, texts

_VERSION: Final = Text(enum=("TLS10", "TLS11", "TLS12", "TLS13"))
_SOURCE: Final = Record(anything("configMap", "secret"))
_SAFE: Final[dict[str, Shape]] = {
    "ca": _SOURCE,
    "cert": _SOURCE,
    "insecureSkipVerify": FLAG,
    **dict.fromkeys(("minVersion", "maxVersion"), _VERSION),
    "serverName": TEXT,
    **anything("keySecret"),
}
_VERSIONS: Final = ("minVersion", "maxVersion")
"""Of which ``monitor-tls`` says what is wrong with them, and ``monitor-scheme`` of schemes."""
_SAFE_TLS: Final = Record(_SAFE, told=_VERSIONS)
_TLS: Final = Record({**_SAFE, **texts("caFile", "certFile", "keyFile")}, told=_VERSIONS)
_SCHEME: Final = Text(enum=("http", "https", "HTTP", "HTTPS"))
_SCRAPE: Final[dict[str, Shape]] = {
    "scheme": _SCHEME,
    **texts("port"),
    **anything("authorization", "basicAuth", "bearerTokenSecret", "enableHttp2", "filterRunning", "followRedirects"),
    **anything("honorLabels", "honorTimestamps", "interval", "metricRelabelings", "noProxy", "oauth2", "params"),
    **anything("path", "proxyConnectHeader", "proxyFromEnvironment", "proxyUrl", "relabelings", "scrapeTimeout"),
    **anything("targetPort", "trackTimestampsStaleness"),
}
_SERVICE_ENDPOINT: Final = Record({**_SCRAPE, "tlsConfig": _TLS, **anything("bearerTokenFile")}, told=("scheme",))
_POD_ENDPOINT: Final = Record({**_SCRAPE, "tlsConfig": _SAFE_TLS, **anything("portNumber")}, told=("scheme",))
_LIMITS: Final = anything(
    "convertClassicHistogramsToNHCB", "fallbackScrapeProtocol", "keepDroppedTargets", "labelLimit",
    "labelNameLengthLimit", "labelValueLengthLimit", "nativeHistogramBucketLimit", "nativeHistogramMinBucketFactor",
    "sampleLimit", "scrapeClass", "scrapeClassicHistograms", "scrapeNativeHistograms", "scrapeProtocols", "targetLimit",
)  # fmt: skip
_SELECTING: Final[dict[str, Shape]] = {
    "selector": SELECTOR,
    "namespaceSelector": Record({"any": FLAG, "matchNames": Items(TEXT)}),
    **anything("attachMetadata", "bodySizeLimit", "jobLabel", "podTargetLabels", "selectorMechanism"),
    **_LIMITS,
}
_SERVICE_MONITOR: Final = Record(
    {
        **_SELECTING,
        "endpoints": Items(_SERVICE_ENDPOINT),
        **anything("serviceDiscoveryRole", "targetLabels"),
    },
    ("endpoints", "selector"),
)
_POD_MONITOR: Final = Record({**_SELECTING, "podMetricsEndpoints": Items(_POD_ENDPOINT)}, ("selector",))
_PROBER: Final = Record(
    {
        "scheme": _SCHEME,
        "url": Text(shortest=1),
        **anything("noProxy", "path", "proxyConnectHeader", "proxyFromEnvironment", "proxyUrl"),
    },
    ("url",),
    told=("scheme",),
)
_PROBE: Final = Record(
    {
        "prober": _PROBER,
        "tlsConfig": _SAFE_TLS,
        **anything("authorization", "basicAuth", "bearerTokenSecret", "enableHttp2", "followRedirects", "interval"),
        **anything("jobName", "metricRelabelings", "module", "oauth2", "params", "scrapeTimeout", "targets"),
        **_LIMITS,
    }
)
_SCRAPE_CONFIG: Final = Record({"scheme": _SCHEME, "tlsConfig": _SAFE_TLS}, told=("scheme",), others=True)

MONITORING_API: Final[Mapping[Kind, Record]] = {
    kinds.SERVICE_MONITOR: Record({"spec": _SERVICE_MONITOR}, ("spec",)),
    kinds.POD_MONITOR: Record({"spec": _POD_MONITOR}, ("spec",)),
    kinds.PROBE: Record({"spec": _PROBE}, ("spec",)),
    kinds.SCRAPE_CONFIG: Record({"spec": _SCRAPE_CONFIG}, ("spec",)),
}
