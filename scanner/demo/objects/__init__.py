"""The objects of the demo's cluster, as its API server has them: JSON, built from ``World``.

Shapes follow the API of Kubernetes 1.35 and OpenShift 4.22 (openshift/api), with the fields that such objects have on a
cluster, not only those that adhere reads. No object holds a private key.
"""
