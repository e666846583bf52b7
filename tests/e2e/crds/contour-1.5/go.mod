// IngressRoute left Contour's manifests with 1.6.0. Clusters that were upgraded since have the objects still.
module adhere.test/e2e/crds/contour-1.5

go 1.26.0

require github.com/projectcontour/contour v1.5.0
