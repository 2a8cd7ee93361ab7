// Package namespace plans the service account and the networks that RDMA jobs need in a namespace.
package namespace
