// Where the CustomResourceDefinitions of the end-to-end lane come from: their projects' own modules. Nothing here is
// compiled; only their YAML is read.
module adhere.test/e2e/crds

go 1.26.0

require (
	github.com/openshift/api v0.0.0-20260813212709-d4bb0b443cb8
	github.com/projectcontour/contour v1.33.8
	github.com/prometheus-operator/prometheus-operator v0.92.1
	sigs.k8s.io/gateway-api v1.6.1
)
