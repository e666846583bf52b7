// Tests and examples of others with which lint is compared. Nothing here is compiled: their manifests are linted, and their
// programs searched for what they expect.
module adhere.test/e2e/suites

go 1.26.0

require (
	github.com/envoyproxy/gateway v1.9.1
	github.com/projectcontour/contour v1.33.8
	istio.io/istio v0.0.0-20260827124520-eed52ebb66ad
	sigs.k8s.io/gateway-api v1.6.1
	sigs.k8s.io/gateway-api/conformance v1.6.1
)
