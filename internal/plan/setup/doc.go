// Package setup plans the setup of the nodes of a cluster for RDMA, and its rollback.
package setup
