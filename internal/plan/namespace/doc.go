// Package namespace plans how a namespace gets the service account and the networks that RDMA jobs need.
package namespace
