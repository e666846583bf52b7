"""The fields of OpenShift's configuration beside the APIServer, as far as rules on TLS look into them."""

from __future__ import annotations

from typing import Final

from scanner.lint.fields import together
from scanner.lint.fields.names import NAMESPACE
from scanner.lint.fields.shape import FLAG, Items, Record, Shape, Text, anything, texts

NAMED: Final = Record(texts("name"), ("name",))
"""openshift/api config/v1 ``SecretNameReference`` and ``ConfigMapNameReference``."""
_AUTHORITY: Final[dict[str, Shape]] = {"ca": NAMED}
_PAIR: Final = dict.fromkeys(("tlsClientCert", "tlsClientKey"), NAMED)
_CLIENT: Final = anything("clientID", "clientSecret")
_PROVIDER: Final = Record(
    {
        "basicAuth": Record({**_AUTHORITY, **_PAIR, **texts("url")}),
        "github": Record({**_AUTHORITY, **_CLIENT, **texts("hostname"), **anything("organizations", "teams")}),
        "gitlab": Record({**_AUTHORITY, **_CLIENT, **texts("url")}),
        "keystone": Record({**_AUTHORITY, **_PAIR, **texts("url"), **anything("domainName")}),
        "ldap": Record(
            {**_AUTHORITY, "insecure": FLAG, **texts("url"), **anything("attributes", "bindDN", "bindPassword")}
        ),
        "openID": Record(
            {
                **_AUTHORITY,
                **_CLIENT,
                **texts("issuer"),
                **anything("claims", "extraAuthorizeParameters", "extraScopes"),
            }
        ),
        "requestHeader": Record(
            {
                **_AUTHORITY,
                **texts("challengeURL", "loginURL"),
                **anything("clientCommonNames", "emailHeaders", "headers", "nameHeaders", "preferredUsernameHeaders"),
            }
        ),
        **texts("name", "type", "mappingMethod"),
        **anything("google", "htpasswd"),
    }
)
OAUTH: Final = Record({"identityProviders": Items(_PROVIDER), **anything("templates", "tokenConfig")})
_COMPONENT_ROUTE: Final = Record(
    {
        "namespace": NAMESPACE,
        "name": Text(shortest=1, longest=256),
        "servingCertKeyPairSecret": NAMED,
        **anything("hostname", "labels"),
    },
    ("namespace", "name", "hostname"),
)
INGRESS_CONFIG: Final = Record(
    {
        **texts("domain", "appsDomain"),
        "componentRoutes": Items(_COMPONENT_ROUTE, 0, 250),
        **anything("loadBalancer", "requiredHSTSPolicies"),
    },
    clashes=together.COMPONENT_ROUTES,
)
CONSOLE: Final = Record(
    {
        "route": Record({**texts("hostname"), "secret": NAMED}),
        **anything("customization", "ingress", "logLevel", "managementState", "observedConfig", "operatorLogLevel"),
        **anything("plugins", "providers", "unsupportedConfigOverrides"),
    }
)
"""operator/v1."""
