module github.com/railhead/railhead/lab/modules/nvidia

go 1.26.0

require github.com/Mellanox/network-operator v1.4.0 // its CRDs alone
