// HyperShift's module asks for an openshift/api of its own, and so it is pinned apart.
module adhere.test/e2e/crds/hypershift

go 1.26.0

require github.com/openshift/hypershift v0.1.81
