// XListenerSet left Gateway API with its release 1.5, where it became ListenerSet: clusters of before have it.
module adhere.test/e2e/crds/gateway-1.4

go 1.26.0

require sigs.k8s.io/gateway-api v1.4.1
