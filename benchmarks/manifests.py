"""Made-up manifests, as a repository of a platform team has them: applications of ten objects each, a file an
application, its route declared in one of four ways."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

from scanner.demo.certificates import Authority, Credential

EACH = 10
"""Objects of one application."""
_CERTIFICATES = 8
"""Made for all of them: making them is not what is measured."""

_APPLICATION = """\
# {name}: owned by team-{team}
apiVersion: v1
kind: Namespace
metadata:
  name: {name}
  labels: {{team: team-{team}, pod-security.kubernetes.io/enforce: restricted}}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
  namespace: {name}
  labels:
    app.kubernetes.io/name: {name}
    app.kubernetes.io/part-of: platform
  annotations:
    checksum/config: "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"
spec:
  replicas: 3
  selector:
    matchLabels:
      app.kubernetes.io/name: {name}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: {name}
    spec:
      serviceAccountName: {name}
      securityContext:
        runAsNonRoot: true
        seccompProfile: {{type: RuntimeDefault}}
      containers:
      - name: server
        image: "images.example/{name}:1.{team}.0"
        args: ["--listen=0.0.0.0:8443", "--tls-cert-file=/tls/tls.crt", "--tls-private-key-file=/tls/tls.key"]
        env:
        - name: LOG_LEVEL
          value: info
        - name: POD_NAME
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
        ports:
        - name: https
          containerPort: 8443
        readinessProbe:
          httpGet:
            path: /ready
            port: https
            scheme: HTTPS
          periodSeconds: 5
        resources:
          requests: {{cpu: 100m, memory: 128Mi}}
          limits: {{memory: 256Mi}}
        volumeMounts:
        - name: tls
          mountPath: /tls
          readOnly: true
      volumes:
      - name: tls
        secret:
          secretName: {name}-tls
---
apiVersion: v1
kind: Service
metadata:
  name: {name}
  namespace: {name}
spec:
  selector:
    app.kubernetes.io/name: {name}
  ports:
  - name: https
    port: 443
    targetPort: https
---
apiVersion: v1
kind: Secret
metadata:
  name: {name}-tls
  namespace: {name}
type: kubernetes.io/tls
data:
  tls.crt: {certificate}
  tls.key: {key}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
  namespace: {name}
data:
  application.yaml: |
    server:
      port: 8443
      tls: {{minimum: "1.2"}}
    features: [checkout, search]
  ca.crt: |
{ca}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {name}
  namespace: {name}
spec:
  podSelector:
    matchLabels:
      app.kubernetes.io/name: {name}
  policyTypes: [Ingress]
  ingress:
  - from:
    - namespaceSelector:
        matchLabels:
          network: ingress
    ports:
    - port: 8443
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {name}
  namespace: {name}
rules:
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {name}
  namespace: {name}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: {name}}}
subjects:
- kind: ServiceAccount
  name: {name}
  namespace: {name}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {name}
  namespace: {name}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: {name}}}
  minReplicas: 3
  maxReplicas: 10
  metrics:
  - type: Resource
    resource:
      name: cpu
      target: {{type: Utilization, averageUtilization: 70}}
---
"""

_WAYS_IN = (
    """\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {name}
  namespace: {name}
spec:
  tls:
  - hosts: [{name}.shop.example]
    secretName: {name}-tls
  rules:
  - host: {name}.shop.example
    http:
      paths:
      - path: /
        pathType: Prefix
        backend: {{service: {{name: {name}, port: {{name: https}}}}}}
""",
    """\
apiVersion: route.openshift.io/v1
kind: Route
metadata:
  name: {name}
  namespace: {name}
spec:
  host: {name}.shop.example
  to: {{kind: Service, name: {name}}}
  port: {{targetPort: https}}
  tls:
    termination: reencrypt
    insecureEdgeTerminationPolicy: Redirect
    externalCertificate: {{name: {name}-tls}}
""",
    """\
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata:
  name: {name}
  namespace: {name}
spec:
  gatewayClassName: example
  listeners:
  - name: https
    port: 443
    protocol: HTTPS
    hostname: {name}.shop.example
    tls:
      mode: Terminate
      certificateRefs:
      - name: {name}-tls
""",
    """\
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata:
  name: {name}
  namespace: {name}
spec:
  virtualhost:
    fqdn: {name}.shop.example
    tls:
      secretName: {name}-tls
      minimumProtocolVersion: "1.2"
  routes:
  - services:
    - name: {name}
      port: 443
""",
)


_ROUTE = """\
apiVersion: route.openshift.io/v1
kind: Route
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  host: {name}.shop.example
  to: {{kind: Service, name: {name}}}
  tls: {{termination: edge, insecureEdgeTerminationPolicy: Redirect, externalCertificate: {{name: {name}-tls}}}}
---
apiVersion: v1
kind: Secret
metadata: {{name: {name}-tls, namespace: {namespace}}}
type: kubernetes.io/tls
data: {{tls.crt: {certificate}, tls.key: {key}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: {name}-tls, namespace: {namespace}}}
rules:
- {{apiGroups: [""], resources: [secrets], resourceNames: [{name}-tls], verbs: [get, list, watch]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: {name}-tls, namespace: {namespace}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: {name}-tls}}
subjects:
- {{kind: ServiceAccount, name: router, namespace: openshift-ingress}}
"""
"""A Route as the enhancement on external certificates wants it: the router may read this Secret and no other."""


def write_routes(directory: Path, number: int) -> int:
    """Write ``number`` Routes of one namespace, each with a Secret, a Role and a RoleBinding of its own, and with a
    certificate of its own: nothing that was worked out for one helps with the next, and each Route is asked about among
    the bindings of all. Returns the bytes."""
    authority, written = Authority("Shop CA"), 0
    for index in range(number):
        leaf = authority.leaf(names=(f"route-{index}.shop.example",))
        text = _ROUTE.format(
            name=f"route-{index}",
            namespace="shop",
            certificate=base64.b64encode(leaf.pem).decode(),
            key=base64.b64encode(leaf.key_pem).decode(),
        )
        written += (directory / f"route-{index}.yaml").write_text(text, encoding="utf-8")
    return written


def write(directory: Path, number: int) -> int:
    """Write ``number`` objects, or a few more, and return how many bytes they are."""
    authority = Authority("Shop CA")
    leaves = [authority.leaf(names=("*.shop.example",)) for _ in range(_CERTIFICATES)]
    written = 0
    for index, text in enumerate(_texts(authority, leaves, -(-number // EACH))):
        path = directory / f"team-{index % 50}" / f"app-{index}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        written += path.write_text(text, encoding="utf-8")
    return written


def _texts(authority: Authority, leaves: list[Credential], count: int) -> Iterator[str]:
    ca = "".join(f"    {line}\n" for line in authority.pem.decode().splitlines()).rstrip("\n")
    for index in range(count):
        leaf = leaves[index % len(leaves)]
        values = {
            "name": f"app-{index}",
            "team": index % 50,
            "certificate": base64.b64encode(leaf.pem).decode(),
            "key": base64.b64encode(leaf.key_pem).decode(),
            "ca": ca,
        }
        yield (_APPLICATION + _WAYS_IN[index % len(_WAYS_IN)]).format(**values)
