// Package setup plans how the nodes of a cluster are made ready for RDMA, node by node, and how that is taken back.
package setup
