// Package fabrictest tells what Railhead does on machines with a kernel of their own, SR-IOV, an IOMMU and RDMA. Its tests
// boot them, so that they are behind the build tag vm: `make test-lab`.
package fabrictest
