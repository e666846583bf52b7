// BackendTLSPolicy began here, as v1alpha2, with fields that no later version has.
module adhere.test/e2e/crds/gateway-1.0

go 1.26.0

require sigs.k8s.io/gateway-api v1.0.0
