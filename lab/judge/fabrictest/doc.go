// Package fabrictest tests Railhead on machines with their own kernel, SR-IOV, an IOMMU and RDMA. Its tests
// boot them, so that they are behind the build tag vm: `make test-lab`.
package fabrictest
